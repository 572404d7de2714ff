"""What a run is told and says has no secrets: each way in and out by itself."""

import logging
from pathlib import Path
from typing import Any

import pytest

from crew import Answer, Crew, MemoryStore, Query, Runs, load_crew
from crew.journal.wire import RunEvent
from server.settings import ServerSettings
from server.telemetry.logs import set_up_logging
from tests.support.crews import Played, play, write_crew
from tests.support.model_server import chunks, completion, http, model_server
from tools import Tool, tool
from tools.text.secrets import Secrets

SECRET = "pager-0123456789"
WORDS = f"it is {SECRET}, I say"


def crew_at(folder: Path, url: str, *given: Tool, **crew: Any) -> Crew:
    agents = {"a": {"provider": "mine", "tools": [one.name for one in given]}}
    providers = {"mine": {"base_url": url, "max_retries": 1}}
    written = write_crew(folder, agents, providers=providers, **crew)
    return load_crew(written, tools=given, environment={"PAGER_TOKEN": SECRET})


async def played(folder: Path, answers: list[bytes], *given: Tool, **crew: Any) -> Played:
    async with model_server(answers) as server:
        result = await play(crew_at(folder, server.url, *given, **crew), f"ask {SECRET}")
        assert SECRET not in str(server.asked)
    assert SECRET not in str(result.events)
    assert SECRET not in str(result.row)
    return result


async def test_what_a_user_says(tmp_path: Path):
    """A query, its history, an answer."""
    behaviors = {"agent_behaviors": {"a": {"wait_for_signal": True}}}
    async with model_server([http(200, completion("what?"))]) as server:
        crew = crew_at(tmp_path, server.url, routing=behaviors)
        async with Runs(crew, MemoryStore()) as runs:
            run = await runs.start(Query(WORDS))
            await run.outcome()
            run = await runs.resume(run.id, Answer(WORDS))
            row = await run.outcome()
            events = [event async for event in runs.stored(run.id)]
    assert row.query == "it is ***, I say"
    assert SECRET not in str(events)
    assert "it is ***, I say" in str(server.asked[0])
    assert str(server.asked[1]).count("it is ***, I say") == 2
    assert SECRET not in str(server.asked)


@pytest.mark.parametrize("field", ["model", "content", "id", "name", "arguments"])
async def test_what_a_model_answers(tmp_path: Path, field: str):
    """In any field of its answer."""

    def ping(text: str = "") -> str:
        """Ping."""
        return text

    body = completion(WORDS if field == "content" else "x", [("ping", {"text": "y"})])
    call = body["choices"][0]["message"]["tool_calls"][0]
    if field == "model":
        body["model"] = WORDS
    elif field == "id":
        call["id"] = WORDS
    elif field == "name":
        call["function"]["name"] = WORDS
    elif field == "arguments":
        call["function"]["arguments"] = f'{{"text": "{WORDS}"}}'
    answers = [http(200, body), http(200, completion("done"))]
    result = await played(tmp_path, answers, tool(ping))
    assert "***" in str(result.events[2])
    assert result.row.status == "completed"


async def test_what_a_provider_takes_only_as_it_came(tmp_path: Path):
    """With a secret in it, it does not go back: changed it would be refused. Plain texts do."""
    body = completion("x", [("ping", {})])
    message = body["choices"][0]["message"]
    message["reasoning_details"] = [{"type": "reasoning.text", "text": WORDS, "signature": "s"}]
    message["reasoning_content"] = WORDS
    whole = completion("x", [("ping", {})])
    signed = [{"type": "reasoning.text", "text": "nothing", "signature": "s"}]
    whole["choices"][0]["message"]["reasoning_details"] = signed

    def ping() -> str:
        """Ping."""
        return ""

    answers = [http(200, body), http(200, whole), http(200, completion("done"))]
    async with model_server(answers) as server:
        await play(crew_at(tmp_path, server.url, tool(ping)), "go")
    masked, kept = [one for one in server.asked[2]["messages"] if one["role"] == "assistant"]
    assert "reasoning_details" not in masked
    assert masked["reasoning_content"] == "it is ***, I say"
    assert kept["reasoning_details"] == signed


async def test_what_a_model_is_told_wrong(tmp_path: Path):
    """A run that fails, and the warning before it."""
    body = completion("x", [("ping", {})] * 65)
    result = await played(tmp_path, [http(200, {**body, "model": WORDS})])
    assert "***, I say made 65 calls" in result.row.answer  # type: ignore[operator]
    body = completion("I would write:\nping()", model=WORDS)

    def ping() -> str:
        """Ping."""
        return ""

    result = await played(tmp_path / "2", [http(200, body)], tool(ping))
    assert "***, I say has native calls" in result.of("warning")[0]["content"]


@pytest.mark.parametrize("piece", [1, 3, 100])
async def test_a_text_that_is_streamed(tmp_path: Path, piece: int):
    """In pieces; also what only looks like the beginning of a secret comes, to its end."""
    text = f"{WORDS} and pager-01"
    deltas = [{"content": text[at : at + piece]} for at in range(0, len(text), piece)]
    async with model_server([chunks(*deltas)]) as server:
        async with Runs(crew_at(tmp_path, server.url), MemoryStore()) as runs:
            run = await runs.start(Query("x", deltas=True))
            events: list[RunEvent] = [e async for e in runs.follow(run.id) if e is not None]
    shown = "".join(event.content for event in events if event.type == "agent_delta")
    assert shown == "it is ***, I say and pager-01"
    order = [event.type for event in events]
    assert order.index("agent_response") > max(
        at for at, kind in enumerate(order) if kind == "agent_delta"
    )


@pytest.mark.parametrize("log_format", ["text", "json"])
async def test_the_log(tmp_path: Path, capfd: pytest.CaptureFixture[str], log_format: str):
    """Of a tool that raises: its traceback."""

    def ping() -> str:
        """Ping."""
        raise RuntimeError(WORDS)

    crew = crew_at(tmp_path, "http://127.0.0.1:9/v1", tool(ping))
    kept = logging.root.handlers[:], logging.root.level
    environment = {
        "CREW_LOG_FORMAT": log_format,
        "CREW_DATABASE_URL": "postgresql://u:database-secret@h/d",
    }
    try:
        set_up_logging(ServerSettings.read(environment, "127.0.0.1", 0), crew.secrets)
        answers = [http(200, completion("", [("ping", {})])), http(200, completion("done"))]
        await played(tmp_path / "2", answers, tool(ping))
        logging.getLogger("x").warning("at database-secret: %s", WORDS)
    finally:
        logging.root.handlers[:], logging.root.level = kept
    log = capfd.readouterr().err
    assert "RuntimeError" in log
    assert "at ***: it is ***, I say" in log
    assert SECRET not in log
    await crew.aclose()


def test_prompts_and_tools(tmp_path: Path):
    """What stands in the files is not sent either, once it is known as a secret."""

    def ping() -> str:
        """Ping."""
        return ""

    ping.__doc__ = WORDS
    agents = {"a": {"system_prompt": WORDS, "backstory": WORDS, "tools": ["ping"]}}
    folder = write_crew(tmp_path, agents)
    loaded = load_crew(folder, tools=[tool(ping)], environment={"PAGER_TOKEN": SECRET})
    agent = loaded.agents["a"]
    assert SECRET not in agent.prompt.text()
    assert SECRET not in str(agent.tool_definitions)
    assert isinstance(loaded.secrets, Secrets)
