"""What an editor asks about the files of a crew: pure, with lines and columns that count from 1."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from agents.prompt import VARIABLE as PLACEHOLDER
from agents.prompt import VARIABLES, parse_output_name
from crew.config.explanations import explanations
from crew.config.files.environment import VARIABLE
from crew.config.fixes import certain_edits, fix
from crew.config.problems import Problem
from server.authoring.folders import CrewView
from server.authoring.names import Named, names_of
from server.authoring.places import QUOTES, token_at
from server.authoring.shapes import explained, file_kind

NEW_AGENT = "id: {0}\nname: {0}\nrole: {0}\nsystem_prompt: |\n  You are {0}.\n"
AGENT_MISSING = re.compile(r"agents/(?P<id>[A-Za-z0-9_-]+)\.yaml")
# variables that no key gives
GIVEN = {
    "tools": "the agent's tools, a line each",
    "signals": "the signals that the agent may say, with what each leads to",
    "today": "the date of the run, in `settings.timezone`",
}
MAX_SHOWN = 300


@dataclass(frozen=True, slots=True)
class TextEdit:
    """A piece of a file, and what replaces it: on one line."""

    file: str
    line: int
    column: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Action:
    """A change that is offered for a place."""

    title: str
    edits: Sequence[TextEdit] = ()
    # files that come, with their texts; or that are written anew as a whole
    files: Mapping[str, str] | None = None
    # the problem that it mends
    problem: Problem | None = None


def hover(view: CrewView, file: str, line: int, column: int) -> str:
    """Return what stands at a place, and what is wrong there, as Markdown; "": nothing is known."""
    problems = problems_at(view, file, line, column)
    wrong = [f"`{one.code}`: {explanation(one.code)}" for one in problems]
    return "\n\n---\n\n".join(filter(None, [_meaning(view, file, line, column), *wrong]))


def problems_at(view: CrewView, file: str, line: int, column: int) -> list[Problem]:
    """Return the problems of the word at a place."""
    document = view.document(file)
    lines = document.text.splitlines() if document is not None else []
    text = lines[line - 1] if line <= len(lines) else ""
    return [
        one
        for one in view.problems_of(file)
        if one.line == line and one.column <= column <= end_of_word(text, one.column)
    ]


def end_of_word(line: str, column: int) -> int:
    """Return the column behind the word that begins at a column."""
    rest = line[column - 1 :]
    if rest[:1] in QUOTES:
        close = rest.find(rest[0], 1)
        return column + close + 1 if close > 0 else column + len(rest)
    word = len(rest) - len(rest.lstrip("".join(set(rest) - set(" \t,:}]#"))))
    return column + max(1, word)


def _meaning(view: CrewView, file: str, line: int, column: int) -> str:
    document, kind = view.document(file), file_kind(file)
    if document is None or kind is None:
        return ""
    text = document.text.splitlines()[line - 1] if line <= len(document.text.splitlines()) else ""
    for found in VARIABLE.finditer(text):
        if found.start() < column <= found.end() + 1:
            # never its value
            state = "set" if found[1] in os.environ else "not set"
            return f"`{found[1]}` is {state} in the environment of the editor"
    for found in PLACEHOLDER.finditer(text):
        if found.start() < column <= found.end() + 1:
            return variable_text(view, file, found[1])
    named = name_at(view, file, line, column)
    token = token_at(document, line, column)
    if named is not None and (token is None or not token.is_key or named.kind != "agent"):
        return described(view, named)
    if token is not None and token.is_key:
        key = f"**{token.text}**"
        meaning = explained(kind, token.path)
        if meaning:
            return f"{key}\n\n{meaning}"
    return described(view, named) if named is not None else ""


def variable_text(view: CrewView, file: str, name: str) -> str:
    """Return where the value of a prompt's `{{variable}}` comes from, as Markdown."""
    head, document = f"`{{{{{name}}}}}`", view.document(file)
    if (output := parse_output_name(name)) is not None:
        return f"{head}: the field `{output[1]}` of the typed answer of {output[0]}, in this run"
    if name not in VARIABLES:
        return f"{head} stays as written; known: {', '.join(VARIABLES)}"
    if name in GIVEN:
        return f"{head}: {GIVEN[name]}"
    data = document.data if document is not None else None
    value = data.get(name) if isinstance(data, dict) else None
    if value in (None, "") and view.checked.files.crew is not None:
        value = view.checked.files.crew.settings.model_dump().get(name)
    shown = " ".join(str(value or "").split())[:MAX_SHOWN]
    return f"{head}: {shown}" if shown else f"{head} is empty: no key `{name}` is given"


def described(view: CrewView, named: Named) -> str:
    """Return what a name stands for, as Markdown."""
    files = view.checked.files
    match named.kind:
        case "agent" if named.name in files.agents:
            agent = files.agents[named.name]
            return f"agent **{agent.id}**: {agent.name}, {agent.role}"
        case "signal" if files.crew is not None:
            ways = [
                f"{agent} → {one.target or 'the end'}"
                for agent, found in files.crew.routing.signals.items()
                for one in found
                if one.signal == named.name
            ]
            return f"signal `{named.name}`: {', '.join(ways)}"
        case "tool" if named.name in files.tools:
            config = files.tools[named.name]
            text = " ".join(str(getattr(config, "description", "") or "").split())
            return f"tool **{named.name}** ({config.kind}): {text}".rstrip(": ")
        case "group" if files.crew is not None:
            group = files.crew.routing.parallel_groups[named.name]
            return f"group **{named.name}**: {', '.join(group.agents)} → {group.next_agent}"
    return f"{named.kind} **{named.name}**"


def name_at(view: CrewView, file: str, line: int, column: int) -> Named | None:
    """Return the name at a place."""
    document = view.document(file)
    names = names_of(view, {file: document} if document is not None else {})
    found = [one for one in names if one.line == line and one.column <= column <= one.end]
    return min(found, key=lambda one: len(one.name), default=None)


def definitions(view: CrewView, named: Named) -> list[Named]:
    """Return where a name is made."""
    return [one for one in references(view, named) if one.is_made]


def references(view: CrewView, named: Named) -> list[Named]:
    """Return all places of a name, each once."""
    found = [one for one in names_of(view) if (one.kind, one.name) == (named.kind, named.name)]
    by_place = {(one.file, one.line, one.column): one for one in found if not one.is_made}
    by_place |= {(one.file, one.line, one.column): one for one in found if one.is_made}
    return list(by_place.values())


def symbols(view: CrewView) -> Iterator[Named]:
    """Yield what is made in the files."""
    yield from (one for one in names_of(view, view.own_documents) if one.is_made)


def actions(view: CrewView, file: str, first: int, last: int) -> Iterator[Action]:
    """Yield the changes that are offered for some lines of a file."""
    here = [one for one in view.problems_of(file) if first <= one.line <= last]
    for edit in certain_edits(view.sources):
        if edit.file == file and first <= edit.line <= last:
            change = TextEdit(file, edit.line, edit.column, edit.column + len(edit.old), edit.new)
            found = problems_at(view, file, edit.line, edit.column)
            problem = found[0] if found else None
            yield Action(f"Write {edit.new.strip()}", (change,), None, problem)
    for problem in here:
        if problem.code == "missing-agent":
            yield from _new_agent(problem)
        if problem.severity == "warning":
            document = view.document(file)
            lines = document.text.splitlines() if document is not None else []
            if problem.line <= len(lines) and "# crew:" not in lines[problem.line - 1]:
                end = len(lines[problem.line - 1]) + 1
                note = f"  # crew: allow {problem.code}"
                change = TextEdit(file, problem.line, end, end, note)
                yield Action(f"Allow {problem.code} here", (change,), None, problem)
    fixed = fix(view.sources)
    changed = {
        name: content.decode("utf-8-sig")
        for name, content in fixed.files.items()
        if content != view.sources.files[name]
    }
    if changed:
        yield Action("Fix all that is certain, in all files", (), changed)


def _new_agent(problem: Problem) -> Iterator[Action]:
    found = AGENT_MISSING.search(problem.message) or re.search(
        r"agent '?(?P<id>[A-Za-z0-9_-]+)", problem.message
    )
    if found is not None:
        name = f"agents/{found['id']}.yaml"
        yield Action(f"Create {name}", (), {name: NEW_AGENT.format(found["id"])}, problem)


def explanation(code: str) -> str:
    """Return what a code means and what to do; "" where it is none."""
    found = explanations().get(code)
    return f"{found.means}\n\n{found.remedy}" if found is not None else ""
