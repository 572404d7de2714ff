"""Models around models: the script, the backup, the budget."""

from pathlib import Path
from typing import Any

import pytest

from agents import Model, ModelError, ModelReply, ModelRequest, Usage
from agents.config import CostLimits, ModelConfig
from agents.endpoint import ProviderConfig
from agents.errors import ProviderError
from agents.messages import ToolOutput
from agents.model import EmitModelEvent, ModelEvent, ModelNotice, ShownMessage, TextDelta
from agents.providers.catalog import Catalog
from agents.providers.scripted import Script, Scripted
from agents.tokenizing.tokens import TokenRatios
from agents.wrappers.fallback import Fallback
from agents.wrappers.short import ShortCalls
from tests.support.model_server import completion, http, model_server
from tests.support.shown import shown_message
from tools.clock import SYSTEM_CLOCK
from tools.limits.guards import Guards
from tools.text.secrets import Secrets


async def ask(
    model: Model, *messages: dict[str, Any], stream: bool = False, agent: str = "a"
) -> tuple[ModelReply, list[ModelEvent]]:
    received: list[ModelEvent] = []

    async def hear(event: ModelEvent) -> None:
        received.append(event)

    return await model.reply(
        ModelRequest(agent, [shown(message) for message in messages], stream=stream), hear
    ), received


def shown(message: dict[str, Any]) -> ShownMessage:
    """A message with the results that it tells of."""
    text = str(message.get("content"))
    if message["role"] == "tool":
        return shown_message(message, results=(ToolOutput("c", "Ping", "success", text),))
    if message is BLOCK:
        return shown_message(message, results=(ToolOutput("c", "Ping", "success", "pong"),))
    return shown_message(message)


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def scripted(*rules: dict[str, Any]) -> Scripted:
    return Scripted(Script.model_validate({"rules": list(rules)}), "m", SYSTEM_CLOCK)


CALLED = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": "c", "type": "function", "function": {"name": "Ping", "arguments": "{}"}}
    ],
}
RESULT = {"role": "tool", "tool_call_id": "c", "content": "pong"}
BLOCK = user(
    "\n[📊 TOOL EXECUTION RESULTS]\n\nPing:\n  Status: success\n  Output: pong\n\n[END RESULTS]\n"
)


@pytest.mark.parametrize(
    ("rule", "messages", "fits"),
    [
        ({"agent": "a"}, [user("x")], True),
        ({"agent": ["b", "c"]}, [user("x")], False),
        ({"hears": "MÁY"}, [user("máy này")], True),
        ({"hears": ["no", "này"]}, [user("máy này")], True),
        ({"hears": "old"}, [user("old"), user("new")], False),
        ({"seen": "old"}, [user("old"), user("new")], True),
        ({"turn": 1}, [user("x")], True),
        ({"turn": 2}, [user("x"), {"role": "assistant", "content": "y"}, user("z")], True),
        ({"after": "Ping"}, [user("x"), CALLED, RESULT], True),
        ({"after": "Ping"}, [user("x"), {"role": "assistant", "content": "Ping()"}, BLOCK], True),
        ({"after": "Ping"}, [user("x"), CALLED, RESULT, user("next")], False),
        ({"after": "Pong"}, [user("x"), CALLED, RESULT], False),
        ({"hears": "x"}, [user("x"), CALLED, RESULT], True),
    ],
)
async def test_a_rule_fits_when_all_of_its_conditions_hold(
    rule: dict[str, Any], messages: list[dict[str, Any]], fits: bool
):
    """The agent, the newest words, anything seen, the turn, the newest results."""
    reply, _ = await ask(scripted({**rule, "say": "first"}, {"say": "second"}), *messages)
    assert reply.content == ("first" if fits else "second")


async def test_what_was_heard_and_found_is_put_in():
    """Results of tools by name; unknown ones stay as written; nothing is put in twice."""
    script = scripted({"say": "{{heard}} {{result.Ping}} {{result.Nope}}"})
    reply, _ = await ask(script, user("{{result.Ping}}"), CALLED, RESULT)
    assert reply.content == "{{result.Ping}} pong {{result.Nope}}"


async def test_a_scripted_stream_is_the_answer_in_pieces():
    """Together they are the answer."""
    reply, received = await ask(
        scripted({"say": "one two\n three", "calls": ["Ping"]}), user("x"), stream=True
    )
    assert (
        "".join(event.text for event in received if isinstance(event, TextDelta))
        == reply.content
        == "one two\n three"
    )
    assert [call.tool for call in reply.calls] == ["Ping"]


@pytest.mark.parametrize(
    "code",
    ["refused", "rate_limited", "unavailable", "connection", "timeout", "unreadable", "empty"],
)
async def test_scripted_failures_go_the_way_of_real_ones(code: str):
    """Tried again where a real one is; the rule answers once its failures are used up."""
    script = Script.model_validate(
        {"rules": [{"say": "ok", "fail": {"code": code, "times": 1, "retry_after_seconds": 0}}]}
    )
    model = Catalog(
        {"scripted": ProviderConfig(max_retries=1)},
        script,
        0,
        0,
        SYSTEM_CLOCK,
        Secrets(),
        Guards(SYSTEM_CLOCK),
        TokenRatios(),
    ).model(ModelConfig(model="m", provider="scripted"))
    if code in ("refused", "timeout", "empty"):
        with pytest.raises(ModelError) as caught:
            await ask(model, user("x"))
        assert caught.value.code == code
    else:
        assert (await ask(model, user("x")))[0].content == "ok"


async def test_without_a_rule_the_script_says_so():
    """Naming the agent and what it heard."""
    with pytest.raises(ModelError, match=r"no rule for agent a after 'hello'"):
        await ask(scripted({"agent": "b", "say": "x"}), user("hello"))


async def test_the_backup_speaks_when_the_primary_has_failed_for_good():
    """With a notice; when both fail, both are reported."""
    bad = scripted({"fail": "refused"})
    good = scripted({"say": "backup"})
    reply, received = await ask(Fallback(bad, good), user("x"))
    assert reply.content == "backup"
    assert [event.code for event in received if isinstance(event, ModelNotice)] == ["model_backup"]
    with pytest.raises(ModelError, match=r"m: .*refused; backup: m: .*timeout"):
        await ask(Fallback(bad, scripted({"fail": "timeout"})), user("x"))


class Fixed:
    """A model with a price to be counted."""

    name = "fixed"
    endpoints = (("test", "fixed"),)

    async def reply(self, request: ModelRequest, hear: EmitModelEvent) -> ModelReply:
        """100 tokens in, 50 out."""
        return ModelReply("ok", usage=Usage(100, 50))


async def test_a_call_may_be_too_long():
    """Refused where the limit blocks, else made with a warning each time."""
    long = user("x" * 40)
    limits = CostLimits(max_tokens_per_call=5, block_on_cost_exceed=True)
    with pytest.raises(ModelError, match=r"over cost_limits\.max_tokens_per_call = 5") as caught:
        await ask(ShortCalls(Fixed(), limits), long)
    assert caught.value.code == "budget"
    told = ShortCalls(Fixed(), CostLimits(max_tokens_per_call=5))
    for _ in range(2):
        _, received = await ask(told, long)
        assert [type(one) for one in received] == [ModelNotice]


def test_providers_that_cannot_be_used_say_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """No key, no script, no address, no such provider."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    catalog = Catalog(
        {"mine": ProviderConfig()},
        None,
        0,
        0,
        SYSTEM_CLOCK,
        Secrets(),
        Guards(SYSTEM_CLOCK),
        TokenRatios(),
    )
    for provider, said in (
        ("openai", "OPENAI_API_KEY"),
        ("scripted", "script.yaml"),
        ("mine", "base_url"),
        ("other", "no provider 'other'"),
    ):
        with pytest.raises(ProviderError, match=said):
            catalog.model(ModelConfig(model="m", provider=provider))


@pytest.mark.parametrize(
    ("config", "url"),
    [
        ({"provider": "openai"}, "https://api.openai.com/v1"),
        ({"provider": "ollama"}, "http://localhost:11434/v1"),
        ({"provider": "ollama", "provider_url": "http://box:11434"}, "http://box:11434/v1"),
        ({"provider": "ollama", "provider_url": "http://box:11434/v1/"}, "http://box:11434/v1"),
        ({"provider": "openai", "provider_url": "http://gate/v1"}, "http://gate/v1"),
    ],
)
def test_where_a_model_lives(config: dict[str, str], url: str, monkeypatch: pytest.MonkeyPatch):
    """The agent's own URL beats the provider's; ollama's is completed."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert (
        Catalog({}, None, 0, 0, SYSTEM_CLOCK, Secrets(), Guards(SYSTEM_CLOCK), TokenRatios())
        .endpoint(ModelConfig(model="m", **config))
        .base_url
        == url
    )


async def test_openai_is_found_by_its_environment(monkeypatch: pytest.MonkeyPatch):
    """OPENAI_BASE_URL and OPENAI_API_KEY, as the package has them."""
    async with model_server([http(200, completion("env"))]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-env")
        catalog = Catalog(
            {}, None, 0, 0, SYSTEM_CLOCK, Secrets(), Guards(SYSTEM_CLOCK), TokenRatios()
        )
        assert (await ask(catalog.model(ModelConfig(model="m")), user("x")))[0].content == "env"
        await catalog.aclose()
    assert "sk-env" in server.headers[0]
