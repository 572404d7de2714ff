"""The seed systems as crews that others wrote: each query takes the way that their README says."""

import json
from pathlib import Path

import pytest

from crew import MemoryStore, Query, Runs, load_crew
from crew.journal.query import Answer
from crew.runs.errors import UnknownModel
from tests.support.crews import play
from tests.support.seeds import SEEDS, called, copied, way

pytestmark = pytest.mark.skipif(not SEEDS.is_dir(), reason="the seed crews are not at hand")

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
    "a comparison is planned": (
        "healer",
        "Compare FPT and nvidia",
        ["classify → planner (output)", "planner → writer (plan)"],
        "terminal",
        "Report: NVDA leads, FPT follows.",
    ),
    "so is a workflow": (
        "langgraph-chatbot",
        "compare python and rust",
        [
            "supervisor → planner (output)",
            "planner → synthesize (plan)",
            "synthesize → writer (default)",
        ],
        "terminal",
        "Python and Rust are programming languages.",
    ),
    "a query is rewritten by an agent": (
        "langgraph-chatbot",
        "rewrite this",
        [
            "supervisor → executor (output)",
            "executor → reflect (default)",
            "reflect → synthesize (output)",
            "synthesize → writer (default)",
        ],
        "terminal",
        "Python is a programming language.",
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


async def test_a_comparison_is_planned(tmp_path: Path):
    """Two tasks at once, then one that needs both; each call has its own share and id."""
    played = await play(load_crew(copied("healer", tmp_path)), "Compare FPT and nvidia")
    first = played.of("agent_response")[0]["metadata"]
    assert (first["output"]["symbols"], first["output_unknown"]) == (["FPT", "NVDA"], ["XYZ"])
    (plan,) = [event["metadata"] for event in played.of("plan")]
    assert [one["id"] for one in plan["tasks"]] == ["fpt", "nvda", "both"]
    steps = [
        (event["type"], event["metadata"]["task"])
        for event in played.events
        if event["type"] in ("task_start", "task_end")
    ]
    assert set(steps[:2]) == {("task_start", "fpt"), ("task_start", "nvda")}
    assert steps[-2:] == [("task_start", "both"), ("task_end", "both")]
    calls = [event["metadata"] for event in played.of("tool_start")]
    assert {one["call_id"].partition(".")[0] for one in calls} == {"fpt", "nvda"}
    assert {str(one["arguments"]) for one in calls} == {
        "{'symbol': 'FPT'}",
        "{'symbol': 'NVDA'}",
    }


async def test_a_workflow_has_its_own_arguments(tmp_path: Path):
    """Though its model gives both researchers the same ids."""
    crew = load_crew(copied("langgraph-chatbot", tmp_path))
    played = await play(crew, "compare python and rust")
    calls = [event["metadata"] for event in played.of("tool_start")]
    assert {one["task"] for one in calls} == {"a", "b"}
    assert {str(one["arguments"]) for one in calls} == {"{'query': 'python'}", "{'query': 'rust'}"}


async def test_an_agent_as_a_tool(tmp_path: Path):
    """Its answer is the result; behind whatever event the process ends, it answers once."""
    async with Runs(load_crew(copied("langgraph-chatbot", tmp_path)), MemoryStore()) as runs:
        run = await runs.start(Query("rewrite this"))
        answer = (await run.outcome()).answer
        events = [json.loads(one.encoded) async for one in runs.stored(run.id)]
        (spoke,) = [
            one
            for one in events
            if one["metadata"]["agent_id"] == "rewriter" and one["type"] == "agent_response"
        ]
        (result,) = [
            one["metadata"]
            for one in events
            if one["type"] == "tool_result" and one["metadata"]["tool"] == "query_rewriter"
        ]
        assert spoke["metadata"]["call"] == result["call_id"]
        assert result["output"] == spoke["content"]
        for event in events[:-1]:
            other = (await runs.fork(run.id, event["metadata"]["seq"])).id
            assert (await runs.outcome(other)).answer == answer
            after = [json.loads(one.encoded) async for one in runs.stored(other)]
            spoken = [
                one
                for one in after
                if one["type"] == "agent_response" and one["metadata"]["agent_id"] == "rewriter"
            ]
            assert len(spoken) == 1


async def test_a_client_names_the_model_of_the_writer(tmp_path: Path):
    async with Runs(load_crew(copied("langgraph-chatbot", tmp_path)), MemoryStore()) as runs:
        models = []
        for model in ("", "opus"):
            run = await runs.start(Query("search python", model=model))
            await run.outcome()
            events = [json.loads(one.encoded) async for one in runs.stored(run.id)]
            spoke = [one["metadata"] for one in events if one["type"] == "agent_response"]
            models.append({one["agent_id"]: one["model"] for one in spoke})
        with pytest.raises(UnknownModel):
            await runs.start(Query("search python", model="haiku"))
    before, after = models
    assert after == {**before, "writer": "opus"}


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
        ("langgraph-chatbot", {"loop"}),
    ],
)
def test_there_are_no_other_warnings(tmp_path: Path, name: str, codes: set[str]):
    assert {one.code for one in load_crew(copied(name, tmp_path)).warnings} == codes
