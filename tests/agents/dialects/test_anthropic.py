"""A crew at a server of Anthropic's messages API, which checks requests as the real one does."""

from pathlib import Path
from typing import Any

import pytest

from crew import HistoryMessage, Query, load_crew
from tests.support.crews import Played, play
from tests.support.endpoints import both, crew_at, played, warnings
from tests.support.model_server import ModelServer, http, model_server
from tests.support.strict import anthropic
from tests.support.strict.anthropic import call, document, redacted, text, thought
from tests.support.strict.served import PLACE, claude, refused, streamed

MODEL = "claude-1"


def at(folder: Path, url: str, agent: dict[str, Any] | None = None, **crew: Any) -> Path:
    provider = {"base_url": url, "dialect": "anthropic", "api_key": "k-1", "max_retries": 1}
    given = {"model": MODEL, **(agent or {})}
    return crew_at(folder, url, given, providers={"gw": provider}, **crew)


def thinking_then_done(body: dict[str, Any]) -> Any:
    """Think, call twice at once; then answer."""
    last = body["messages"][-1]["content"][0]
    if last["type"] == "tool_result":
        return [thought(PLACE, MODEL, "so it is"), text("done")]
    calls = [call("toolu_1", "add", {"a": 40}), call("toolu_2", "note", {"text": "x"})]
    begin = [thought(PLACE, MODEL, "I need the sum."), redacted(PLACE, MODEL)]
    return [*begin, text("Let me see."), *calls]


@both
async def test_thinking_goes_back_in_place(tmp_path: Path, deltas: bool):
    """With signatures, redacted blocks and texts where they stood, also of streams."""
    async with model_server(claude(thinking_then_done)) as server:
        folder = at(tmp_path, server.url, {"thinking": {"budget_tokens": 2000}})
        run = await played(folder, deltas=deltas)
    assert (run.row.answer, warnings(run)) == ("done", [])
    first, second = server.asked
    kinds = [block["type"] for block in second["messages"][1]["content"]]
    assert kinds == ["thinking", "redacted_thinking", "text", "tool_use", "tool_use"]
    results = second["messages"][2]["content"]
    assert [one["content"] for one in results] == ["sum 42", "noted x"]
    assert first["thinking"] == {"type": "enabled", "budget_tokens": 2000}
    assert first["max_tokens"] == 4096 + 2000


@both
async def test_usage_has_five_kinds(tmp_path: Path, deltas: bool):
    """Caches are parts of the input; what was thought is estimated where it is not said."""
    async with model_server(claude(thinking_then_done)) as server:
        run = await played(at(tmp_path, server.url, {"thinking": "low"}), deltas=deltas)
    usage = run.of("agent_response")[0]["metadata"]["usage"]
    counted = [usage[key] for key in ("input", "output", "cache_read", "cache_write")]
    assert counted == [60, 40, 20, 30]
    assert usage["prompt_tokens"] == 60
    assert 0 < usage["thinking"] < 40
    total = run.of("done")[0]["metadata"]["usage"]
    assert (total["input"], total["cache_read"]) == (120, 40)


async def test_the_key_goes_as_the_api_wants_it(tmp_path: Path):
    async with model_server(claude(lambda body: [text("done")])) as server:
        await played(at(tmp_path, server.url))
    (head,) = server.headers
    lines = head.lower().splitlines()
    assert lines[0].startswith("post /v1/messages ")
    assert "x-api-key: k-1" in lines
    assert "anthropic-version: 2023-06-01" in lines
    assert not any(line.startswith("authorization") for line in lines)


@pytest.mark.parametrize(
    ("cache", "ttl", "marks"), [("5m", None, 3), ("1h", "1h", 3), ("off", None, 0)]
)
async def test_marks_of_caches(tmp_path: Path, cache: str, ttl: str | None, marks: int):
    """At the ends of tools, system and the newest message; of an exchange before, too."""
    async with model_server(claude(lambda body: [text("done")])) as server:
        named = {MODEL: {"provider": "gw", "prompt_cache": cache}}
        await played(at(tmp_path, server.url, models=named))
    (body,) = server.asked
    ends = [body["tools"][-1], body["system"][-1], body["messages"][-1]["content"][-1]]
    found = [one["cache_control"] for one in ends if "cache_control" in one]
    assert len(found) == marks
    assert all(one.get("ttl") == ttl for one in found)


async def test_the_end_of_an_exchange_is_marked(tmp_path: Path):
    """So that what stands before the newest query is read from the cache once more.

    Calls do not end one: the same place is marked while they go on.
    """
    history = (HistoryMessage("user", "hi"), HistoryMessage("assistant", "hello"))
    async with model_server(claude(thinking_then_done)) as server:
        crew = load_crew(at(tmp_path, server.url))
        await play(crew, query=Query("go", history=history))
    first, second = ([one["content"][-1] for one in body["messages"]] for body in server.asked)
    assert [one["text"] for one in first] == ["hi", "hello", "go"]
    assert ["cache_control" in one for one in first] == [False, True, True]
    assert [one["type"] for one in second[3:]] == ["tool_use", "tool_result"]
    assert ["cache_control" in one for one in second] == [False, True, False, False, True]


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("required", {"type": "any"}),
        ({"tool": "add"}, {"type": "tool", "name": "add"}),
        ("none", {"type": "none"}),
        ("auto", None),
    ],
)
async def test_whether_tools_are_called(tmp_path: Path, choice: Any, sent: Any):
    async with model_server(claude(lambda body: [text("done")])) as server:
        await played(at(tmp_path, server.url, {"tool_choice": choice}))
    assert server.asked[0].get("tool_choice") == sent


@pytest.mark.parametrize(
    ("thinking", "sent"),
    [
        ("none", ({"type": "disabled"}, None)),
        ("low", ({"type": "adaptive"}, {"effort": "low"})),
        ("max", ({"type": "adaptive"}, {"effort": "max"})),
        (None, (None, None)),
    ],
)
async def test_how_much_it_thinks(tmp_path: Path, thinking: str | None, sent: Any):
    async with model_server(claude(lambda body: [text("done")])) as server:
        await played(at(tmp_path, server.url, {"thinking": thinking} if thinking else {}))
    (body,) = server.asked
    assert (body.get("thinking"), body.get("output_config")) == sent


async def test_a_typed_answer_by_a_schema(tmp_path: Path):
    """Keywords that the API does not take stand in descriptions; they are checked here."""
    output = {
        "properties": {
            "kind": {"enum": ["a", "b"]},
            "size": {"type": "integer", "minimum": 1, "maximum": 9},
            "words": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
        },
        "required": ["kind"],
    }
    said = iter(['{"kind": "a", "size": 70}', '{"kind": "a", "size": 7}'])
    async with model_server(claude(lambda body: [text(next(said))])) as server:
        run = await played(at(tmp_path, server.url, {"tools": [], "output": output}))
    assert run.row.answer == '{"kind":"a","size":7}'
    form = server.asked[0]["output_config"]["format"]
    shown = form["schema"]["properties"]["size"]["anyOf"][0]
    assert shown == {"type": "integer", "description": "{minimum: 1, maximum: 9}"}
    # the repair is a message of the user, of a turn that ended with the wrong answer
    assert "size" in server.asked[1]["messages"][-1]["content"][-1]["text"]


async def test_no_tools_are_shown_all_the_same(tmp_path: Path):
    """With `none`: blocks of tools without tools are refused."""

    def say(body: dict[str, Any]) -> Any:
        if body.get("tool_choice") == {"type": "none"}:
            return [text("so far: 42")]
        number = len(body["messages"])
        return [call(f"t{number}", "add", {"a": number})]

    async with model_server(claude(say)) as server:
        folder = at(tmp_path, server.url, {"max_rounds": 3, "on_limit": "answer"})
        run = await played(folder)
    assert run.row.answer == "so far: 42"
    assert server.asked[-1]["tools"]


async def test_ids_of_calls_are_made_fit(tmp_path: Path):
    """One to one; journals and events have them as they came."""
    ids = ["a.b", "a:b", "x" * 200, "ok-1"]

    def say(body: dict[str, Any]) -> Any:
        if body["messages"][-1]["content"][0]["type"] == "tool_result":
            return [text("done")]
        return [call(one, "add", {"a": place}) for place, one in enumerate(ids)]

    async with model_server(claude(say)) as server:
        run = await played(at(tmp_path, server.url))
    assert run.row.answer == "done"
    blocks = server.asked[1]["messages"][2]["content"]
    assert [one["content"] for one in blocks] == ["sum 2", "sum 3", "sum 4", "sum 5"]
    assert len({one["tool_use_id"] for one in blocks}) == 4
    assert [one["metadata"]["call_id"] for one in run.of("tool_result")] == ids


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"stop_reason": "model_context_window_exceeded"}, "context_overflow"),
        ({"stop_reason": "max_tokens", "content": []}, "empty"),
        ({"stop_reason": "refusal", "content": []}, "refused"),
    ],
)
@both
async def test_ends_without_an_answer(tmp_path: Path, more: Any, code: str, deltas: bool):
    async with model_server(claude(lambda body: document(MODEL, [], **more))) as server:
        run = await played(at(tmp_path, server.url), deltas=deltas)
    assert run.of("error")[0]["metadata"]["code"] == code


@both
async def test_a_refusal_is_an_answer_in_words(tmp_path: Path, deltas: bool):
    details = {"type": "refusal", "category": None, "explanation": "I cannot help with that."}
    answer = document(MODEL, [], stop_reason="refusal", stop_details=details)

    def reply(body: dict[str, Any]) -> bytes:
        if not body.get("stream"):
            return http(200, answer)
        events = anthropic.events(answer)
        events[-2]["delta"]["stop_details"] = details
        return streamed(events)

    async with model_server(reply) as server:
        run = await played(at(tmp_path, server.url), deltas=deltas)
    assert run.row.answer == "I cannot help with that."


async def test_an_overloaded_server_is_asked_again(tmp_path: Path):
    """529, or an error in a stream."""
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    answers = [http(529, error), http(200, document(MODEL, [text("done")]))]
    async with model_server(answers) as server:
        run = await played(at(tmp_path, server.url))
    assert (run.row.answer, warnings(run)) == ("done", ["model_retry"])
    events = anthropic.events(document(MODEL, [text("do")]))[:4]
    whole = streamed(anthropic.events(document(MODEL, [text("done")])))
    async with model_server([streamed([*events, error]), whole]) as server:
        run = await played(at(tmp_path / "two", server.url), deltas=True)
    assert (run.row.answer, warnings(run)) == ("done", ["model_retry"])


async def test_a_stream_that_is_cut_is_asked_again(tmp_path: Path):
    """In a signature as well as in a text: nothing of it is kept."""
    events = anthropic.events(document(MODEL, [thought(PLACE, MODEL, "hm"), text("done")]))
    # behind the reason why it ended, `message_stop` may be left out
    for cut in range(1, len(events) - 1):
        async with model_server([streamed(events[:cut]), streamed(events)]) as server:
            run = await played(at(tmp_path / str(cut), server.url), deltas=True)
        assert (run.row.answer, warnings(run)) == ("done", ["model_retry"])


async def test_a_refused_parameter_is_left_out(tmp_path: Path):
    def reply(body: dict[str, Any]) -> bytes:
        if "thinking" in body:
            return refused("adaptive thinking is not supported on this model")
        return claude(lambda body: [text("done")])(body)

    async with model_server(reply) as server:
        run = await played(at(tmp_path, server.url, {"thinking": "high"}))
    assert (run.row.answer, warnings(run)) == ("done", ["parameter_refused"])
    assert "output_config" not in server.asked[-1]


async def test_a_signature_that_is_refused_is_left_out(tmp_path: Path):
    """As when a provider has changed its keys: the run goes on without what was thought."""
    places = iter(["old", "new", "new"])

    def reply(body: dict[str, Any]) -> bytes:
        place = next(places)

        def say(body: dict[str, Any]) -> Any:
            if body["messages"][-1]["content"][0]["type"] == "tool_result":
                return [text("done")]
            return [thought(place, MODEL, "hm"), call("t1", "add", {"a": 40})]

        return claude(say, place)(body)

    async with model_server(reply) as server:
        run = await played(at(tmp_path, server.url, {"thinking": "low"}))
    assert (run.row.answer, warnings(run)) == ("done", ["endpoint_learned"])


def thoughts_sent(server: ModelServer) -> list[Any]:
    messages = [one for body in server.asked for one in body["messages"]]
    blocks = [block for one in messages for block in one["content"] if isinstance(block, dict)]
    return [block for block in blocks if "thinking" in block["type"]]


async def test_a_loop_that_another_began_does_not_think(tmp_path: Path):
    """Until it ends; the model then in use gets words and calls alone."""

    def first(body: dict[str, Any]) -> bytes:
        if len(body["messages"]) > 1:
            return http(503, {"type": "error", "error": {"type": "api_error", "message": "x"}})
        return claude(thinking_then_done)(body)

    def second(body: dict[str, Any]) -> Any:
        return [text("done by the other")]

    async with model_server(first) as one, model_server(claude(second, "there")) as other:
        providers = {
            "gw": {"base_url": one.url, "dialect": "anthropic", "max_retries": 0},
            "two": {"base_url": other.url, "dialect": "anthropic"},
        }
        models = {"b": {"provider": "two", "model": MODEL, "thinking": {"budget_tokens": 1024}}}
        agent = {"model": MODEL, "thinking": "low", "backup": {"model": "b"}}
        folder = crew_at(tmp_path, one.url, agent, providers=providers, models=models)
        run = await played(folder)
    assert run.row.answer == "done by the other"
    assert warnings(run) == ["model_backup", "thinking_off"]
    assert other.asked[0]["thinking"] == {"type": "disabled"}
    assert thoughts_sent(other) == []


def told(run: Played) -> str:
    return "".join(str(event) for event in run.events)


async def test_kept_data_is_in_no_event(tmp_path: Path):
    async with model_server(claude(thinking_then_done)) as server:
        run = await played(at(tmp_path, server.url, {"thinking": "low"}))
    assert "I need the sum" not in told(run)
    assert anthropic.sign(PLACE, MODEL, "I need the sum.") not in told(run)
