"""Generated endpoints: any of what real ones refuse, in any words and forms, in a crew of three."""

import tempfile
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.crews import write_crew
from tests.support.endpoints import CODE, answer_as, call, error, played, roles, warnings
from tests.support.model_server import http, model_server
from tests.support.openai_types import require_valid

Request = dict[str, Any]
AGENTS = ("a", "b", "d")
# each agent calls once and answers
REQUESTS = 2 * len(AGENTS)
# what each agent adds to 2, in two calls; another's numbers would be a quotation
NUMBERS = {"a": (10, 20), "b": (30, 40), "d": (50, 60)}


def breaks_turns(request: Request) -> bool:
    shown = [one for one in roles(request) if one not in ("system", "tool")]
    return any(one == after for one, after in pairwise(shown) if one == "user")


def has_several_calls(request: Request) -> bool:
    return any(len(one.get("tool_calls") or ()) > 1 for one in request["messages"])


def has_null(request: Request) -> bool:
    return any(one.get("content", "") is None for one in request["messages"])


def call_ids(request: Request) -> list[str]:
    calls = [one for message in request["messages"] for one in message.get("tool_calls") or ()]
    return [one["id"] for one in calls]


# by name: what is refused, and how servers say so
REFUSALS: dict[str, tuple[Callable[[Request], bool], tuple[str, ...]]] = {
    "max_tokens": (
        lambda request: "max_tokens" in request,
        (
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
            "'max_completion_tokens' instead.",
            "Unrecognized request argument supplied: max_tokens, use max_completion_tokens",
        ),
    ),
    "temperature": (
        lambda request: "temperature" in request,
        (
            "Unsupported value: 'temperature' does not support 0.7 with this model. Only the "
            "default (1) value is supported.",
            "gpt-5-mini doesn't support temperature=0.7. Only temperature=1 is supported.",
            "temperature: Extra inputs are not permitted",
            "invalid temperature: only 1 is allowed for this model",
        ),
    ),
    "top_p": (
        lambda request: "temperature" in request and "top_p" in request,
        (
            "`temperature` and `top_p` cannot both be specified for this model. Please use only one.",
        ),
    ),
    "stream_options": (
        lambda request: "stream_options" in request,
        (
            "Unknown parameter: 'stream_options'.",
            "stream_options: Extra inputs are not permitted",
        ),
    ),
    "system": (
        lambda request: "system" in roles(request),
        (
            "System role not supported",
            "Only user, assistant and tool roles are supported, got system.",
            "Developer instruction is not enabled for models/gemma-3-27b-it",
            "This model doesn't support system messages. Try again without a system message.",
        ),
    ),
    "turns": (
        breaks_turns,
        (
            "Conversation roles must alternate user/assistant/user/assistant/...",
            "deepseek-reasoner does not support successive user or assistant messages (messages[1] "
            "and messages[2] in your input). You should interleave the user/assistant messages.",
        ),
    ),
    "calls": (
        has_several_calls,
        ("This model only supports single tool-calls at once!",),
    ),
    "ids": (
        lambda request: any(len(one) != 9 for one in call_ids(request)),
        (
            "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.",
            "Invalid 'messages[2].tool_calls[0].id': string too long. Expected a string with "
            "maximum length 40, but got a string with length 58 instead.",
            "Value 'functions.add:0' at 'messages.2.toolUse.toolUseId' failed to satisfy "
            "constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+",
        ),
    ),
    "keywords": (
        lambda request: "additionalProperties" in str(request.get("tools")),
        (
            'Invalid JSON payload received. Unknown name "additionalProperties" at '
            "'tools[0].function_declarations[0].parameters': Cannot find field.",
        ),
    ),
    "null": (
        has_null,
        ("messages.2.content: Input should be a valid string",),
    ),
    "tools": (
        lambda request: "tools" in request,
        (
            "registry.ollama.ai/library/m does not support tools",
            "Invalid request: tool calls are not supported by this model",
            '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
        ),
    ),
}


SHAPES: tuple[Callable[[str], Any], ...] = (
    error,
    lambda text: error(text, type="invalid_request_error", param=None, code="400"),
    lambda text: error(f"litellm.BadRequestError: OpenAIException - {text}"),
    lambda text: {"object": "error", "message": text, "code": 400},
    lambda text: {"detail": text},
    lambda text: {"detail": [{"loc": ["body"], "msg": text, "type": "value_error"}]},
    lambda text: {"error": text},
    str.encode,
)


@st.composite
def endpoints(draw: st.DrawFn) -> dict[str, bytes]:
    """What an endpoint refuses, by name, each with its answer."""
    names = draw(st.lists(st.sampled_from(sorted(REFUSALS)), unique=True))
    return {
        name: http(
            draw(st.sampled_from((400, 422, 500))),
            draw(st.sampled_from(SHAPES))(draw(st.sampled_from(REFUSALS[name][1]))),
        )
        for name in names
    }


def model(request: Request) -> bytes:
    """Call twice, natively or in text; say "done" once the results are there."""
    shown = "\n".join(str(one.get("content")) for one in request["messages"])
    (numbers,) = [n for agent, n in NUMBERS.items() if f"You are {agent}." in shown]
    if f"sum {numbers[0] + 2}" in shown:
        return answer_as(request, {"content": "done"}, "stop")
    if "tools" not in request:
        return answer_as(request, {"content": "\n".join(f"add({n})" for n in numbers)}, "stop")
    calls = [call(arguments=f'{{"a": {n}}}', id=f"c{n}") for n in numbers]
    return answer_as(request, {"content": None, "tool_calls": calls}, "tool_calls")


def crew_of_three(folder: Path, url: str) -> Path:
    keys = {"model": "m-1", "provider": "gw", "tools": ["add"]}
    options = {"temperature": 0.7, "top_p": 0.9, "max_tokens": 500}
    written = write_crew(
        folder,
        {name: {**keys, **options} for name in AGENTS},
        tools={"add": {"kind": "python", "function": "t.py:add"}},
        providers={"gw": {"base_url": url}},
        settings={"retry_backoff_min_millis": 1},
    )
    (written / "t.py").write_text(CODE)
    return written


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(refused=endpoints(), deltas=st.booleans())
async def test_a_crew_ends_well_behind_any_endpoint(refused: dict[str, bytes], deltas: bool):
    """Each thing is found out by one request, once for the whole crew; what is sent is of the API."""
    met: Counter[str] = Counter()

    def reply(request: Request) -> bytes:
        for name, answer in refused.items():
            if REFUSALS[name][0](request):
                met[name] += 1
                return answer
        return model(request)

    with tempfile.TemporaryDirectory() as made:
        async with model_server(reply) as server:
            run = await played(crew_of_three(Path(made), server.url), deltas=deltas)
    assert (run.row.status, run.row.answer) == ("completed", "done"), run.of("error")
    outputs = [event["metadata"]["output"] for event in run.of("tool_result")]
    assert outputs == [f"sum {n + 2}" for numbers in NUMBERS.values() for n in numbers]
    assert set(met.values()) <= {1}
    assert len(warnings(run)) == len(met)
    assert set(warnings(run)) <= {"endpoint_learned", "parameter_refused"}
    assert len(server.asked) == REQUESTS + len(met)
    for request in server.asked:
        require_valid(request)


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    shape=st.sampled_from(SHAPES),
    status=st.sampled_from((400, 404, 422)),
    text=st.sampled_from(
        ("model m-1 is not served here", "the file limit is 3", "Modell unbekannt", "bad weather")
    ),
    deltas=st.booleans(),
)
async def test_what_teaches_nothing_ends_with_the_words_of_the_server(
    shape: Callable[[str], Any], status: int, text: str, deltas: bool
):
    """At once: another request would be refused as well."""
    with tempfile.TemporaryDirectory() as made:
        async with model_server(lambda _: http(status, shape(text))) as server:
            run = await played(crew_of_three(Path(made), server.url), deltas=deltas)
    assert run.row.status == "failed"
    assert text in run.of("error")[0]["content"]
    assert len(server.asked) == 1
