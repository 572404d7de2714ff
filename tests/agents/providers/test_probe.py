"""Names of models in the lists of those who serve them."""

import pytest

from agents.providers.probe import Probe


@pytest.mark.parametrize(
    ("model", "listed"),
    [
        ("gemini-2.5-flash", "models/gemini-2.5-flash"),
        ("openai/gpt-4o", "openai/*"),
        ("anything", "*"),
        ("openai/gpt-4o:nitro", "openai/gpt-4o"),
        ("Qwen3-8B", "qwen3-8b"),
        ("llama3.1", "llama3.1:latest"),
    ],
)
def test_a_name_that_a_list_has_otherwise(model: str, listed: str):
    assert Probe(models=frozenset({"other", listed})).missing(model) is None


def test_a_name_that_no_list_has():
    missing = Probe(models=frozenset({"gpt-4o", "openai/*"})).missing("gpt-4x")
    assert missing is not None
    assert "did you mean 'gpt-4o'" in missing
