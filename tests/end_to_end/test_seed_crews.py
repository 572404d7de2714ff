"""The seed systems as crews that others wrote: each query takes the way that their README says.

What comes later (memory, documents, plans, agents as tools, providers) is taken out of a copy, here
alone; with it go the queries that need it.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from crew import MemoryStore, Query, Runs, load_crew
from crew.journal.query import Answer
from tests.support.crews import SHARED_CREWS, Played, play

SEEDS = SHARED_CREWS / "seeds"
pytestmark = pytest.mark.skipif(not SEEDS.is_dir(), reason="the seed crews are not at hand")
LATER_OF_CREWS = ("memory", "documents")
LATER_OF_AGENTS = ("documents", "plan", "thinking", "model_from_client")
LATER_SETTINGS = ("client_models", "show_thinking")
LATER_BLOCKS = ("core", "recall", "documents")
LATER_HELPERS = ("learn", "describe")
LATER_TOOLS = ("Recall", "DescribeCrew")


def without(data: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if key not in keys}


def with_known_blocks(data: dict[str, Any]) -> None:
    context = data.get("context") or {}
    if "blocks" in context:
        kinds = [one if isinstance(one, str) else one["kind"] for one in context["blocks"]]
        pairs = zip(context["blocks"], kinds, strict=True)
        context["blocks"] = [one for one, kind in pairs if kind not in LATER_BLOCKS]


def copied(name: str, folder: Path) -> Path:
    """A seed crew, without what comes later."""
    shutil.copytree(SEEDS / name, folder / name, ignore=shutil.ignore_patterns(".crew"))
    folder = folder / name
    read = {path: yaml.safe_load(path.read_text()) for path in folder.rglob("*.yaml")}
    tools = read[folder / "tools.yaml"]["tools"]
    later = [one for one, entry in tools.items() if entry["kind"] == "agent"]
    for path, data in read.items():
        with_known_blocks(data)
        if path.name == "crew.yaml":
            data = without(data, LATER_OF_CREWS)
            data["settings"] = without(data["settings"], LATER_SETTINGS)
            data["models"] = {
                key: without(one, LATER_OF_AGENTS) for key, one in data["models"].items()
            }
        elif path.name == "tools.yaml":
            kept = {
                key: without(one, ("untrusted",)) for key, one in tools.items() if key not in later
            }
            data = {"tools": kept}
        elif path.name == "script.yaml":
            rules = [one for one in data["rules"] if one.get("helper") not in LATER_HELPERS]
            data = {"rules": [one for one in rules if not {*later} & {*str(one).split("'")}]}
        else:
            data = without(data, LATER_OF_AGENTS)
            if "tools" in data:
                data["tools"] = [one for one in data["tools"] if one not in (*later, *LATER_TOOLS)]
        path.write_text(yaml.safe_dump(data, sort_keys=False, allow_unicode=True))
    return folder


def way(played: Played) -> list[str]:
    hops = [event["metadata"] for event in played.of("handoff")]
    return [f"{hop['from']} → {hop['to']} ({hop['why']})" for hop in hops]


def called(played: Played) -> list[str]:
    return [event["metadata"]["tool"] for event in played.of("tool_start")]


WAYS: dict[str, tuple[str, str, list[str], str, str]] = {
    # name: (crew, query, way, end, answer)
    "a greeting is answered at once": (
        "healer",
        "hello",
        ["classify → direct (output)"],
        "terminal",
        "Hello. Ask me about a share.",
    ),
    "a share is looked up": (
        "healer",
        "Analyse nvidia",
        ["classify → analyst (output)"],
        "terminal",
        "NVDA: RSI 60, above its 50-day mean",
    ),
    "a wrong answer is mended": (
        "healer",
        "mend",
        ["classify → direct (output)"],
        "terminal",
        "Hello. Ask me about a share.",
    ),
    "and leads on all the same": (
        "healer",
        "garble",
        ["classify → direct (invalid)"],
        "terminal",
        "Hello. Ask me about a share.",
    ),
    "failed calls end in words": (
        "healer",
        "unlisted share",
        ["classify → analyst (output)"],
        "terminal",
        "There is no data for ZZZ.",
    ),
    "talk needs no tools": (
        "supabase-flow",
        "hello",
        ["aware → intent (output)", "intent → talker (output)"],
        "terminal",
        "Hello.",
    ),
    "nor does a question about them": (
        "supabase-flow",
        "Can you send mails?",
        ["aware → intent (output)", "intent → talker (output)"],
        "terminal",
        "Yes, I can send mails.",
    ),
    "an act is repaired": (
        "supabase-flow",
        "send it to them",
        ["aware → intent (output)", "intent → doer (output)", "doer → synthesis (default)"],
        "terminal",
        "The draft is sent to the client.",
    ),
    "a supervisor answers": (
        "langgraph-chatbot",
        "hello",
        ["supervisor → writer (output)"],
        "terminal",
        "Hello.",
    ),
    "a search is judged": (
        "langgraph-chatbot",
        "search python",
        [
            "supervisor → executor (output)",
            "executor → reflect (default)",
            "reflect → synthesize (output)",
            "synthesize → writer (default)",
        ],
        "terminal",
        "Python is a programming language.",
    ),
    "and may find nothing": (
        "langgraph-chatbot",
        "search secret",
        [
            "supervisor → executor (output)",
            "executor → reflect (default)",
            "reflect → blocked (output)",
            "blocked → writer (default)",
        ],
        "terminal",
        "I cannot tell: nothing was found.",
    ),
    "a chart is the answer": (
        "langgraph-chatbot",
        "draw a chart",
        ["supervisor → executor (output)"],
        "direct",
        "Chart: sales",
    ),
    "so is what the crew is": (
        "langgraph-chatbot",
        "who are you",
        ["supervisor → executor (output)"],
        "direct",
        "Bot 1.0: I answer, search, draw and plan.",
    ),
}


@pytest.mark.parametrize("case", WAYS)
async def test_a_query_takes_its_way(tmp_path: Path, case: str):
    name, query, hops, end, answer = WAYS[case]
    played = await play(load_crew(copied(name, tmp_path)), query)
    assert way(played) == hops
    assert (played.row.reason, played.row.answer) == (end, answer)


async def test_the_share_is_known_by_its_alias(tmp_path: Path):
    played = await play(load_crew(copied("healer", tmp_path)), "Analyse nvidia")
    first = played.of("agent_response")[0]["metadata"]
    assert first["output"]["symbols"] == ["NVDA"]
    shows = [event["metadata"]["component"] for event in played.of("show")]
    assert shows == ["stock-price", "stock-chart"]
    done = played.of("done")[0]["metadata"]
    assert [one["component"] for one in done["shows"]] == shows


async def test_wrong_answers_are_told_apart(tmp_path: Path):
    crew = load_crew(copied("healer", tmp_path))
    mended, garbled = await play(crew, "mend"), await play(crew, "garble")
    first, second = (event["metadata"] for event in mended.of("agent_response")[:2])
    assert first["invalid"] == ['requires_tools: must be true or false, not "false"']
    assert second["output"]["query_type"] == "greeting"
    wrong = [event["metadata"] for event in garbled.of("agent_response")]
    assert [bool(one.get("invalid")) for one in wrong] == [True, True, False]


async def test_unknown_words_and_the_answer_without_tools(tmp_path: Path):
    played = await play(load_crew(copied("healer", tmp_path)), "unlisted share")
    first = played.of("agent_response")[0]["metadata"]
    assert (first["output_unknown"], first["output"]["symbols"]) == (["ZZZ"], [])
    assert len([one for one in played.path if one == "analyst"]) == 4


async def test_the_mail_is_sent_once(tmp_path: Path):
    played = await play(load_crew(copied("supabase-flow", tmp_path)), "send it to them")
    assert called(played) == ["send_email", "search_contacts", "send_email"]
    statuses = [event["metadata"]["status"] for event in played.of("tool_result")]
    assert statuses == ["error", "success", "success"]
    assert played.row.rounds == 7
    assert set(played.of("done")[0]["metadata"]["stages"]) == {
        "context",
        "models",
        "tools",
        "other",
    }


@pytest.mark.parametrize(
    ("name", "query", "question", "answer", "last"),
    [
        (
            "supabase-flow",
            "do that thing",
            "Which thing do you mean?",
            "the mail",
            "The draft is sent to the client.",
        ),
        ("langgraph-chatbot", "make it", "Make what?", "the report", "Here is the report."),
    ],
)
async def test_a_question_comes_back(
    tmp_path: Path, name: str, query: str, question: str, answer: str, last: str
):
    async with Runs(load_crew(copied(name, tmp_path)), MemoryStore()) as runs:
        run = await runs.start(Query(query))
        row = await run.outcome()
        assert (row.status, row.answer) == ("paused", question)
        row = await (await runs.resume(run.id, Answer(answer))).outcome()
        assert (row.status, row.answer) == ("completed", last)


async def test_the_same_greeting_costs_nothing(tmp_path: Path):
    """Of another conversation; in the same one it is another request."""
    crew = load_crew(copied("supabase-flow", tmp_path))
    async with Runs(crew, MemoryStore()) as runs:
        seen = []
        for text, conversation in (
            ("hello", "a"),
            ("Hello ", "b"),
            ("hello you", "c"),
            ("hello", "a"),
        ):
            run = await runs.start(Query(text, conversation_id=conversation, user_id="ann"))
            await run.outcome()
            events = [json.loads(one.encoded) async for one in runs.stored(run.id)]
            spoke = [one["metadata"] for one in events if one["type"] == "agent_response"]
            seen.append([one["agent_id"] for one in spoke if one.get("cached")])
    assert seen == [[], ["aware", "intent"], [], []]


async def test_a_chart_is_shown(tmp_path: Path):
    crew = load_crew(copied("langgraph-chatbot", tmp_path))
    drawn, told = await play(crew, "draw a chart"), await play(crew, "who are you")
    (shown,) = [event["metadata"] for event in drawn.of("show")]
    assert shown["component"] == "chart"
    assert len(shown["data"]["points"]) > 1
    assert drawn.path == ["supervisor", "executor"]
    assert told.of("show") == []


@pytest.mark.parametrize(
    ("name", "codes"),
    [
        ("healer", set()),
        ("supabase-flow", set()),
        # the agents that speak in plans and as tools, and the model that a client names, come later
        ("langgraph-chatbot", {"loop", "unreachable", "unused-model"}),
    ],
)
def test_there_are_no_other_warnings(tmp_path: Path, name: str, codes: set[str]):
    assert {one.code for one in load_crew(copied(name, tmp_path)).warnings} == codes
