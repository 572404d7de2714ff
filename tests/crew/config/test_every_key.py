"""Every key of a full crew has an effect or a warning: each is changed by itself, and the crew is another one, or is reported."""

import dataclasses
import functools
import json
import shutil
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from agents.providers.scripted import Script
from crew import Answer, Crew, MemoryStore, Query, Runs, load_crew
from crew.config.errors import ConfigurationError
from crew.config.files.yaml_reader import read
from server.authoring.schemas import FULL, KINDS, schema_of
from server.http.endpoints.description import describe_crew
from tests.support.crews import ROOT, write_yaml
from tools.schemas.yaml_shape import resolve

Path_ = tuple[str | int, ...]
FILES = (
    "crew.yaml",
    *(f"agents/{path.name}" for path in sorted((FULL / "agents").glob("*.yaml"))),
    "tools.yaml",
    "script.yaml",
)
# Read by the server from the settings, which live on; these tests show what each does.
SERVED = {
    "max_input_size_kb": "tests/end_to_end/test_requests.py: test_limits_and_prompts_are_as_configured",
    "max_request_body_size_kb": "tests/end_to_end/test_requests.py: test_limits_and_prompts_are_as_configured",
    "sse_keep_alive_seconds": "tests/end_to_end/test_life.py: test_a_silent_stream_pings",
    "disconnect_grace_seconds": "tests/end_to_end/test_life.py: test_who_leaves_has_a_grace",
    "max_stored_mb_per_owner": "tests/end_to_end/test_fairness.py: test_an_owner_stores_so_much",
    "show_prompts": "tests/end_to_end/test_requests.py: test_limits_and_prompts_are_as_configured",
}
# A value of the same kind for texts that choose among a few.
OTHER = {
    "[CHECK]": "[LOOK]",
    "auto": "text",
    "once": "read",
    "unavailable": "refused",
    "gateway": "openai",
    "ollama": "gateway",
    "http://localhost:11434": "http://localhost:11435",
    "http://localhost:4000/v1": "http://localhost:4009/v1",
}
# How long an answer takes is in no answer; tests/agents/test_models.py shows it.
TIMED = frozenset({"delay_seconds", "retry_after_seconds"})


def leaves(data: Any, path: Path_ = ()) -> Iterator[tuple[Path_, Any]]:
    if isinstance(data, dict) and data:
        for key, value in data.items():
            yield from leaves(value, (*path, key))
    elif isinstance(data, list) and data:
        for place, value in enumerate(data):
            yield from leaves(value, (*path, place))
    else:
        yield path, data


def data_of(file: str) -> Any:
    return resolve(read(file, (FULL / file).read_bytes()).data)


def changed(value: Any) -> Any:
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1 if value != 0.9 else 0.8
        case None:
            return "writer"
        case str():
            return OTHER.get(value, f"{value} more")
        case _:
            return value


KEYS = [
    (file, path)
    for file in FILES
    for path, _ in leaves(data_of(file))
    if not str(path[0]).startswith("x-")
]


def live(thing: Any, seen: frozenset[int] = frozenset()) -> Any:
    """What an object is made of, as far down as it is ours; its configuration and its files do not count."""
    if id(thing) in seen:
        return "…"
    seen = seen | {id(thing)}
    match thing:
        case dict():
            return {key: live(value, seen) for key, value in thing.items()}
        case list() | tuple() | set() | frozenset():
            return [
                live(value, seen)
                for value in (sorted(thing) if isinstance(thing, set | frozenset) else thing)
            ]
        case types.MethodType():
            return live(thing.__self__, seen)
        case functools.partial():
            return live(thing.args, seen)
        case SecretStr():
            return thing.get_secret_value()
        case Script():
            return "a script"
    module = type(thing).__module__.partition(".")[0]
    if module not in ("crew", "agents", "tools"):
        return (
            repr(thing)
            if isinstance(thing, str | int | float | bool | type(None))
            else type(thing).__name__
        )
    names = (
        [f.name for f in dataclasses.fields(thing)]
        if dataclasses.is_dataclass(thing)
        else vars(thing)
    )
    skipped = {"config", "sources", "revision", "recipe", "warnings", "catalog", "script"}
    return {name: live(getattr(thing, name), seen) for name in names if name not in skipped}


def view_of(crew: Crew) -> Any:
    view = describe_crew(crew, prompts=True)
    return {key: value for key, value in view.items() if key != "limits"}


@functools.cache
def seen_of_full() -> Any:
    crew = load_crew(FULL, environment={})
    return view_of(crew), live(crew)


ON_CALLS = {"yes": Answer(decision="approve"), "no": Answer(decision="deny")}
SAID: dict[bool, list[Any]] = {}


async def transcripts_of_full(dry: bool) -> list[Any]:
    if dry not in SAID:
        crew = load_crew(FULL, provider="scripted", environment={}, dry=dry)
        SAID[dry] = await transcripts(crew)
    return SAID[dry]


def written(folder: Path, file: str, path: Path_) -> Path:
    """The full crew with one value changed."""
    shutil.copytree(FULL, folder)
    data = data_of(file)
    inner = data
    for part in path[:-1]:
        inner = inner[part]
    inner[path[-1]] = changed(inner[path[-1]])
    write_yaml(folder / file, data)
    return folder


async def transcripts(crew: Crew) -> list[Any]:
    """What the scripted crew says to what its script speaks of."""
    out = []
    for first, then in (
        ("our web is slow", "yes"),
        ("broken", "no"),
        ("check it", ""),
        ("audit", ""),
        ("find out", ""),
        ("explain", ""),
        ("which host", "no"),
        ("hello", "nothing"),
    ):
        async with Runs(crew, MemoryStore()) as runs:
            run = await runs.start(Query(first))
            if (await run.outcome()).status == "paused":
                pauses = [event async for event in runs.stored(run.id) if event.type == "pause"]
                question = pauses[-1].metadata.get("question")
                answer = ON_CALLS.get(then, Answer(then)) if question else Answer(then)
                run = await runs.resume(run.id, answer)
                await run.outcome()
            events = [
                json.loads(line.encoded) async for line in runs.follow(run.id) if line is not None
            ]
        out.append(
            [
                (e["type"], e["content"], e["metadata"].get("code"), e["metadata"].get("arguments"))
                for e in events
            ]
        )
        out.append([e["metadata"]["calls"] for e in events if "calls" in e["metadata"]])
    return out


def test_the_full_crew_has_every_key():
    """Of every kind of file."""
    for kind in KINDS:
        schema = schema_of(kind)
        for shape in (schema, *schema.get("$defs", {}).values()):
            missing = [
                key
                for key, field in shape.get("properties", {}).items()
                if "examples" not in field and not field.get("deprecated")
            ]
            assert missing == []


async def test_the_same_crew_looks_the_same(monkeypatch: pytest.MonkeyPatch):
    """Or every change would seem to have an effect."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    crew = load_crew(FULL, environment={})
    assert (view_of(crew), live(crew)) == seen_of_full()
    one, two = [load_crew(FULL, provider="scripted", environment={}) for _ in range(2)]
    assert await transcripts(one) == await transcripts(two)


@pytest.mark.parametrize(
    ("file", "path"),
    KEYS,
    ids=lambda value: value if isinstance(value, str) else ".".join(map(str, value)),
)
async def test_every_key_counts(
    file: str, path: Path_, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Changed, it gives another verdict, another crew, or another transcript."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    folder = written(tmp_path / "full", file, path)
    try:
        crew = load_crew(folder, environment={})
    except ConfigurationError:
        return
    if crew.warnings:
        return
    if path[-1] in SERVED:
        place, _, name = SERVED[str(path[-1])].partition(": ")
        # the test is there, and sets this key
        body = (ROOT / place).read_text().partition(f"def {name}(")[2].partition("\ndef ")[0]
        assert f"{path[-1]}=" in body
    elif file == "script.yaml":
        # tests/crew/engine/test_conversations.py and test_learning.py show what speaks for a helper
        if path[-1] not in TIMED and path[:2] not in (("rules", 0), ("rules", 1), ("rules", 2)):
            dry = path[0] == "results"
            scripted = load_crew(folder, provider="scripted", environment={}, dry=dry)
            assert await transcripts(scripted) != await transcripts_of_full(dry)
    else:
        view, inner = seen_of_full()
        # most keys are seen in the description, which is made sooner
        assert view_of(crew) != view or live(crew) != inner
