"""A server that is killed as a lesson's answer comes: it is learned by the next one, and once."""

import asyncio
import json
from pathlib import Path
from typing import Any

from tests.support.crews import write_crew
from tests.support.learning import lesson, taught
from tests.support.model_server import completion, http, model_server
from tests.support.processes import ServerProcess, client, serving, until

SHARES = ("FPT", "VNM", "HPG", "MWG", "VCB")


def crew_at(folder: Path, url: str) -> Path:
    return write_crew(
        folder,
        {"a": {"is_terminal": True, "tools": ["Recall"]}},
        providers={"gw": {"base_url": url}},
        helpers={"learn": {"model": "m", "provider": "gw"}},
        memory={"recall": {"learn": {"idle_seconds": 0}}},
        conversations={},
    )


def test_a_lesson_is_learned_once(tmp_path: Path):
    """Whether the answer came before the end or not; `seen` counts each time of it."""

    async def go() -> None:
        async def reply(asked: dict[str, Any]) -> bytes:
            words = json.dumps(asked["messages"], ensure_ascii=False)
            if "remember" not in words:
                # of the agent
                return http(200, completion("noted"))
            mine = [one for one in SHARES if f"I own {one}" in words]
            said = lesson(*(taught(f"owns {one}", f"I own {one} now") for one in mine))
            if len(mine) == 1 and mine[0] not in killed and servers:
                killed.append(mine[0])
                server = servers.pop()
                # as the answer is on its way
                asyncio.get_running_loop().call_soon(server.process.kill)
            return http(200, completion(said))

        async with model_server(reply) as model:
            await asyncio.to_thread(play, crew_at(tmp_path / "crew", model.url))

    def play(folder: Path) -> None:
        for share in SHARES:
            with serving(folder) as server, client(server) as asking:
                servers.append(server)
                body = {"query": f"I own {share} now", "user_id": "ann", "conversation_id": share}
                assert asking.post("/api/crew/run", json=body).json()["status"] == "completed"
                server.process.wait(60)
        with serving(folder) as server, client(server) as asking:

            def items() -> list[Any]:
                found = asking.get("/api/crew/users/ann/recall", params={"replaced": "1"})
                return sorted((one["text"], one["seen"]) for one in found.json()["items"])

            until(lambda: len(items()) == len(SHARES))
            assert items() == sorted((f"owns {one}", 1) for one in SHARES)

    killed: list[str] = []
    servers: list[ServerProcess] = []
    asyncio.run(go())
    assert killed == list(SHARES)
