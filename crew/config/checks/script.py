"""The script: names and signals that nothing has, arguments that a tool refuses."""

from collections.abc import Iterator, Sequence

from agents.outputs.answers import check_answer
from agents.providers.scripted import PLACEHOLDER, SCRIPT_FILE, Rule, ScriptedCall
from crew.config.checks.agents import unlisted_prefixes
from crew.config.checks.prompts import BRACKETED
from crew.config.checks.references import known_agents, unknown_name
from crew.config.crew_files import CrewFiles
from crew.config.files.document import Document, YamlPath
from crew.config.files.sources import CREW_FILE, TOOLS_FILE
from crew.config.keys.crew_file import CrewConfig
from crew.config.keys.models import models_of
from crew.config.problems import Problem
from crew.routing.signals import normalize
from tools.errors import ArgumentsError
from tools.search import TOOL_SEARCH
from tools.toolbox import Toolbox


def check_script(files: CrewFiles, crew: CrewConfig, tools: Toolbox) -> Iterator[Problem]:
    """Yield the problems of script.yaml, and that it is missing where an agent needs it."""
    document = files.documents.get(SCRIPT_FILE)
    if document is None:
        if not any(problem.file == SCRIPT_FILE for problem in files.problems):
            yield from _check_missing(files, crew)
        return
    for name in files.script.results if files.script is not None else ():
        yield from _check_tool(document, files, tools, name, ("results", name), key=True)
    rules = files.script.rules if files.script is not None else ()
    for place, rule in enumerate(rules):
        yield from _check_agents(document, files, crew, rule, place)
        for number, call in enumerate(rule.calls):
            yield from _check_call(document, files, tools, call, (place, number))
        for name in rule.after or ():
            yield from _check_tool(document, files, tools, name, ("rules", place, "after"))
        for name in dict.fromkeys(tool for _, tool in PLACEHOLDER.findall(rule.say) if tool):
            yield from _check_tool(document, files, tools, name, ("rules", place, "say"))
        yield from _check_signals(document, files, crew, rule, place)
        yield from _check_output(document, files, rule, place)
        if files.is_whole(SCRIPT_FILE, "rules"):
            yield from _check_hidden(document, rules, place, crew)
            yield from _check_loop(document, rules, place, crew)


def _check_hidden(
    document: Document, rules: Sequence[Rule], place: int, crew: CrewConfig
) -> Iterator[Problem]:
    """Yield a rule that never speaks, since earlier ones speak whenever it could."""
    rule = rules[place]
    speakers = rule.agent or crew.agents if rule.helper is None else [rule.helper]
    hiding = [_hides(rules[:place], rule, speaker) for speaker in speakers]
    if speakers and None not in hiding:
        first = min(one for one in hiding if one is not None)
        hiding_rule = document.related(("rules", first), "this rule fits whenever it does")
        text = f"this rule never speaks: the one in line {hiding_rule.line} fits whenever it does"
        yield document.problem(("rules", place), "hidden-rule", text, related=[hiding_rule])


def _check_loop(
    document: Document, rules: Sequence[Rule], place: int, crew: CrewConfig
) -> Iterator[Problem]:
    """Yield a rule that speaks after a call, where the one that makes the call is before it."""
    rule = rules[place]
    for first, caller in enumerate(rules[:place] if rule.after else ()):
        called = {one.tool for one in caller.calls} & set(rule.after or ())
        speakers = [
            one
            for one in rule.agent or crew.agents
            if one in (caller.agent or crew.agents) and not _tells_calls(rules[:first], one)
        ]
        if called and speakers and not _tells_calls([caller], speakers[0]):
            line = document.related(("rules", first), "it fits again after its own call")
            text = f"after {min(called)} the rule in line {line.line} speaks again, which calls it"
            text = f"{text}: put this rule above it"
            yield document.problem(("rules", place, "after"), "script-loop", text, related=[line])
            return


def _tells_calls(rules: Sequence[Rule], speaker: str) -> bool:
    """Return whether a rule of a speaker may fit otherwise after a call than before it."""
    ones = (one for one in rules if one.helper is None and speaker in (one.agent or [speaker]))
    return any(one.after or one.turn or one.seen or one.matches for one in ones)


def _hides(earlier: Sequence[Rule], rule: Rule, speaker: str) -> int | None:
    """Return the place of an earlier rule that fits wherever a rule does, for one speaker."""
    return next((place for place, one in enumerate(earlier) if one.covers(rule, speaker)), None)


def _check_missing(files: CrewFiles, crew: CrewConfig) -> Iterator[Problem]:
    for agent_id in crew.agents:
        agent = files.agents.get(agent_id)
        if agent is None:
            continue
        for model in models_of(agent, crew.models):
            if model.config.provider == "scripted":
                text = f"provider scripted needs a {SCRIPT_FILE} beside crew.yaml"
                yield files.agent_files[agent_id].problem(model.place, "no-script", text)


def _check_agents(
    document: Document, files: CrewFiles, crew: CrewConfig, rule: Rule, place: int
) -> Iterator[Problem]:
    known = known_agents(files, crew)
    for name in rule.agent or ():
        if name not in known:
            yield unknown_name(document, ("rules", place, "agent"), "agent", name, known)


def _check_tool(
    document: Document,
    files: CrewFiles,
    tools: Toolbox,
    name: str,
    path: YamlPath,
    *,
    key: bool = False,
) -> Iterator[Problem]:
    """Yield a name that no tool has, or may have."""
    searches = files.crew is not None and files.crew.settings.tool_search != "never"
    if name == TOOL_SEARCH and searches:
        # which agents have it, that have many tools, is not known here
        return
    named = (files.names_in(CREW_FILE, ("tools",)), files.names_in(TOOLS_FILE, ("tools",)))
    if name in tools.by_name or None in named:
        return
    if any(name in names for names in named if names is not None):
        return
    if not name.startswith(unlisted_prefixes(files, tools.names)):
        text = f"the script names {name}, and there is no such tool"
        near = document.near(name, tools.by_name)
        yield document.problem(path, "script-tool", text, suggestion=near, key=key)


def _check_call(
    document: Document,
    files: CrewFiles,
    tools: Toolbox,
    call: ScriptedCall,
    place: tuple[int, int],
) -> Iterator[Problem]:
    """Yield a warning for a wrong call of the script: it may be there on purpose."""
    path = ("rules", place[0], "calls", place[1])
    tool = tools.by_name.get(call.tool)
    if tool is None:
        yield from _check_tool(document, files, tools, call.tool, path)
        return
    if any(path == written[: len(path)] for written in files.changed.get(SCRIPT_FILE, ())):
        # a part of the call is wrong by itself
        return
    try:
        tool.check(dict(call.arguments))
    except ArgumentsError as error:
        text = f"{call.tool} refuses these arguments: {error}"
        yield document.problem(path, "script-arguments", text)
    except Exception:  # noqa: BLE001 # a validator of the tool's own types fails: no mistake here
        return


def _check_output(
    document: Document, files: CrewFiles, rule: Rule, place: int
) -> Iterator[Problem]:
    """Yield a scripted answer that the schema of a typed one refuses."""
    if rule.calls or rule.fail is not None or PLACEHOLDER.search(rule.say):
        return
    for name in rule.agent or ():
        schema = files.outputs.get(name)
        # where a wrong answer leads somewhere, it may be there on purpose
        if schema is None or files.agents[name].on_invalid is not None:
            continue
        if schema.vocabularies <= files.vocabularies.keys():
            checked = check_answer(rule.say, schema, files.vocabularies)
            if checked.problems:
                text = f"the output of {name} refuses this answer: {'; '.join(checked.problems)}"
                yield document.problem(("rules", place, "say"), "script-output", text)


def _check_signals(
    document: Document, files: CrewFiles, crew: CrewConfig, rule: Rule, place: int
) -> Iterator[Problem]:
    """Yield bracketed words that look like signals of the rule's agents, and are none."""
    if not files.is_whole(CREW_FILE, "routing"):
        return
    if rule.agent and all(name in files.outputs for name in rule.agent):
        # no signal is looked for in a typed answer
        return
    known = set()
    for agent in rule.agent or crew.routing.signals:
        known |= {normalize(one.signal) for one in crew.routing.signals.get(agent, ())}
    for word in dict.fromkeys(BRACKETED.findall(rule.say)):
        looks_like_signal = word.upper() == word and any(char.isalpha() for char in word)
        if looks_like_signal and normalize(word) not in known:
            who = ", ".join(rule.agent) if rule.agent else "any agent"
            text = f"the script says {word}, which is no signal of {who}"
            yield document.problem(("rules", place, "say"), "script-signal", text)
