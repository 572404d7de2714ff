"""The API is as it is described: schemathesis against a real server, events against their schema."""

import json
import subprocess
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from starlette.routing import Route

from crew import Answer, MemoryStore, Query, Runs, load_crew
from crew.journal.wire import events_lost, gap, ping
from server.http.app import _routes
from server.http.openapi.document import openapi_document
from server.http.openapi.events import METADATA
from server.http.pages.chat import OPEN_PATHS
from server.http.pages.console import PAGES
from tests.crew.engine.test_agent_tools import helping
from tests.crew.engine.test_untrusted import reading
from tests.crew.memory.test_core_runs import EDITING, remembering
from tests.support.crews import ROOT, copy_example, crew_of, long_winded, play, write_crew
from tests.support.documents import Reading, call, document_crew
from tests.support.model_server import chunks, model_server
from tests.support.planning import failing, planning, task
from tests.support.processes import BIN, clean_environment, client, serving

pytestmark = pytest.mark.timeout(600)

TOKEN = "admin-0123456789abcdef"
CONFIG = Path(__file__).parent / "schemathesis.toml"
BUSY = "as many runs as it can carry"
# pages, and not for programs
PUBLIC = {*OPEN_PATHS, "/chat", "/console/client.js"}
NOT_DESCRIBED = {("POST", "/session")} | {("GET", path) for path in {*PAGES, *PUBLIC}}


def test_schemathesis(tmp_path: Path):
    """All its checks; the same requests each time."""
    folder = write_crew(
        tmp_path / "crew",
        {"a": {}},
        [{"say": "x"}],
        settings={"show_prompts": True},
        conversations={"title_after": 0},
        memory={"core": {"notes": {"description": "what is known"}}},
    )
    settings = {"CREW_API_TOKENS": TOKEN, "CREW_TRUSTED_PROXIES": "127.0.0.1"}
    with serving(folder, **settings) as server:
        command: list[str | Path] = [BIN / "st", "--no-color", "--config-file", CONFIG, "run"]
        command += [f"{server.url}/openapi.json", "--header", f"Authorization: Bearer {TOKEN}"]
        # the hook's header keeps it from leaving one out; `ignored_auth` asks the same
        command += ["--checks", "all", "--exclude-checks", "missing_required_header"]
        command += ["--max-examples", "6", "--seed", "1", "--request-timeout", "120"]
        command += ["--continue-on-failure", "--generation-database", "none"]
        # a busy machine takes its time
        command += ["--max-response-time", "120"]
        for _ in range(3):
            done = subprocess.run(
                command,
                cwd=tmp_path,
                capture_output=True,
                text=True,
                env=clean_environment(PYTHONPATH=str(ROOT)),
            )
            # on a machine that is busy for a moment a server says so, as it should
            if BUSY not in done.stdout:
                break
        log = server.log.read_text()
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Operations:       84 selected / 84 total" in done.stdout
    assert " 200 in " in log
    assert " 429 in " not in log
    assert '"level":"error"' not in log


def test_every_address_is_described():
    """And nothing that is not there."""
    paths = openapi_document()["paths"]
    described = {(method.upper(), path) for path, item in paths.items() for method in item}
    served = {
        (method, route.path.replace(":encoded}", "}"))
        for route in _routes()
        if isinstance(route, Route)
        for method in route.methods or ()
        if method != "HEAD"
    }
    assert served - described == NOT_DESCRIBED
    assert described <= served


def test_it_needs_a_token_and_a_command_writes_it(tmp_path: Path):
    """The file in configs is the same."""
    folder = write_crew(tmp_path / "crew", {"a": {}})
    with serving(folder, CREW_API_TOKENS=TOKEN) as server, client(server) as http:
        assert http.get("/openapi.json").status_code == 401
        served = http.get("/openapi.json", headers={"Authorization": f"Bearer {TOKEN}"}).json()
    assert served["openapi"] == "3.1.0"
    assert served == json.loads(json.dumps(openapi_document()))
    written = subprocess.run([BIN / "crew", "schema", "openapi"], capture_output=True, text=True)
    assert json.loads(written.stdout) == served
    # in the same order each time, so that what is made of it is the same
    assert (ROOT / "configs" / "schemas" / "openapi.json").read_text() == written.stdout


def checker() -> Any:
    document = openapi_document()
    schema = {"$ref": "#/components/schemas/RunEvent", "components": document["components"]}
    # as it stands, but for keys that are new: a described event has no more than is described
    return jsonschema_rs.validator_for(closed(schema))


def closed(schema: Any) -> Any:
    """The schema without room for keys that it does not name."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    out = {key: closed(part) for key, part in schema.items()}
    if "properties" in out and "additionalProperties" not in out:
        out["additionalProperties"] = False
    return out


COUNTING = """
from tools import ToolContext

def count(context: ToolContext) -> str:
    \"\"\"Count.\"\"\"
    context.progress(1, 2, "half")
    return "done"
"""


THOUGHTS = chunks({"reasoning_content": "I look"}, {"content": "done"})


async def test_events_are_as_described(tmp_path: Path):
    """Of all types: the examples, failures, pauses with calls, and what is not stored."""
    events: list[dict[str, Any]] = []
    for name, query in (
        ("it-support", "Kiểm tra máy này"),
        ("parallel", "x"),
        ("pausing", "table"),
        ("intents", "is there any sencha?"),
        ("intents", "a riddle"),
        ("intents", "compare sencha and coffee"),
    ):
        crew = load_crew(ROOT / "examples" / name)
        events += (await play(crew, query)).events
    (tmp_path / "asking").mkdir()
    (tmp_path / "asking" / "count.py").write_text(COUNTING)
    told = {"count": {"kind": "python", "function": "count.py:count"}}
    counting = write_crew(
        tmp_path / "asking",
        {"a": {"tools": ["count"]}},
        [{"after": "count", "say": "x"}, {"calls": ["count"]}],
        told,
    )
    async with Runs(load_crew(counting), MemoryStore()) as runs:
        run = await runs.start(Query("x"))
        events += [json.loads(one.encoded) async for one in runs.follow(run.id) if one is not None]
    asking = {"pay": {"kind": "python", "function": "pay.py:pay", "requires_approval": True}}
    folder = write_crew(
        tmp_path / "asking",
        {"a": {"tools": ["pay"]}},
        [{"calls": ["pay"]}],
        asking,
        routing={"agent_behaviors": {"a": {"wait_timeout_seconds": 5}}},
    )
    (folder / "pay.py").write_text('def pay() -> str:\n    """Pay."""\n    return ""\n')
    events += (await play(load_crew(folder), "x", Answer(decision="deny"))).events
    refused = crew_of(tmp_path / "failing", {"a": {}}, [{"fail": "refused"}])
    async with Runs(refused, MemoryStore()) as runs:
        run = await runs.start(Query("x"))
        row = await run.outcome()
        events += [json.loads(one.encoded) async for one in runs.stored(run.id)]
    slow = crew_of(tmp_path / "slow", {"a": {}}, [{"say": "one two three"}])
    async with Runs(slow, MemoryStore()) as runs:
        run = await runs.start(Query("x", deltas=True))
        events += [json.loads(one.encoded) async for one in runs.follow(run.id) if one is not None]
    events += (await play(load_crew(long_winded(tmp_path / "long", 8, 900)), "go")).events
    plans = planning(tmp_path / "plans", failing(task("a"), task("x")), plan={"approve": True})
    events += (await play(load_crew(plans), "go", Answer(decision="approve"))).events
    events += (await play(load_crew(helping(tmp_path / "helping")), "go")).events
    asked = Query("I like high risks", user_id="ann")
    events += (await play(remembering(tmp_path / "memory", EDITING), query=asked)).events
    papers = document_crew(
        tmp_path / "papers", [{"agent": "a", "calls": call("SearchDocuments", query="tea")}]
    )
    async with Runs(papers, MemoryStore()) as runs:
        await Reading(runs).send("a.txt", "tea")
        events += (await play(papers, query=Query("x", user_id="ann"), runs=runs)).events
    (tmp_path / "reading").mkdir()
    async with reading(tmp_path / "reading") as runs:
        events += (await play(runs.crew, query=Query("the news?"), runs=runs)).events
    async with model_server(lambda body: THOUGHTS) as model:
        folder = write_crew(
            tmp_path / "thinking",
            {"a": {"provider": "gw", "model": "m-1", "is_terminal": True}},
            providers={"gw": {"base_url": model.url}},
            settings={"show_thinking": True},
        )
        async with Runs(load_crew(folder), MemoryStore()) as runs:
            run = await runs.start(Query("x", deltas=True))
            events += [
                json.loads(one.encoded) async for one in runs.follow(run.id) if one is not None
            ]
    made = (gap(row, 1, 2), ping("r", row.started_at), events_lost("r", 2, row.started_at))
    events += [json.loads(one.encoded) for one in made]
    check = checker()
    for event in events:
        check.validate(event)
    assert {event["type"] for event in events} == set(METADATA)
    with pytest.raises(jsonschema_rs.ValidationError):
        check.validate({**events[0], "metadata": {}})


def test_a_page_of_another_origin_may_call_each_operation(tmp_path: Path):
    """With its method, and the headers that it takes."""
    page = "https://shop.example"
    with serving(copy_example("hello", tmp_path), CREW_CORS_ORIGINS=page) as server:
        with client(server) as http:
            document = http.get("/openapi.json").json()
            shared = document["components"].get("parameters", {})
            asked = 0
            for path, item in document["paths"].items():
                for method, operation in item.items():
                    if method == "parameters":
                        continue
                    given = [
                        shared[one["$ref"].rpartition("/")[2]] if "$ref" in one else one
                        for one in operation.get("parameters", [])
                    ]
                    names = [one["name"] for one in given if one["in"] == "header"]
                    headers = {
                        "Origin": page,
                        "Access-Control-Request-Method": method.upper(),
                        "Access-Control-Request-Headers": ",".join(["authorization", *names]),
                    }
                    answer = http.options(path, headers=headers)
                    assert answer.status_code == 200, (method, path, answer.text)
                    asked += 1
            assert asked > 50
