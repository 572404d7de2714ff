"""`models`: which model is asked, what is known of it, and what is wrong with an entry."""

from pathlib import Path
from typing import Any

import pytest

from crew import check, load_crew
from crew.config.errors import ConfigurationError
from tests.support.crews import write_crew
from tests.support.problems import AGENT, problems

PROVIDERS = {
    "near": {"base_url": "http://near/v1"},
    "far": {"base_url": "http://far/v1"},
}
# keys of the agent, entries of `models`, and the provider and model that are asked
CHOICES: dict[str, tuple[dict[str, Any], dict[str, Any], list[tuple[str, str]]]] = {
    "both by the entry": (
        {"model": "fast"},
        {"fast": {"provider": "far", "model": "m-1"}},
        [("far", "m-1")],
    ),
    "the model's own name": ({"model": "m-1"}, {"m-1": {"provider": "far"}}, [("far", "m-1")]),
    "the agent's provider comes first": (
        {"model": "fast", "provider": "near"},
        {"fast": {"provider": "far", "model": "m-1"}, "other": {"provider": "far"}},
        [("near", "m-1")],
    ),
    "the agent's provider without another": (
        {"model": "fast", "provider": "near"},
        {"fast": {"model": "m-1"}},
        [("near", "m-1")],
    ),
    "an entry is no agent": (
        {"model": "fast"},
        {"fast": {"provider": "far", "model": "slow"}, "slow": {"provider": "near", "model": "x"}},
        [("far", "slow")],
    ),
    "a name that looks like a comment": (
        {"model": "x-ai/grok-4"},
        {"x-ai/grok-4": {"provider": "far"}},
        [("far", "x-ai/grok-4")],
    ),
    "primary and backup": (
        {"primary": {"model": "fast"}, "backup": {"model": "slow", "provider": "near"}},
        {"fast": {"provider": "far", "model": "m-1"}, "slow": {"model": "m-2"}},
        [("far", "m-1"), ("near", "m-2")],
    ),
}


def agent_keys(keys: dict[str, Any]) -> dict[str, Any]:
    """Without the provider that `write_crew` gives otherwise."""
    return {"provider": None, "is_terminal": True, **keys}


@pytest.mark.parametrize("name", CHOICES)
def test_an_agent_asks_the_model_that_is_meant(name: str, tmp_path: Path):
    """The agent's own keys come before those of the entry; entries do not name entries."""
    keys, models, asked = CHOICES[name]
    folder = write_crew(tmp_path, {"a": agent_keys(keys)}, providers=PROVIDERS, models=models)
    assert load_crew(folder).agents["a"].model.endpoints == tuple(asked)


# keys of the agent and of helper `default`; the provider, the model and the host that it asks
HELPERS: dict[str, tuple[dict[str, Any], dict[str, Any], tuple[str, str, str]]] = {
    "the agent's": ({"model": "fast"}, {}, ("far", "m-1", "far")),
    "another entry": ({"model": "fast"}, {"model": "slow"}, ("near", "m-2", "near")),
    "another model of the same": ({"model": "fast"}, {"model": "m-3"}, ("far", "m-3", "far")),
    "another provider": ({"model": "fast"}, {"provider": "near"}, ("near", "m-1", "near")),
    "the agent's own provider": (
        {"model": "fast", "provider": "near"},
        {"max_tokens": 10, "provider_url": "http://own/v1"},
        ("near", "m-1", "own"),
    ),
    "the agent's address": (
        {"model": "fast", "provider_url": "http://agent/v1"},
        {"model": "m-3"},
        ("far", "m-3", "agent"),
    ),
    "whose model it is": (
        {"model": "fast"},
        {"title": {"model": "slow"}, "default": {"provider": "far"}},
        ("near", "m-2", "near"),
    ),
    "not the agent's address at another provider": (
        {"model": "fast", "provider_url": "http://agent/v1"},
        {"model": "slow"},
        ("near", "m-2", "near"),
    ),
}


@pytest.mark.parametrize("name", HELPERS)
def test_a_helper_asks_the_model_that_is_meant(name: str, tmp_path: Path):
    """Its own keys, those of the entry that it names, those of the entry agent, in this order."""
    keys, helper, (provider, model, host) = HELPERS[name]
    crew = load_crew(
        write_crew(
            tmp_path,
            {"a": agent_keys(keys)},
            providers=PROVIDERS,
            models={
                "fast": {"provider": "far", "model": "m-1"},
                "slow": {"provider": "near", "model": "m-2"},
            },
            conversations={},
            helpers=helper if "title" in helper else {"default": helper},
        )
    )
    assert crew.helpers["title"].model.endpoints == ((provider, model),)
    hosts = {endpoint.base_url for endpoint in crew.catalog.clients}
    assert f"http://{host}/v1" in hosts


@pytest.mark.parametrize(
    ("keys", "context", "window"),
    [
        ({"model": "fast"}, {}, 9000),
        ({"model": "fast"}, {"context": {"window_tokens": 8000}}, 8000),
        ({"model": "fast", "context": {"window_tokens": 7000}}, {}, 7000),
        ({"model": "other"}, {}, 32_000),
        (
            {
                "primary": {"model": "other", "provider": "scripted"},
                "backup": {"model": "fast", "provider": "scripted"},
            },
            {},
            32_000,
        ),
    ],
)
def test_the_window_is_the_models(
    keys: dict[str, Any], context: dict[str, Any], window: int, tmp_path: Path
):
    """Unless `context` says another; that of a backup does not count."""
    models = {"fast": {"context_window": 9000}}
    folder = write_crew(tmp_path, {"a": {"is_terminal": True, **keys}}, models=models, **context)
    assert load_crew(folder).agents["a"].context.window_tokens == window


CREW = "agents: [a]\nmodels:\n"
WRONG: dict[str, tuple[dict[str, str], list[str]]] = {
    "a provider that is none": (
        {"crew": CREW + "  fast: {provider: opnai}\n", "agents.a": AGENT + "model: fast\n"},
        ["crew.yaml:3:20 unknown provider 'opnai'", "did you mean 'openai'"],
    ),
    "no provider": (
        {
            "crew": CREW + "  fast: {provider: ''}\n",
            "agents.a": AGENT.replace("provider: scripted", "provider: ''\nmodel: fast"),
        },
        ["crew.yaml:3:20", "agents/a.yaml:4:11 unknown provider ''"],
    ),
    "a helper's provider that is none": (
        {"crew": "agents: [a]\nconversations: {}\nhelpers: {default: {provider: ''}}\n"},
        ["crew.yaml:3:31 unknown provider ''"],
    ),
    "a helper's provider without an address": (
        {
            "crew": CREW
            + "  fast: {provider: p}\nproviders: {p: {}}\nconversations: {}\nhelpers:\n"
            + "  summary: {model: fast}\n"
        },
        ["crew.yaml:7:20 provider p has no address"],
    ),
    "an entry that is wrong": (
        {"crew": CREW + "  fast: {provider: [p]}\nproviders: {p: {base_url: http://h}}\n"},
        ["crew.yaml:3:20 expected a text"],
    ),
    "a provider without an address": (
        {
            "crew": CREW + "  fast: {provider: p}\nproviders: {p: {}}\n",
            "agents.a": AGENT.replace("provider: scripted", "model: fast"),
        },
        ["agents/a.yaml:4:8 provider p has no address"],
    ),
    "nobody's": (
        {"crew": CREW + "  fast: {model: m}\n", "agents.a": AGENT + "model: fsat\n"},
        ["crew.yaml:3:3 no agent or helper has the model 'fast'; one has 'fsat'"],
    ),
    "a provider that nobody needs": (
        {"crew": CREW + "  fast: {provider: ollama}\n", "agents.a": AGENT + "model: fast\n"},
        ["crew.yaml:3:10 provider has no effect: all who have the model say their own"],
    ),
    "the window of a backup": (
        {
            "crew": CREW + "  fast: {context_window: 9000, tokenizer: estimate}\n",
            "agents.a": AGENT + "backup: {model: fast, provider: scripted}\n",
        },
        [
            "crew.yaml:3:10 context_window has no effect: it is no agent's first model",
            "crew.yaml:3:32 tokenizer has no effect: it is no agent's first model",
        ],
    ),
    "a window that is not asked": (
        {
            "crew": CREW + "  fast: {context_window: 9000}\ncontext: {window_tokens: 8000}\n",
            "agents.a": AGENT + "model: fast\n",
        },
        ["crew.yaml:3:10 context_window has no effect: it is no agent's first model without"],
    ),
    "no tokenizer": (
        {"crew": CREW + "  fast: {tokenizer: o200k_base}\n", "agents.a": AGENT + "model: fast\n"},
        ["crew.yaml:3:21 must be estimate, or tiktoken: and the name of an encoding"],
    ),
    "over the window": (
        {
            "crew": CREW + "  fast: {context_window: 2000}\ncontext: {}\n",
            "agents.a": AGENT + "model: fast\n",
        },
        ["crew.yaml:3:3 a needs", "and models.fast.context_window is 2000"],
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_told_with_its_place(name: str, tmp_path: Path):
    """An error where the crew cannot run so; a warning where a key has no effect."""
    files, expected = WRONG[name]
    found = [
        f"{one.file}:{one.line}:{one.column} {one.message} did you mean {one.suggestion!r}"
        for one in problems(tmp_path, **files)
    ]
    for text in expected:
        assert any(text in one for one in found), found
    assert len(found) <= len(expected)


@pytest.mark.parametrize(
    ("keys", "helpers", "place"),
    [
        ({"model": "fast"}, {}, "agents/a.yaml model: fast"),
        ({"primary": {"model": "fast"}}, {}, "agents/a.yaml   model: fast"),
        (
            {"provider": "scripted"},
            {"default": {"model": "fast"}},
            "crew.yaml     model: fast",
        ),
    ],
)
def test_a_key_that_is_missing_is_told_where_the_model_is(
    keys: dict[str, Any],
    helpers: dict[str, Any],
    place: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    """Also where `models` says whose it is."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    folder = write_crew(
        tmp_path,
        {"a": agent_keys(keys)},
        models={"fast": {"provider": "openai"}},
        conversations={} if helpers else None,
        helpers=helpers or None,
    )
    with pytest.raises(ConfigurationError, match="needs a key") as caught:
        load_crew(folder)
    for problem in caught.value.problems:
        line = (folder / problem.file).read_text().splitlines()[problem.line - 1]
        assert f"{problem.file} {line}" == place


def test_a_script_that_is_not_there_is_told_with_the_model(tmp_path: Path):
    """Since crew.yaml says there that it is the script."""
    agents = {"a": {"provider": None, "model": "fast", "is_terminal": True}}
    write_crew(tmp_path, agents, models={"fast": {"provider": "scripted"}})
    (tmp_path / "script.yaml").unlink()
    [problem] = check(tmp_path).problems
    line = (tmp_path / problem.file).read_text().splitlines()[problem.line - 1]
    assert (problem.code, line) == ("no-script", "model: fast")


def test_a_helper_uses_models_and_providers(tmp_path: Path):
    """So neither is reported as unused."""
    files = {
        "crew": CREW
        + "  small: {provider: p, tokenizer: estimate}\nproviders: {p: {base_url: http://h}}\n"
        + "conversations: {}\nhelpers: {default: {model: small}}\n"
    }
    assert [one.code for one in problems(tmp_path, **files)] == []


def test_the_address_of_a_helper_is_read_from_the_environment(tmp_path: Path):
    """As that of an agent is."""
    address = "${OLLAMA_URL:-http://near.example:1/v1}"
    folder = write_crew(
        tmp_path,
        {"a": {}},
        conversations={},
        helpers={"title": {"provider": "ollama", "model": "m", "provider_url": address}},
    )
    crew = load_crew(folder, environment={})
    hosts = {endpoint.base_url for endpoint in crew.catalog.clients}
    assert "http://near.example:1/v1" in hosts
