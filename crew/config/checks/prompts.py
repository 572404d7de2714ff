"""What an agent's prompt mentions: variables that are unknown, signals that no route knows."""

import re
from collections.abc import Iterator

from agents.config import AgentConfig
from agents.prompt import VARIABLES, parse_output_name, variables
from crew.config.crew_files import CrewFiles
from crew.config.files.document import Document
from crew.config.files.sources import CREW_FILE
from crew.config.keys.crew_file import CrewConfig
from crew.config.problems import Problem
from crew.routing.signals import Signal, normalize

# A bracketed word in capitals, as signals are written.
BRACKETED = re.compile(r"\[[^\[\]\n]{1,60}\]")
PATH = re.compile(r"\S+\.(md|txt|prompt|j2|jinja2?)")
# behind a text without quotes
CUT = re.compile(r"\s+(#\w\S*)")
# a variable of another kind: of a shell, or of Python and crewAI; doubled braces are ours
FOREIGN_VARIABLE = re.compile(r"\$\{[A-Za-z_]\w*\}|(?<![{$])\{[A-Za-z_]\w*\}(?!\})")


def check_prompts(files: CrewFiles, crew: CrewConfig) -> Iterator[Problem]:
    """Yield the problems of every listed agent's prompt and backstory."""
    routes = crew.routing.signals.values()
    signals = frozenset(normalize(signal.signal) for one in routes for signal in one)
    knows_signals = files.is_whole(CREW_FILE, "routing")
    for agent_id in crew.agents:
        agent = files.agents.get(agent_id)
        if agent is None:
            continue
        document = files.agent_files[agent_id]
        if files.is_whole(document.file, "system_prompt", "backstory"):
            yield from _check_texts(agent, document)
        if knows_signals:
            yield from _check_mentioned(agent, document, signals)
            yield from _check_unmentioned(files, crew, agent)


def _check_texts(agent: AgentConfig, document: Document) -> Iterator[Problem]:
    texts = {"system_prompt": agent.system_prompt, "backstory": agent.backstory}
    if not any(text.strip() for text in texts.values()):
        text = f"{agent.id} has neither system_prompt nor backstory"
        yield document.problem((), "no-prompt", text)
    for key, value in texts.items():
        yield from _check_written(document, key, value)
        for name in dict.fromkeys(variables(value)):
            if name not in VARIABLES and parse_output_name(name) is None:
                text = f"{{{{{name}}}}} stays as written; known: {', '.join(VARIABLES)}"
                yield document.problem((key,), "unknown-variable", text)
        for found in dict.fromkeys(FOREIGN_VARIABLE.findall(value)):
            name = found.strip("${}")
            text = f"{found} stays as written; variables of prompts are written {{{{name}}}}"
            near = f"{{{{{name}}}}}" if name in VARIABLES else None
            yield document.problem((key,), "foreign-variable", text, suggestion=near)


def _check_written(document: Document, key: str, value: str) -> Iterator[Problem]:
    """Yield what is no text as its writer has meant it: one that is cut, the name of a file."""
    if PATH.fullmatch(value):
        text = f"the prompt is {value!r} itself: no file is read here; write the text below `|`"
        yield document.problem((key,), "prompt-path", text)
    if not value or (key,) not in document.keys:
        return
    line, column = document.value_at((key,))
    written = document.text.splitlines()[line - 1][column - 1 :]
    # a comment begins with a space; what has none is a number, a channel, a tag
    if written.startswith(value) and (found := CUT.match(written[len(value) :])):
        text = f"the text ends before {found[1]!r}, which is a comment; put quotes around the text"
        yield document.problem((key,), "cut-text", text)


def _check_mentioned(
    agent: AgentConfig, document: Document, signals: frozenset[str]
) -> Iterator[Problem]:
    """Yield words in the prompt that look like signals."""
    if agent.output is not None:
        # no signal is looked for in a typed answer
        return
    for word in dict.fromkeys(BRACKETED.findall(agent.system_prompt)):
        looks_like_signal = word.upper() == word and any(char.isalpha() for char in word)
        if looks_like_signal and normalize(word) not in signals:
            text = f"the prompt mentions {word}, which no route knows"
            yield document.problem(("system_prompt",), "unknown-signal", text)


def _check_unmentioned(files: CrewFiles, crew: CrewConfig, agent: AgentConfig) -> Iterator[Problem]:
    """Yield signals that no text names to the agent."""
    if crew.settings.route_hints != "never" or "signals" in variables(agent.system_prompt):
        return
    prompt = normalize(agent.system_prompt)
    for place, signal in enumerate(crew.routing.signals.get(agent.id, ())):
        if not Signal.of(signal.signal).occurs(prompt):
            text = f"the prompt of {agent.id} never mentions {signal.signal}"
            path = ("routing", "signals", agent.id, place, "signal")
            yield files.crew_document.problem(
                path, "unmentioned-signal", f"{text}, and route_hints is never"
            )
