"""Random crews: each that is valid loads, plays on a script and ends; each that was mutated gets a verdict."""

import json
import tempfile
from pathlib import Path
from typing import Any

import anyio
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crew import Answer, MemoryStore, Query, Runs, check, load_crew
from crew.config.problems import has_failed
from tests.support.problems import places

NAMES = ("ada", "bob", "cy", "dee", "eve")
QUIET = settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)


@st.composite
def crews(draw: st.DrawFn) -> dict[str, Any]:
    """The files of a crew without errors: every agent has a signal that ends the run."""
    names = list(NAMES[: draw(st.integers(1, 5))])
    members = draw(st.lists(st.sampled_from(names), unique=True, max_size=3))
    for_all: bool = draw(st.booleans())
    groups: dict[str, Any] = (
        {"team": {"agents": members, "wait_for_all": for_all}} if members else {}
    )
    decided: bool = draw(st.booleans())
    if groups and decided:
        groups["team"]["next_agent"] = draw(st.sampled_from(names))
    targets = st.sampled_from([*names, *groups])
    signals: dict[str, Any] = {}
    agents: dict[str, Any] = {}
    rules: list[dict[str, Any]] = []
    for name in names:
        aims = draw(st.lists(targets, unique=True, max_size=3))
        signals[name] = [{"signal": f"[{aim.upper()}]", "target": aim} for aim in aims] + [
            {"signal": "[END]"}
        ]
        agent: dict[str, Any] = {
            "id": name,
            "name": name.title(),
            "role": "r",
            "provider": "scripted",
            "system_prompt": "Speak.",
        }
        if draw(st.booleans()):
            agent["tools"] = ["GetSystemInfo"]
            rules.append(
                {"agent": name, "turn": draw(st.integers(1, 3)), "calls": ["GetSystemInfo"]}
            )
        if draw(st.booleans()):
            agent["handoff_targets"] = draw(st.lists(targets, unique=True, max_size=2))
        if draw(st.booleans()):
            agent["is_terminal"] = draw(st.booleans())
        agents[name] = agent
        for turn in range(1, draw(st.integers(1, 3))):
            rules.append(
                {
                    "agent": name,
                    "turn": turn,
                    "say": draw(st.sampled_from(["so", *(s["signal"] for s in signals[name])])),
                }
            )
        if draw(st.booleans()):
            rules.append({"agent": name, "fail": "unavailable"})
        rules.append({"agent": name, "say": draw(st.sampled_from(["well", "[END]"]))})
    behaviors = {
        name: {"wait_for_signal": draw(st.booleans()), "auto_route": draw(st.booleans())}
        for name in names
    }
    limits = {
        "max_handoffs": draw(st.integers(0, 4)),
        "max_rounds": draw(st.integers(1, 6)),
        "retry_backoff_min_millis": 0,
    }
    routing: dict[str, Any] = {
        "signals": signals,
        "agent_behaviors": behaviors,
        "parallel_groups": groups,
    }
    if draw(st.booleans()):
        routing["defaults"] = {draw(st.sampled_from(names)): draw(targets | st.none())}
    crew = {"agents": names, "settings": limits, "routing": routing}
    return {"crew.yaml": crew, "script.yaml": {"rules": rules}} | {
        f"agents/{name}.yaml": agent for name, agent in agents.items()
    }


def write(folder: Path, files: dict[str, Any]) -> Path:
    (folder / "agents").mkdir()
    for name, data in files.items():
        (folder / name).write_text(yaml.safe_dump(data, sort_keys=False))
    return folder


async def played(folder: Path) -> list[dict[str, Any]]:
    # a mutant may name another provider
    async with Runs(load_crew(folder, provider="scripted", environment={}), MemoryStore()) as runs:
        run = await runs.start(Query("go"))
        with anyio.fail_after(30):
            row = await run.outcome()
            if row.status == "paused":
                run = await runs.resume(run.id, Answer("go on"))
                await run.outcome()
        return [json.loads(line.encoded) async for line in runs.follow(run.id) if line is not None]


@QUIET
@given(crews())
def test_every_valid_crew_loads_plays_and_ends(files: dict[str, Any]):
    """With events 1..n, and one end for each segment, whatever leads where."""
    with tempfile.TemporaryDirectory() as made:
        folder = write(Path(made), files)
        checked = check(folder, environment={})
        assert not has_failed(checked.problems), places(checked.problems)
        events = anyio.run(played, folder)
    assert [event["metadata"]["seq"] for event in events] == list(range(1, len(events) + 1))
    kinds = [event["type"] for event in events]
    assert kinds[-1] in ("done", "error")
    assert kinds.count("start") == kinds.count("done") + kinds.count("error")


WRONG: st.SearchStrategy[Any] = st.sampled_from(
    [
        None,
        True,
        -1,
        10**30,
        0.5,
        "",
        "x",
        "ada",
        "[END]",
        [],
        ["x", "x"],
        {},
        {"x": {"y": 1}},
        [[]],
        "\u0000",
        "\ud7ff",
    ]
)


@st.composite
def mutants(draw: st.DrawFn) -> dict[str, Any]:
    """A valid crew with one to three things changed: a value, a key, a part that is missing."""
    files = draw(crews())
    for _ in range(draw(st.integers(1, 3))):
        inner = files[draw(st.sampled_from(sorted(files)))]
        for _ in range(draw(st.integers(0, 5))):
            below = [
                value
                for value in (inner.values() if isinstance(inner, dict) else inner)
                if isinstance(value, dict | list) and value
            ]
            if not below:
                break
            inner = draw(st.sampled_from(below))
        if isinstance(inner, dict) and inner:
            key = draw(st.sampled_from(sorted(inner)))
            match draw(st.sampled_from(["value", "key", "gone", "more"])):
                case "value":
                    inner[key] = draw(WRONG)
                case "key":
                    inner[key + "s"] = inner.pop(key)
                case "gone":
                    del inner[key]
                case "more":
                    inner["x"] = draw(WRONG)
        elif inner:
            inner[draw(st.integers(0, len(inner) - 1))] = draw(WRONG)
    return files


@settings(QUIET, max_examples=150)
@given(mutants())
def test_every_mutant_gets_a_verdict(files: dict[str, Any]):
    """Errors with their places; or it is valid, and plays to an end like any other."""
    with tempfile.TemporaryDirectory() as made:
        folder = write(Path(made), files)
        checked = check(folder, environment={})
        for problem in checked.problems:
            lines = (
                (folder / problem.file).read_text().splitlines()
                if (folder / problem.file).is_file()
                else []
            )
            assert 1 <= problem.line <= max(1, len(lines))
            assert 1 <= problem.column <= max([1, *(len(line) + 1 for line in lines)])
        if not has_failed(checked.problems):
            assert anyio.run(played, folder)[-1]["type"] in ("done", "error")
