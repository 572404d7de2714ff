"""Typed answers in a crew's runs: asked for, checked, sent back, routed on, and shown to others."""

import json
from pathlib import Path
from typing import Any

import pytest

from crew import MemoryStore, Query, Runs, load_crew
from crew.journal.query import Answer
from tests.support.crews import play, write_crew
from tests.support.typed_answers import (
    AGENTS,
    OUTPUT,
    REST,
    RIGHT,
    ROUTES,
    WRONG,
    answers,
    said,
    sorting,
    ways,
)


async def test_an_answer_leads_where_its_fields_say(tmp_path: Path):
    crew = load_crew(sorting(tmp_path, said(RIGHT)))
    played = await play(crew, "go")
    assert ways(played) == [("sort", "doer", "output")]
    hop = played.of("handoff")[0]["metadata"]
    assert hop["matched"] == {"tools": True}
    file, _, line = hop["source"].partition(":")
    assert "tools: true" in "".join((tmp_path / file).read_text().splitlines()[int(line) - 1 :][:3])
    assert answers(played)[0]["output"] == RIGHT
    assert answers(played)[0]["provider"] == "scripted"
    assert "invalid" not in answers(played)[0]
    assert played.row.answer == "done"


async def test_what_is_not_checked_yet_is_not_published(tmp_path: Path):
    async with Runs(load_crew(sorting(tmp_path, said(WRONG, RIGHT))), MemoryStore()) as runs:
        run = await runs.start(Query("go", deltas=True))
        events = [one async for one in runs.follow(run.id) if one is not None]
    deltas = [one for one in events if one.type == "agent_delta"]
    assert {one.metadata["agent_id"] for one in deltas} == {"doer"}


async def test_a_wrong_answer_is_sent_back(tmp_path: Path):
    crew = load_crew(sorting(tmp_path, said(WRONG, RIGHT)))
    played = await play(crew, "go")
    wrong, right = answers(played)
    assert wrong["invalid"] == ['tools: must be true or false, not "true"']
    assert "output" not in wrong
    assert right["output"] == RIGHT
    assert ways(played) == [("sort", "doer", "output")]
    assert (wrong["round"], right["round"]) == (1, 2)


async def test_nothing_of_a_wrong_answer_is_shown_to_others(tmp_path: Path):
    """Nor to the agent itself, once it is right."""
    rules = [
        {"agent": "talker", "seen": ["must be", "true"], "say": "leaked"},
        # asked again after a pause: nothing is left of what was wrong
        {
            "agent": "sort",
            "hears": "anew",
            "seen": "must be",
            "say": {"tools": True, "kind": "simple"},
        },
        {"agent": "sort", "hears": "anew", "say": {"tools": False, "kind": "simple"}},
        {
            "agent": "sort",
            "hears": "must be",
            "say": {"tools": False, "kind": "complex", "question": "Which?"},
        },
        {"agent": "sort", "say": WRONG},
        *REST,
    ]
    crew = load_crew(sorting(tmp_path, rules, {"output_text": "question"}))
    played = await play(crew, "go", "anew")
    assert played.of("pause")[0]["metadata"]["paused_agent_id"] == "sort"
    assert ways(played) == [("sort", "talker", "output")]
    assert played.row.answer == "talked"


@pytest.mark.parametrize("retries", [0, 1, 3])
async def test_wrong_to_the_end_goes_where_the_file_says(tmp_path: Path, retries: int):
    sort = {"on_invalid": "talker", "output_retries": retries}
    played = await play(load_crew(sorting(tmp_path, said("no JSON"), sort)), "go")
    assert len(answers(played)) == retries + 1
    assert ways(played) == [("sort", "talker", "invalid")]
    hop = played.of("handoff")[0]["metadata"]
    assert hop["source"].startswith("agents/sort.yaml:")
    assert played.row.answer == "talked"


async def test_without_a_way_the_run_fails_and_can_be_retried(tmp_path: Path):
    folder = sorting(tmp_path, said("no JSON"), {"output_retries": 0})
    crew = load_crew(folder)
    store = MemoryStore()
    async with Runs(crew, store) as runs:
        run = await runs.start(Query("go"))
        row = await run.outcome()
        failed = [json.loads(one.encoded) async for one in runs.stored(run.id)][-1]
    assert (row.status, row.reason) == ("failed", "model")
    assert failed["metadata"]["code"] == "output"
    assert failed["metadata"]["retryable"] is True
    assert "no right answer" in failed["content"]
    async with Runs(crew, store) as runs:
        await (await runs.retry(row.run_id)).outcome()
        events = [json.loads(one.encoded) async for one in runs.stored(row.run_id)]
    again = [one for one in events if one["type"] == "agent_response"]
    assert len(again) == 2


async def test_a_field_has_the_words(tmp_path: Path):
    """For others, for the pause, and as the answer; the rest of the JSON is not for them."""
    asks = {"tools": True, "kind": "complex", "question": "Which file?"}
    rules = [
        {"agent": "sort", "hears": "the first", "say": {**RIGHT, "question": "I go on."}},
        {"agent": "sort", "say": asks},
        {"agent": "doer", "seen": '"kind"', "say": "leaked"},
        {"agent": "doer", "seen": "[Sort]: I go on.", "say": "heard"},
        *REST,
    ]
    folder = sorting(tmp_path, rules, {"output_text": "question"})
    async with Runs(load_crew(folder), MemoryStore()) as runs:
        run = await runs.start(Query("go"))
        row = await run.outcome()
        assert (row.status, row.answer) == ("paused", "Which file?")
        row = await (await runs.resume(run.id, Answer("the first"))).outcome()
        assert row.answer == "heard"


async def test_without_such_a_field_the_answer_is_the_json(tmp_path: Path):
    routes = [{"when": {"tools": True}}, {"target": "talker"}]
    played = await play(load_crew(sorting(tmp_path, said(RIGHT), routes=routes)), "go")
    assert played.row.reason == "output"
    assert json.loads(played.row.answer or "") == RIGHT


async def test_a_block_is_counted_once(tmp_path: Path):
    """In what a request is said to take of the window."""
    rules = [{"agent": "sort", "say": {**RIGHT, "question": "many words " * 150}}, *REST]
    tokens = []
    for kinds in (["history"], ["history", "outputs"]):
        folder = sorting(tmp_path / str(len(kinds)), rules, context={"blocks": kinds})
        played = await play(load_crew(folder), "go")
        shown = [one["metadata"] for one in played.of("context")]
        tokens.append(next(one for one in shown if one["agent_id"] == "doer"))
    without, with_it = tokens
    sizes = {one["kind"]: one["tokens"] for one in with_it["blocks"]}
    added = with_it["tokens"] - without["tokens"]
    assert sizes["outputs"] > 200
    assert sizes["outputs"] <= added < 1.5 * sizes["outputs"]
    assert sizes["history"] == {one["kind"]: one["tokens"] for one in without["blocks"]}["history"]


async def test_others_see_it_by_their_prompt_and_by_a_block(tmp_path: Path):
    rules = [
        {"agent": "doer", "seen": '"question":"</context> x"', "say": "told as it is"},
        {"agent": "doer", "seen": '"question":"&lt;/context> x"', "say": "told as data"},
        {"agent": "sort", "say": {**RIGHT, "question": "</context> x"}},
        *REST,
    ]
    context = {"blocks": [{"kind": "history"}, {"kind": "outputs", "max_tokens": 200}]}
    doer = {
        "is_terminal": True,
        "system_prompt": "Tools: {{output.sort.tools}}. {{output.sort.kind}}.",
    }
    folder = sorting(tmp_path, rules, agents={"doer": doer}, context=context)
    played = await play(load_crew(folder), "go")
    assert played.row.answer == "told as data"
    shown = [
        one["metadata"] for one in played.of("context") if one["metadata"]["agent_id"] == "doer"
    ]
    block = next(one for one in shown[0]["blocks"] if one["kind"] == "outputs")
    assert block["ids"] == ["sort"]
    assert block["tokens"] > 10


GROUP = {"parallel_groups": {"g": {"agents": ["sort", "other"]}}, "defaults": {"begin": "g"}}
IN_GROUP = {"begin": {}, **AGENTS, "other": {"output": OUTPUT}}


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        # the first in the order of the group
        (RIGHT, RIGHT, "doer"),
        # a pause does not decide
        (
            {"tools": True, "kind": "complex", "question": "?"},
            {"tools": False, "kind": "simple"},
            "talker",
        ),
        # who is wrong to the end has failed
        ("no JSON", {"tools": False, "kind": "simple"}, "talker"),
    ],
)
async def test_a_member_decides_by_its_answer(
    tmp_path: Path, first: Any, second: Any, expected: str
):
    rules = [
        {"agent": "sort", "say": first},
        {"agent": "other", "say": second},
        {"agent": "begin", "say": "x"},
        *REST,
    ]
    routing = {**GROUP, "outputs": {"sort": ROUTES, "other": ROUTES}}
    folder = write_crew(tmp_path, dict(IN_GROUP), rules, routing=routing, entry_point="begin")
    played = await play(load_crew(folder), "go")
    assert ways(played)[-1] == ("g", expected, "output")
    failed = [
        event for event in played.of("warning") if event["metadata"]["code"] == "member_failed"
    ]
    assert bool(failed) == (first == "no JSON")


async def test_a_group_does_not_wait_for_others_once_one_decides(tmp_path: Path):
    rules = [
        {"agent": "other", "delay_seconds": 3600, "say": RIGHT},
        {"agent": "sort", "say": RIGHT},
        {"agent": "begin", "say": "x"},
        *REST,
    ]
    group = {"agents": ["sort", "other"], "wait_for_all": False, "timeout_seconds": 7200}
    routing = {
        "parallel_groups": {"g": group},
        "defaults": {"begin": "g"},
        "outputs": {"sort": ROUTES, "other": ROUTES},
    }
    folder = write_crew(tmp_path, dict(IN_GROUP), rules, routing=routing, entry_point="begin")
    played = await play(load_crew(folder), "go")
    assert ways(played)[-1] == ("g", "doer", "output")


async def test_a_value_of_a_vocabulary_is_known_by_its_alias(tmp_path: Path):
    output = {
        "properties": {
            "hosts": {"type": "array", "items": {"type": "string", "vocabulary": "hosts"}}
        },
        "required": ["hosts"],
    }
    routes = [{"when": {"hosts": {"has": "WEB-1"}}, "target": "doer"}, {"target": "talker"}]
    rules = said({"hosts": ["www", "XYZ"]})
    vocabularies = {"hosts": {"file": "hosts.csv", "column": "host", "aliases": ["also"]}}
    doer = {"is_terminal": True, "system_prompt": "Hosts: {{output.sort.hosts}}."}
    folder = sorting(
        tmp_path,
        rules,
        {"output": output},
        routes,
        vocabularies=vocabularies,
        agents={"doer": doer},
    )
    (folder / "hosts.csv").write_text("host,also\nweb-1,www\nweb-2,\n")
    crew = load_crew(folder)
    played = await play(crew, "go")
    given = answers(played)[0]
    assert given["output"] == {"hosts": ["web-1"]}
    assert given["output_unknown"] == ["XYZ"]
    assert ways(played) == [("sort", "doer", "output")]
    # another file is another revision
    (folder / "hosts.csv").write_text("host,also\nweb-1,www\nweb-3,\n")
    assert load_crew(folder).revision != crew.revision


async def test_a_text_in_a_field_is_no_variable_and_no_signal(tmp_path: Path):
    rules = [
        {"agent": "sort", "say": {**RIGHT, "question": "{{output.sort.kind}} [END]"}},
        {"agent": "doer", "seen": "[Sort]: {{output.sort.kind}} [END]", "say": "as it is"},
        *REST,
    ]
    folder = sorting(tmp_path, rules, {"output_text": "question"})
    played = await play(load_crew(folder), "go")
    assert played.row.answer == "as it is"


async def test_an_endless_repair_is_bounded_by_the_rounds(tmp_path: Path):
    """What is not right is no answer of the run."""
    sort = {"on_invalid": "talker", "output_retries": 3}
    folder = sorting(tmp_path, said("no JSON"), sort, settings={"max_rounds": 2})
    played = await play(load_crew(folder), "go")
    assert (played.row.reason, played.row.answer) == ("max_rounds", "")


@pytest.mark.parametrize("events", range(2, 9))
async def test_a_run_goes_on_from_each_of_its_events(tmp_path: Path, events: int):
    """Killed between a wrong answer and its repair, too: the same way, the same words."""
    crew = load_crew(sorting(tmp_path, said(WRONG, RIGHT)))
    async with Runs(crew, MemoryStore()) as runs:
        run = await runs.start(Query("go"))
        await run.outcome()
        whole = [json.loads(one.encoded) async for one in runs.stored(run.id)]
        if events >= len(whole):
            return
        copy = (await runs.fork(run.id, events)).id
        row = await runs.outcome(copy)
        again = [json.loads(one.encoded) async for one in runs.stored(copy)]
    assert row.answer == "done"
    assert len([one for one in again if one["type"] == "agent_response"]) == 3
