"""An exact tokenizer counts instead of the estimate: what fits, what is told, what is limited."""

import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from agents.errors import ModelError
from agents.model import ModelEvent
from agents.tokenizing.tokenizers import tiktoken_tokenizer
from agents.turns.shortening import Shortened
from crew import HistoryMessage, Query, load_crew
from crew.config.errors import ConfigurationError
from tests.support.crews import Played, play, write_crew
from tests.support.model_server import completion, http, model_server

# of tests/support/encodings: a token for each byte, so three for most letters of this
LETTERS = "tiktoken:letters"
WORDS = "ộệừ" * 20


def tokens_of(messages: list[dict[str, Any]]) -> int:
    return sum(4 + len(message["content"].encode()) for message in messages)


async def played(
    folder: Path, words: int, context: dict[str, Any] | None = None
) -> tuple[Played, list[dict[str, Any]]]:
    """A run with so many earlier messages, and what the model was sent."""
    async with model_server([http(200, completion("yes"))]) as server:
        crew = load_crew(
            write_crew(
                folder,
                {"a": {"provider": None, "model": "fast", "is_terminal": True}},
                providers={"far": {"base_url": server.url}},
                models={
                    "fast": {"provider": "far", "context_window": 1000, "tokenizer": LETTERS},
                },
                context=context,
            )
        )
        history = tuple(HistoryMessage("user", WORDS) for _ in range(words))
        run = await play(crew, query=Query("and now?", history))
        await crew.aclose()
    [asked] = server.asked
    return run, asked["messages"]


async def test_what_is_over_the_window_is_left_out(tmp_path: Path):
    """By the tokenizer's count: the estimate, and the number of characters, are below the window."""
    _, sent = await played(tmp_path, 8)
    assert "left out" in str(sent)
    assert 0.5 * 1000 < tokens_of(sent) <= 1000
    _, whole = await played(tmp_path, 4)
    assert len(whole) == 6


async def test_the_event_tells_its_count(tmp_path: Path):
    """Of the request, and of the operator's own text."""
    text = "Ghi nhớ: đĩa đầy."
    block = {"kind": "text", "text": text}
    context = {"answer_tokens": 10, "blocks": [block, {"kind": "history", "min_tokens": 10}]}
    run, sent = await played(tmp_path, 3, context)
    [shown] = run.of("context")
    assert shown["metadata"]["tokens"] == tokens_of(sent)
    assert shown["metadata"]["blocks"][0]["tokens"] == len(text.encode())


async def test_no_ratio_corrects_it(tmp_path: Path):
    """What is learned for an agent that estimates changes nothing for it, and it teaches nothing."""

    def reply(asked: dict[str, Any]) -> bytes:
        used = {"prompt_tokens": tokens_of(asked["messages"]), "completion_tokens": 1}
        return http(200, completion("yes", usage=used))

    async with model_server(reply) as server:
        crew = load_crew(
            write_crew(
                tmp_path,
                {
                    "a": {"provider": None, "model": "fast"},
                    "b": {"provider": "far", "model": "m", "is_terminal": True},
                },
                providers={"far": {"base_url": server.url}},
                models={
                    "fast": {
                        "provider": "far",
                        "model": "m",
                        "context_window": 1000,
                        "tokenizer": LETTERS,
                    },
                },
            )
        )
        history = tuple(HistoryMessage("user", WORDS) for _ in range(4))
        for _ in range(6):
            await play(crew, query=Query("and now?", history))
        await crew.aclose()
    # learned from the estimates alone: the most that is believed
    assert crew.recipe.token_ratios.known == {("far", "m"): 3.0}
    assert [len(asked["messages"]) for asked in server.asked[::2]] == [6] * 6


async def test_a_limit_of_one_call_counts_by_it(tmp_path: Path):
    """`max_tokens_per_call` is of exact tokens, for helpers too."""
    limits = {"max_tokens_per_call": 100, "block_on_cost_exceed": True}
    crew = load_crew(
        write_crew(
            tmp_path,
            {"a": {"model": "fast", "cost_limits": limits, "is_terminal": True}},
            [{"helper": "title", "say": "x"}],
            models={"fast": {"tokenizer": LETTERS}},
            conversations={},
        )
    )
    run = await play(crew, WORDS)
    sent = tokens_of([{"content": "You are a."}, {"content": WORDS}])
    assert run.row.status == "failed"
    assert f"about {sent} tokens in one call" in run.events[-1]["content"]
    helper = crew.helpers["title"]
    sent = tokens_of([{"content": helper.prompt}, {"content": WORDS}]) + helper.max_tokens
    with pytest.raises(ModelError, match=f"about {sent} tokens in one call"):
        await helper.ask(WORDS, Shortened, ignore)


async def ignore(event: ModelEvent) -> None:
    """Of a helper's model."""


def test_any_text_is_counted():
    """A text of millions of spaces, too, which tiktoken does not take at once."""
    tokenizer = tiktoken_tokenizer("letters")
    for text in (" " * 1_200_000, "ộ" * 250_000, "\ud800 <|endoftext|>", ""):
        encoded = len(text.encode(errors="replace"))
        assert 0 <= tokenizer.count(text) - encoded <= 2
        assert tokenizer.count(text) <= tokenizer.max_per_character * len(text)


def problem_of(folder: Path, tokenizer: str) -> str:
    """What is said of a tokenizer, with its place."""
    agents = {"a": {"model": "fast", "is_terminal": True}}
    write_crew(folder, agents, models={"fast": {"tokenizer": tokenizer}})
    with pytest.raises(ConfigurationError) as caught:
        load_crew(folder)
    [problem] = caught.value.problems
    line = (folder / "crew.yaml").read_text().splitlines()[problem.line - 1]
    assert (problem.file, problem.code) == ("crew.yaml", "tokenizer")
    assert line[problem.column - 1 :] == tokenizer
    return problem.message


def test_what_is_missing_is_an_error_at_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The file, which is not downloaded; the encoding; the package."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "cache"))
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{proxy.getsockname()[1]}")
        text = problem_of(tmp_path / "file", "tiktoken:p50k_base")
        proxy.setblocking(False)
        with pytest.raises(BlockingIOError):
            proxy.accept()
    assert "the file of encoding p50k_base is not there" in text
    assert "tiktoken.get_encoding('p50k_base')" in text
    text = problem_of(tmp_path / "name", "tiktoken:p50k-base")
    assert text.endswith("tiktoken has no encoding 'p50k-base'; did you mean 'p50k_base'?")
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    text = problem_of(tmp_path / "package", "tiktoken:r50k_base")
    assert text.endswith("needs the package tiktoken: pip install 'crewline[tiktoken]'")


def test_an_entry_that_nothing_counts_by_needs_no_tokenizer(tmp_path: Path):
    """It is a warning that it is not used; nobody has to install what would count for it."""
    models = {"fast": {"model": "m"}, "other": {"tokenizer": "tiktoken:p50k-base"}}
    write_crew(tmp_path, {"a": {"model": "fast", "is_terminal": True}}, models=models)
    assert "unused-model" in {one.code for one in load_crew(tmp_path).warnings}
