"""Typed answers: their keys, the rules that look at them, and what reads their fields."""

from collections.abc import Iterator

from agents.config import AgentConfig
from agents.context.shape import ContextConfig, OutputsBlockConfig
from agents.outputs.schema import Field
from agents.prompt import parse_output_name, variables
from crew.config.checks.references import known_agents, unknown_name
from crew.config.crew_files import CrewFiles
from crew.config.files.document import Document, YamlPath
from crew.config.files.sources import CREW_FILE
from crew.config.keys.crew_file import CrewConfig
from crew.config.outputs import ROUTES, make_routes, problems_of_condition, vocabulary_of
from crew.config.problems import Problem
from crew.routing.coverage import MAX_CASES, cover

# of an agent; without `output` they have no effect
OUTPUT_KEYS = ("output_retries", "on_invalid", "output_text")


def check_outputs(files: CrewFiles, crew: CrewConfig) -> Iterator[Problem]:
    """Yield what is wrong with typed answers, each by itself."""
    used: set[str] = set()
    for agent_id in crew.agents:
        agent = files.agents.get(agent_id)
        if agent is None:
            continue
        document = files.agent_files[agent_id]
        yield from _check_keys(files, crew, agent, document)
        if (schema := files.outputs.get(agent_id)) is not None:
            used |= schema.vocabularies
            yield from _check_schema(files, crew, agent, schema)
        yield from _check_prompts(files, crew, agent, document)
        yield from _check_blocks(files, crew, document, agent.context)
    yield from _check_blocks(files, crew, files.crew_document, crew.context)
    for agent_id in crew.routing.outputs:
        yield from _check_routes(files, crew, agent_id)
    described = {one.id for one in files.agents.values() if one.output is not None}
    # a wrong name is reported where it stands
    if files.outputs.keys() == described and used <= crew.vocabularies.keys():
        for name in crew.vocabularies:
            if name not in used:
                text = f"{name} has no effect: no output names this vocabulary"
                path = ("vocabularies", name)
                yield files.crew_document.problem(path, "ignored-key", text, key=True)


def _check_keys(
    files: CrewFiles, crew: CrewConfig, agent: AgentConfig, document: Document
) -> Iterator[Problem]:
    if agent.cache is not None and files.is_whole(document.file, "output", "tools"):
        wrong = {"no output": agent.output is None, "tools": bool(agent.tool_names)}
        for why in [one for one, is_so in wrong.items() if is_so]:
            text = f"only right typed answers are used again, without tools; {agent.id} has {why}"
            yield document.problem(("cache",), "cache-agent", text, key=True)
    if agent.output is not None or agent.plan is not None:
        if crew.routing.signals.get(agent.id):
            text = f"{agent.id} has a typed answer, in which no signal is looked for; an enum field"
            text = f"{text} of an output says where to go, and routing.outputs leads there"
            path = ("routing", "signals", agent.id)
            yield files.crew_document.problem(path, "output-signals", text, key=True)
        return
    if files.is_whole(document.file, "output", "plan"):
        for key in OUTPUT_KEYS:
            if key in agent.model_fields_set:
                text = f"{key} has no effect: {agent.id} has no output"
                yield document.problem((key,), "ignored-key", text, key=True)


def _check_schema(
    files: CrewFiles, crew: CrewConfig, agent: AgentConfig, schema: Field
) -> Iterator[Problem]:
    document = files.agent_files[agent.id]
    if (name := agent.output_text) is not None:
        texts = [one for one, field in schema.properties.items() if field.kind == "string"]
        if name not in texts:
            near = document.near(name, texts)
            listed = f"its texts are {', '.join(texts)}" if texts else "it has no texts"
            text = f"the output of {agent.id} has no text {name!r}; {listed}"
            yield document.problem(("output_text",), "output-text", text, suggestion=near)
    for path, field in _fields(schema, ("output",)):
        word, known = field.vocabulary, files.names_in(CREW_FILE, ("vocabularies",))
        if word is None or known is None or word in known:
            continue
        text = f"there is no vocabulary {word!r}"
        near = document.near(word, known)
        yield document.problem((*path, "vocabulary"), "vocabulary", text, suggestion=near)


def _fields(field: Field, path: YamlPath) -> Iterator[tuple[YamlPath, Field]]:
    yield path, field
    if field.items is not None:
        yield from _fields(field.items, (*path, "items"))
    for name, inner in field.properties.items():
        yield from _fields(inner, (*path, "properties", name))


def _check_prompts(
    files: CrewFiles, crew: CrewConfig, agent: AgentConfig, document: Document
) -> Iterator[Problem]:
    """Yield values of typed answers that a prompt names, and that may not stand there."""
    for key in ("system_prompt", "backstory"):
        for variable in dict.fromkeys(variables(getattr(agent, key))):
            named = parse_output_name(variable)
            if named is not None:
                yield from _check_value(files, crew, document, (key,), variable, *named)


def _check_value(
    files: CrewFiles,
    crew: CrewConfig,
    document: Document,
    path: YamlPath,
    variable: str,
    agent_id: str,
    name: str,
) -> Iterator[Problem]:
    schema, written = files.outputs.get(agent_id), f"{{{{{variable}}}}}"
    if schema is None:
        if agent_id in files.agents and files.agents[agent_id].output is not None:
            # its schema is wrong, and was reported
            return
        known = [one for one in crew.agents if one in files.outputs]
        why = f"{agent_id} has no output" if agent_id in files.agents else f"no agent {agent_id!r}"
        near = document.near(agent_id, known)
        yield document.problem(path, "output-field", f"{written}: {why}", suggestion=near)
        return
    field = schema.properties.get(name)
    if field is None:
        near = document.near(name, schema.properties)
        text = f"{written}: the output of {agent_id} has no field {name!r}"
        text = text if near else f"{text}; it has {', '.join(schema.properties)}"
        yield document.problem(path, "output-field", text, suggestion=near)
        return
    words = [one for name, one in files.vocabularies.items() if name in field.vocabularies]
    may_hold_any = field.is_free_text or any(one.on_unknown == "keep" for one in words)
    if may_hold_any or (field.items is not None and field.items.kind == "array"):
        text = f"{written}: any text of a model may stand in {name}, and a prompt is instructions;"
        text = f"{text} show it by the context block outputs, which is data"
        yield document.problem(path, "output-field", text)


def _check_blocks(
    files: CrewFiles, crew: CrewConfig, document: Document, context: ContextConfig | None
) -> Iterator[Problem]:
    """Yield agents that a block `outputs` names, and that have no output."""
    for place, block in enumerate((context.blocks or ()) if context is not None else ()):
        if not isinstance(block, OutputsBlockConfig):
            continue
        for number, name in enumerate(block.of):
            path = ("context", "blocks", place, "of", number)
            known = known_agents(files, crew)
            if name not in known:
                yield unknown_name(document, path, "agent", name, known)
            elif name in files.agents and files.agents[name].output is None:
                text = f"{name} has no output, so there is nothing to show"
                yield document.problem(path, "output-agent", text)


def _check_routes(files: CrewFiles, crew: CrewConfig, agent_id: str) -> Iterator[Problem]:
    """Yield what is wrong with the rules of one agent."""
    document, agent = files.crew_document, files.agents.get(agent_id)
    if agent is not None and agent.output is None:
        if files.is_whole(files.agent_files[agent_id].file, "output"):
            text = f"{agent_id} has no output, on which these rules could look"
            yield document.problem((*ROUTES, agent_id), "output-agent", text, key=True)
        return
    schema = files.outputs.get(agent_id)
    if schema is None:
        return
    is_right = files.is_whole(CREW_FILE, "routing", "vocabularies")
    for place, route in enumerate(crew.routing.outputs[agent_id]):
        for name, given in route.when.items():
            path = (*ROUTES, agent_id, place, "when", name)
            for problem in _check_condition(files, document, schema, path, name, given):
                is_right = False
                yield problem
    if is_right and schema.vocabularies <= files.vocabularies.keys():
        yield from _check_coverage(files, crew, agent_id, schema)


def _check_condition(
    files: CrewFiles, document: Document, schema: Field, path: YamlPath, name: str, given: object
) -> Iterator[Problem]:
    field = schema.properties.get(name)
    if field is None:
        near = document.near(name, schema.properties)
        listed = "" if near else f"; it has {', '.join(schema.properties)}"
        text = f"the output has no field {name!r}{listed}"
        yield document.problem(path, "output-field", text, key=True, suggestion=near)
        return
    words = vocabulary_of(field, files.vocabularies)
    if field.vocabularies and words is None:
        # it cannot be read, which was reported
        return
    for code, inner, text, suggestion in problems_of_condition(given, field, words):
        yield document.problem((*path, *inner), code, text, suggestion=suggestion)


def _check_coverage(
    files: CrewFiles, crew: CrewConfig, agent_id: str, schema: Field
) -> Iterator[Problem]:
    """Yield rules that no answer takes."""
    document = files.crew_document
    given = crew.routing.outputs[agent_id]
    routes = make_routes(agent_id, given, schema, files.vocabularies, document)
    found = cover(schema, routes, files.vocabularies)
    if found is None:
        text = f"the rules of {agent_id} have more than {MAX_CASES:,} cases: whether each can be"
        text = f"{text} taken is not checked"
        yield document.problem((*ROUTES, agent_id), "output-unchecked", text, key=True)
        return
    for place, earlier in found.covered.items():
        related = [
            document.related((*ROUTES, agent_id, one), "this earlier rule fits") for one in earlier
        ]
        match [str(one.line) for one in related]:
            case []:
                why = "no answer fits all of its conditions"
            case [line]:
                why = f"the one in line {line} fits whenever it does"
            case lines:
                why = f"whenever it fits, one of those in lines {', '.join(lines)} does"
        text, path = f"this rule is never taken: {why}", (*ROUTES, agent_id, place)
        yield document.problem(path, "output-covered", text, related=related)
