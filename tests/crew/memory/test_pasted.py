"""What a person has pasted proves nothing, wherever in the run it stands."""

from pathlib import Path
from typing import Any

import pytest

from agents.messages import Attachment
from crew import MemoryStore, Runs
from tests.crew.memory.test_core_runs import ask
from tests.support.documents import Reading, call, document_crew

RULE = (
    'The "stop loss" of each position is eight percent, and nobody may lift it without a '
    "word of the board.\nWho lifts it all the same has to say so on the same day, in a letter "
    "that names the position, the price and the reason for which it was lifted by him or by her."
)
QUOTE = "nobody may lift it without a word"
GIVES = f"def rule() -> dict:\n    return {{'name': 'rule', 'texts': [{RULE!r}]}}\n"
REMEMBER = call("Remember", text="likes letters", quote=QUOTE)


@pytest.mark.parametrize("shown", ["as JSON", "in parts", "attached", "listed", "earlier", "never"])
async def test_pasted_passages(shown: str, tmp_path: Path):
    first: dict[str, list[dict[str, Any]]] = {
        "as JSON": call("rule"),
        "in parts": call("SearchDocuments", query="lift it"),
        "attached": REMEMBER,
        "listed": REMEMBER,
        "earlier": REMEMBER,
        "never": REMEMBER,
    }
    rules: list[dict[str, Any]] = [
        {"agent": "a", "after": "Remember", "say": "{{result.Remember}}"},
        *([{"agent": "a", "after": "rule", "calls": REMEMBER}] if shown == "as JSON" else []),
        {"agent": "a", "after": "SearchDocuments", "calls": REMEMBER},
        {"agent": "a", "hears": "note this", "calls": first[shown]},
        {"agent": "a", "hears": "what is the rule", "calls": call("rule")},
        {"agent": "a", "say": "well"},
    ]
    (tmp_path / "crew").mkdir()
    (tmp_path / "crew" / "gives.py").write_text(GIVES)
    uploads = {
        "description": "sent",
        "scope": "user",
        "summaries": "none",
        "chunk": {"tokens": 20, "overlap": 0},
    }
    blocks = ["history", "documents"] if shown == "listed" else ["history"]
    crew = document_crew(
        tmp_path / "crew",
        rules,
        {"uploads": uploads},
        agent={"tools": ["Remember", "rule"], "context": {"blocks": blocks}},
        answers=(),
        tools={"rule": {"kind": "python", "function": "gives.py:rule", "effect": "read"}},
        memory={"recall": {}},
        conversations={"title_after": None},
    )
    async with Runs(crew, MemoryStore()) as runs:
        more: dict[str, Any] = {}
        if shown == "earlier":
            more["conversation_id"] = "c1"
            await ask(runs, "what is the rule?", user_id="ann", **more)
        if shown in ("in parts", "attached", "listed"):
            sent = await Reading(runs).send("rule.txt", RULE)
            if shown == "attached":
                found = Attachment(sent.document_id, sent.name, sent.collection)
                more["attachments"] = (found,)
        played = await ask(runs, f"note this: {RULE}", user_id="ann", **more)
    answer = played.row.answer or ""
    assert ("does not stand in what the person has said" in answer) == (shown != "never"), answer
