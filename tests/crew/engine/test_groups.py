"""Groups: members at once, joined by their policy, failures and timeouts reported, limits counted."""

from pathlib import Path
from typing import Any

import anyio
import pytest

from crew import ConfigurationError, load_crew
from tests.support.crews import crew_of, play, write_crew
from tests.support.model_server import completion, http, model_server
from tools import tool

MEMBERS = {"a": {}, "b": {}, "c": {}, "d": {"is_terminal": True}}


def group(routes: dict[str, dict[str, Any]] | None = None, **keys: Any) -> dict[str, Any]:
    signals = {"a": {"[GO]": "g"}, **(routes or {})}
    return {
        "signals": {
            agent: [{"signal": text, "target": target} for text, target in pairs.items()]
            for agent, pairs in signals.items()
        },
        "parallel_groups": {"g": {"agents": ["b", "c"], **keys}},
    }


START = {"agent": "a", "say": "[GO]"}


async def test_members_run_at_once_and_are_joined_in_order(tmp_path: Path):
    """The slower first member comes first; the next agent is shown the joined text; two handoffs, three rounds."""
    async with model_server([http(200, completion("all read"))]) as server:
        agents = {**MEMBERS, "d": {"provider": "mine", "is_terminal": True}}
        rules = [
            START,
            {"agent": "b", "say": "from b", "delay_seconds": 0.05},
            {"agent": "c", "say": "from c"},
        ]
        crew = crew_of(
            tmp_path,
            agents,
            rules,
            routing=group(next_agent="d"),
            providers={"mine": {"base_url": server.url}},
        )
        played = await play(crew, "go")
    joined = "\n[📊 PARALLEL EXECUTION RESULTS]\n\n[b]\nfrom b\n\n[c]\nfrom c\n\n[END PARALLEL RESULTS]\n"
    assert server.asked[0]["messages"][-1] == {"role": "user", "content": joined}
    assert played.path == ["a", "c", "b", "d"]
    assert [
        event["content"] for event in played.of("parallel_start") + played.of("parallel_end")
    ] == ["g", "g"]
    assert played.of("parallel_end")[0]["metadata"] | {
        "run_id": "",
        "seq": 0,
        "agent_id": None,
    } == {
        "run_id": "",
        "seq": 0,
        "agent_id": None,
        "agents": ["b", "c"],
        "failed": [],
    }
    assert [
        (e["metadata"]["from"], e["metadata"]["to"], e["metadata"]["why"])
        for e in played.of("handoff")
    ] == [
        ("a", "g", "signal"),
        ("g", "d", "group"),
    ]
    done = played.of("done")[0]["metadata"]
    assert (done["rounds"], done["handoffs"], done["answer"]) == (3, 2, "all read")
    assert {
        e["metadata"]["group"]
        for e in played.of("agent_start")
        if e["metadata"]["agent_id"] in "bc"
    } == {"g"}


async def test_members_have_their_own_tools_and_the_same_history(tmp_path: Path):
    """A member's tool loop is its own; the other never sees it."""

    @tool
    async def look() -> str:
        return "secret of b"

    rules = [
        START,
        {"agent": "b", "after": "look", "say": "b: {{result.look}}"},
        {"agent": "b", "say": "", "calls": ["look"]},
        {"agent": "c", "seen": "secret of b", "say": "leaked"},
        {"agent": "c", "say": "c", "delay_seconds": 0.05},
        {"agent": "d", "say": "{{heard}}"},
    ]
    crew = crew_of(
        tmp_path, {**MEMBERS, "b": {"tools": ["look"]}}, rules, look, routing=group(next_agent="d")
    )
    played = await play(crew, "go")
    assert "b: secret of b" in (played.row.answer or "")
    assert "leaked" not in (played.row.answer or "")


async def test_the_first_settling_answer_ends_a_group_that_does_not_wait(tmp_path: Path):
    """The others are cancelled; an answer without a deciding signal does not settle it."""
    rules = [
        START,
        {"agent": "b", "say": "nothing"},
        {"agent": "c", "say": "[D]", "delay_seconds": 0.05},
        {"agent": "d", "say": "end"},
    ]
    crew = crew_of(
        tmp_path / "1", MEMBERS, rules, routing=group({"c": {"[D]": "d"}}, wait_for_all=False)
    )
    played = await play(crew, "go")
    assert played.path == ["a", "b", "c", "d"]
    handoff = played.of("handoff")[1]["metadata"]
    assert (handoff["from"], handoff["to"], handoff["signal"], handoff["agent_id"]) == (
        "g",
        "d",
        "[D]",
        "c",
    )
    slow = [
        START,
        {"agent": "b", "say": "x", "delay_seconds": 30},
        {"agent": "c", "say": "quick"},
        {"agent": "d", "say": "end"},
    ]
    with anyio.fail_after(5):
        played = await play(
            crew_of(
                tmp_path / "2", MEMBERS, slow, routing=group(wait_for_all=False, next_agent="d")
            ),
            "go",
        )
    assert played.path == ["a", "c", "d"]
    assert played.of("parallel_end")[0]["metadata"]["agents"] == ["c"]


@pytest.mark.parametrize(
    ("routes", "keys", "path", "reason", "answer"),
    [
        ({"b": {"[END]": None}}, {}, "abc", "signal", "b [END]"),
        ({"b": {"[END]": None}, "c": {"[D]": "d"}}, {}, "abcd", "terminal", "d"),
        ({}, {}, "abc", "no_next_agent", "joined"),
    ],
    ids=["an end", "a target beats it", "nobody decides"],
)
async def test_who_decides(
    tmp_path: Path, routes: Any, keys: Any, path: str, reason: str, answer: str
):
    """And what the answer of the run then is."""
    rules = [
        START,
        {"agent": "b", "say": "b [END]"},
        {"agent": "c", "say": "c [D]"},
        {"agent": "d", "say": "d"},
    ]
    agents = {**MEMBERS, "a": {"handoff_targets": []}}
    played = await play(crew_of(tmp_path, agents, rules, routing=group(routes, **keys)), "go")
    assert "".join(sorted(played.path)) == path
    assert played.row.reason == reason
    assert answer in ("joined", played.row.answer)
    assert ("PARALLEL EXECUTION RESULTS" in (played.row.answer or "")) is (answer == "joined")


async def test_partial_failure(tmp_path: Path):
    """A member that fails or is late is a warning; the rest go on."""
    rules = [
        START,
        {"agent": "b", "fail": "refused"},
        {"agent": "c", "say": "c"},
        {"agent": "d", "say": "{{heard}}"},
    ]
    played = await play(
        crew_of(tmp_path / "1", MEMBERS, rules, routing=group(next_agent="d")), "go"
    )
    assert [e["metadata"]["code"] for e in played.of("warning")] == ["member_failed"]
    assert played.of("parallel_end")[0]["metadata"]["failed"] == ["b"]
    assert "[b]" not in (played.row.answer or "")
    late = [
        START,
        {"agent": "b", "say": "b", "delay_seconds": 30},
        {"agent": "c", "say": "c"},
        {"agent": "d", "say": "end"},
    ]
    played = await play(
        crew_of(tmp_path / "2", MEMBERS, late, routing=group(next_agent="d", timeout_seconds=0.1)),
        "go",
    )
    assert [e["metadata"]["code"] for e in played.of("warning")] == ["member_timeout"]
    assert played.row.status == "completed"


@pytest.mark.parametrize(
    ("rule", "reason"),
    [({"fail": "refused"}, "model"), ({"say": "x", "delay_seconds": 30}, "timeout")],
)
async def test_if_all_fail_the_run_fails(tmp_path: Path, rule: dict[str, Any], reason: str):
    """With one error behind the members' warnings."""
    rules = [START, {"agent": ["b", "c"], **rule}]
    played = await play(
        crew_of(tmp_path, MEMBERS, rules, routing=group(next_agent="d", timeout_seconds=0.1)), "go"
    )
    assert (played.row.status, played.row.reason) == ("failed", reason)
    assert played.types[-4:] == ["warning", "warning", "parallel_end", "error"]


async def test_a_members_tool_loop_is_bounded(tmp_path: Path):
    """By max_rounds, as a failure of that member."""

    @tool
    async def again() -> str:
        return "again"

    rules = [
        START,
        {"agent": "b", "say": "", "calls": ["again"]},
        {"agent": "c", "say": "c"},
        {"agent": "d", "say": "end"},
    ]
    crew = crew_of(
        tmp_path,
        {**MEMBERS, "b": {"tools": ["again"]}},
        rules,
        again,
        routing=group(next_agent="d"),
        settings={"max_rounds": 3},
    )
    played = await play(crew, "go")
    assert sum(e["metadata"]["agent_id"] == "b" for e in played.of("agent_response")) == 3
    assert played.of("parallel_end")[0]["metadata"]["failed"] == ["b"]


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"max_handoffs": 1}, "max_handoffs"),
        ({"max_handoffs": 0}, "max_handoffs"),
        ({"max_rounds": 1}, "max_rounds"),
        ({"max_rounds": 2}, "max_rounds"),
    ],
)
async def test_groups_count(tmp_path: Path, settings: dict[str, Any], reason: str):
    """Entering is a handoff, leaving another; the group is one round."""
    rules = [START, {"say": "x"}]
    played = await play(
        crew_of(tmp_path, MEMBERS, rules, routing=group(next_agent="d"), settings=settings), "go"
    )
    assert played.row.reason == reason
    assert played.row.handoffs == min(settings.get("max_handoffs", 9), len(played.of("handoff")))


async def test_the_origin_is_the_member_whose_signal_led_there(tmp_path: Path):
    """Its default counts after the second group."""
    routing = group({"c": {"[H]": "h"}})
    routing["parallel_groups"]["h"] = {"agents": ["d"]}
    routing["defaults"] = {"c": "e", "a": None}
    agents = {**MEMBERS, "d": {}, "e": {"is_terminal": True}}
    rules = [
        START,
        {"agent": "b", "say": "b"},
        {"agent": "c", "say": "[H]"},
        {"agent": "d", "say": "d"},
        {"agent": "e", "say": "e"},
    ]
    played = await play(crew_of(tmp_path, agents, rules, routing=routing), "go")
    assert played.row.answer == "e"
    assert played.of("handoff")[-1]["metadata"]["why"] == "default"


async def test_a_cancelled_run_takes_its_members_along(tmp_path: Path):
    """The run's own time bounds the group too."""
    rules = [START, {"say": "x", "delay_seconds": 30}]
    with anyio.fail_after(5):
        played = await play(
            crew_of(
                tmp_path,
                MEMBERS,
                rules,
                routing=group(next_agent="d"),
                settings={"timeout_seconds": 0.2},
            ),
            "go",
        )
    assert played.row.reason == "timeout"
    assert played.types[-1] == "error"


async def test_a_group_that_leads_back_to_itself_is_refused(tmp_path: Path):
    """Nobody decides, and the origin's default is the group again."""
    folder = write_crew(
        tmp_path,
        {"a": {}, "b": {}},
        [{"say": "x"}],
        routing={"defaults": {"a": "g"}, "parallel_groups": {"g": {"agents": ["b"]}}},
    )
    with pytest.raises(
        ConfigurationError, match=r"error\[trap\]: a, g can be entered and never left"
    ):
        load_crew(folder)
