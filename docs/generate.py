"""The pages that are generated from the code: keys, codes, commands, endpoints, events."""

import asyncio
import json
import tempfile
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from prometheus_client import Metric
from typer.main import get_command

from agents.events import AgentDelta, Compacted, ToolProgressed
from crew import Answer, Crew, MemoryStore, Query, Runs, load_crew
from crew.journal.events import DoneReason, ErrorReason, Event, RunFailed, RunStatus
from crew.journal.outlets import Listener
from crew.journal.query import Decision
from crew.journal.wire import RunEvent, gap, ping, to_run_event
from server.authoring.schemas import schema_of
from server.cli.explain import render_page
from server.cli.main import COMMANDS, build
from server.cli.starting.starter import starter_files
from server.http.bodies import AnswerBody, QueryBody
from server.http.errors import TITLES
from server.http.openapi.document import openapi_document
from server.telemetry.metrics import Metrics
from server.variables import VARIABLES
from tools.calls import CallProgressed, CallStatus, ToolCall
from tools.context import Progress

FILES = {
    "crew": "crew.yaml",
    "agent": "agents/ID.yaml",
    "tools": "tools.yaml",
    "script": "script.yaml",
    "rehearsal": "tests/NAME.yaml",
}
EXIT_CODES = (
    "Exit codes: 0 good, 1 errors, 2 wrong usage, 3 paused, 4 stopped by a limit or by somebody, "
    "130 interrupted by Ctrl-C."
)
# one run of the full starter shows most events
QUERIES = ("our web is slow", "check it", "find out", "explain", "audit")


EVENT_TEXTS = {
    "start": "A segment begins: a run starts, or is resumed.",
    "error": RunFailed.__doc__,
    "gap": gap.__doc__,
    "ping": ping.__doc__,
    "tool_progress": ToolProgressed.__doc__,
    # no listener gets it
    "agent_delta": AgentDelta.__doc__,
    "agent_thinking": "A piece of what a model thinks, with `settings.show_thinking`; not stored.",
}
EVENT_VALUES = {
    "`reason` of `done`": DoneReason,
    "`reason` of `error`": ErrorReason,
    "`status` of `tool_result`": CallStatus,
    "status of a run": RunStatus,
    "`decision` of an answer": Decision,
}


def write_reference(folder: Path) -> None:
    """Write all pages into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        crew = _full_crew(Path(temporary))
        pages = {f"{kind}.md": _keys(kind) for kind in FILES}
        pages |= {
            "problems.md": render_page(),
            "commands.md": _commands(),
            "environment.md": _environment(),
            "metrics.md": _metrics(crew),
            "http.md": _http(),
            "events.md": _events(crew),
        }
    for name, text in pages.items():
        (folder / name).write_text(text.rstrip() + "\n", encoding="utf-8")


def _full_crew(folder: Path) -> Crew:
    for name, text in starter_files("full").items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return load_crew(folder, provider="scripted", environment={})


def _keys(kind: str) -> str:
    """The keys of a kind of file: type, default, what it is for."""
    schema = schema_of(kind)
    parts = [f"# Keys of {FILES[kind]}", *_shape(schema, kind)]
    for name, path in _paths(schema, schema.get("$defs", {}), "").items():
        parts += [f"({kind}-{name.lower()})=", f"## {path}"]
        parts += _shape(schema["$defs"][name], kind)
    return "\n\n".join(parts)


def _paths(shape: dict[str, Any], known: dict[str, Any], path: str) -> dict[str, str]:
    """Of each shape inside, in the order of the file, where it stands."""
    found: dict[str, str] = {}
    for key, field in shape.get("properties", {}).items():
        for name, rest in _references(field):
            if "properties" in known.get(name, {}):
                inner = f"{path}{key}{rest}"
                found.setdefault(name, inner)
                found |= _paths(known[name], known, f"{inner}.") | found
    return found


def _references(field: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The shapes that a field names, and what stands between its key and theirs."""
    if "$ref" in field:
        yield field["$ref"].rpartition("/")[2], ""
    for option in field.get("anyOf", ()):
        yield from _references(option)
    if "items" in field:
        yield from ((name, f"[]{rest}") for name, rest in _references(field["items"]))
    if (value := _value(field)) is not None:
        yield from ((name, f".NAME{rest}") for name, rest in _references(value))


def _value(field: dict[str, Any]) -> dict[str, Any] | None:
    """Of a mapping, what its values are."""
    shapes = [field.get("additionalProperties"), *field.get("patternProperties", {}).values()]
    return next((shape for shape in shapes if isinstance(shape, dict)), None)


def _shape(shape: dict[str, Any], page: str) -> list[str]:
    """What a shape is, and a table of its keys."""
    rows = ["| key | type | default | what |", "| --- | --- | --- | --- |"]
    required = shape.get("required", ())
    for key, field in shape["properties"].items():
        if not field.get("deprecated"):
            default = "required" if key in required else _default(field)
            rows.append(f"| `{key}` | {_type(field, page)} | {default} | {_cell(field)} |")
    return [str(shape.get("description", "")), "\n".join(rows)]


def _cell(field: dict[str, Any]) -> str:
    return str(field.get("description", "")).replace("\n", " ").replace("|", "\\|")


def _default(field: dict[str, Any]) -> str:
    if field.get("default") in (None, "", [], {}) or "$ref" in field:
        return ""
    return f"`{json.dumps(field['default'], ensure_ascii=False)}`"


def _type(field: dict[str, Any], page: str) -> str:
    if "$ref" in field:
        name = field["$ref"].rpartition("/")[2]
        return "any" if name == "JsonValue" else f"[mapping](#{page}-{name.lower()})"
    if "const" in field:
        return f"`{field['const']}`"
    if "enum" in field:
        return " or ".join(f"`{value}`" for value in field["enum"])
    if "anyOf" in field:
        options = [_type(option, page) for option in field["anyOf"] if option.get("type") != "null"]
        return " or ".join(dict.fromkeys(options))
    types = field.get("type", "any")
    kind = types if isinstance(types, str) else types[0]
    if kind == "array":
        return f"list of {_type(field.get('items', {}), page)}"
    if kind == "object":
        value = _value(field)
        return "mapping" if value is None else f"mapping to {_type(value, page)}"
    return f"{kind}{_range(field)}"


def _range(field: dict[str, Any]) -> str:
    names = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤"}
    bounds = [f"{sign} {_number(field[name])}" for name, sign in names.items() if name in field]
    return f" ({', '.join(bounds)})" if bounds else ""


def _number(value: float) -> str:
    return f"{int(value):,}" if value == int(value) else f"{value:g}"


def _commands() -> str:
    """What each command prints with --help, as a page."""
    group = get_command(build(COMMANDS))
    assert isinstance(group, typer.core.TyperGroup)
    parts = ["# Commands", EXIT_CODES]
    for name, one in group.commands.items():
        text = (one.help or "").replace("[bold]", "`").replace("[/]", "`")
        parts += [f"## crew {name}", text]
        rows = ["| argument | what | unless given |", "| --- | --- | --- |"]
        for parameter in one.params:
            label = " / ".join((*parameter.opts, *parameter.secondary_opts))
            if parameter.param_type_name == "argument":
                label = str(parameter.metavar or label).upper()
            if label != "--help":
                rows.append(f"| `{label}` | {_help(parameter)} | {_argument_default(parameter)} |")
        parts.append("\n".join(rows))
    return "\n\n".join(parts)


def _help(parameter: Any) -> str:
    """What a parameter is for, with its choices."""
    listed = " or ".join(f"`{choice}`" for choice in _choices(parameter.type_descriptor.annotation))
    return " ".join(filter(None, (getattr(parameter, "help", ""), listed)))


def _choices(annotation: Any) -> tuple[Any, ...]:
    """The values of a Literal, also of one that may be None."""
    if typing.get_origin(annotation) is typing.Literal:
        return typing.get_args(annotation)
    return tuple(choice for part in typing.get_args(annotation) for choice in _choices(part))


def _argument_default(parameter: Any) -> str:
    if parameter.required:
        return "required"
    default = parameter.default
    return "" if default in (None, False) or callable(default) else f"`{default}`"


def _environment() -> str:
    rows = [f"| `{name}` | {text} |" for name, text in VARIABLES.items()]
    lines = ["# Environment variables", "", "| variable | what |", "| --- | --- |", *rows]
    more = (
        "`crew serve`, `worker`, `run` and `runs` refuse any other variable that begins with\n"
        "`CREW_`, with the nearest known name. `OPENAI_API_KEY` and `OPENAI_BASE_URL` are of the\n"
        "provider `openai`."
    )
    return "\n".join([*lines, "", more])


def _metrics(crew: Crew) -> str:
    metrics = Metrics(crew)
    metrics.set_workers(0)
    rows = ["| metric | type | labels | what |", "| --- | --- | --- | --- |"]
    for metric in metrics.registry.collect():
        if metric.name.startswith("crew_"):
            name = f"{metric.name}_total" if metric.type == "counter" else metric.name
            labels = ", ".join(f"`{label}`" for label in _labels(metric))
            rows.append(f"| `{name}` | {metric.type} | {labels} | {metric.documentation} |")
    text = "`crew_workers` and `crew_runs_waiting` are there with PostgreSQL only."
    return "\n".join(["# Metrics", "", text, "", *rows])


def _labels(metric: Metric) -> list[str]:
    found = {label for sample in metric.samples for label in sample.labels}
    return sorted(found - {"le"})


def _http() -> str:
    """What can be asked, by address; the bodies of requests, and the errors."""
    document = openapi_document()
    parts = ["# Endpoints", "`GET /openapi.json` has all of this for programs."]
    for path, item in document["paths"].items():
        for method, operation in item.items():
            if method != "parameters":
                parts += [f"## {method.upper()} {path}", *_operation(operation, document)]
    nested: dict[str, Any] = {}
    for body in (QueryBody, AnswerBody):
        schema = body.model_json_schema()
        parts += [f"## {body.__name__}", *_shape(schema, "http")]
        nested |= schema.get("$defs", {})
    for name, shape in nested.items():
        parts += [f"(http-{name.lower()})=", f"## {name}", *_shape(shape, "http")]
    rows = ["| status | title |", "| --- | --- |"]
    rows += [f"| {status} | {title} |" for status, title in TITLES.items()]
    text = (
        "An error is a problem document (RFC 9457, `application/problem+json`) with `title`,\n"
        "`status`, `detail`, and for a 400 `errors`: each `field` with its `message`."
    )
    return "\n\n".join([*parts, "## Errors", text, "\n".join(rows)])


def _operation(operation: dict[str, Any], document: dict[str, Any]) -> Iterator[str]:
    """What an operation does, its parameters, and what it answers."""
    yield from filter(None, (operation.get("summary"), operation.get("description")))
    rows = []
    for given in operation.get("parameters", ()):
        one = given
        if "$ref" in given:
            one = document["components"]["parameters"][given["$ref"].rpartition("/")[2]]
        text = " ".join(str(one.get("description", "")).split()).replace("|", "\\|")
        rows.append(f"| `{one['name']}` | {one['in']} | {text} |")
    if rows:
        yield "\n".join(["| parameter | in | |", "| --- | --- | --- |", *rows])
    body = operation.get("requestBody", {}).get("content", {})
    answers = ", ".join(f"`{status}`" for status in operation["responses"])
    takes = f"Takes {', '.join(f'`{kind}`' for kind in body)}; answers" if body else "Answers"
    yield f"{takes} {answers}."


def _events(crew: Crew) -> str:
    """One event of each type, as runs of the full starter publish it."""
    texts = {kind: (text or "").split("\n\n")[0] for kind, text in EVENT_TEXTS.items()}
    texts["compacted"] = (Compacted.__doc__ or "").split("\n\n")[0]

    def note(run_id: str, event: Event) -> None:
        made = to_run_event(event, run_id, 1, "")
        if made is not None:
            texts.setdefault(made.type, (type(event).__doc__ or "").split("\n\n")[0])

    examples = asyncio.run(_examples(crew, note))
    text = (
        "Each event is one JSON object: `type`, `agent` (a display name), `content`, `timestamp`\n"
        "(RFC 3339, UTC) and `metadata`. All metadata has `run_id`, and for stored events `seq`.\n"
        "These were published by scripted runs of the crew that `crew init --full` writes."
    )
    parts = ["# Events", text]
    for kind, event in examples.items():
        document = json.dumps(event, ensure_ascii=False, indent=2)
        parts += [f"## {kind}", texts[kind], f"```json\n{document}\n```"]
    rows = ["| field | values |", "| --- | --- |"]
    for name, values in EVENT_VALUES.items():
        rows.append(f"| {name} | {', '.join(f'`{value}`' for value in typing.get_args(values))} |")
    return "\n\n".join([*parts, "## Values", "\n".join(rows)])


async def _examples(crew: Crew, note: Listener) -> dict[str, Any]:
    found: dict[str, RunEvent] = {}
    async with Runs(crew, MemoryStore(), (note,)) as runs:
        for text in QUERIES:
            run = await runs.start(Query(text, deltas=True))
            while True:
                async for event in runs.follow(run.id, run.before):
                    if event is not None:
                        found.setdefault(event.type, event)
                row = await run.outcome()
                if row.status != "paused":
                    break
                answer = Answer(decision="approve", deltas=True)
                run = await runs.resume(run.id, answer)
    message = "settings.timeout_seconds = 300 is over"
    failed = RunFailed("timeout", "timeout", message, None, "system", False, 300.0)
    error = to_run_event(failed, row.run_id, row.last_seq, row.started_at)
    progress = CallProgressed(ToolCall("call_1", "look_up"), Progress(2, 5, "two of five notes"))
    told = ToolProgressed("desk", "Dana", None, progress)
    progressed = to_run_event(told, row.run_id, None, row.started_at)
    shorter = Compacted("desk", "Dana", None, 9, "", 2400, 310)
    compacted = to_run_event(shorter, row.run_id, 12, row.started_at)
    others = (
        error,
        progressed,
        compacted,
        gap(row, 1, row.last_seq),
        ping(row.run_id, row.started_at),
    )
    for event in others:
        if event is not None:
            found[event.type] = event
    return {kind: json.loads(found[kind].encoded) for kind in sorted(found)}
