"""Typed answers, as the files describe them: schemas, vocabularies, and conditions on fields."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agents.config import AgentConfig
from agents.outputs.schema import KINDS, NUMBERS, Field, SchemaError, parse_schema
from agents.outputs.vocabularies import (
    AliasTwiceError,
    Vocabulary,
    VocabularyError,
    read_vocabulary,
)
from crew.config.files.document import Document, YamlPath
from crew.config.files.sources import MAX_VOCABULARY_BYTES, why_not_read
from crew.config.files.yaml_reader import read_text
from crew.config.keys.crew_file import CrewConfig
from crew.config.keys.outputs import OutputConditionConfig, OutputRouteConfig
from crew.config.problems import Problem, ProblemCode
from crew.routing.outputs import OutputCondition, OutputRoute, value_text
from tools.text.folding import fold
from tools.text.suggest import nearest

ROUTES: YamlPath = ("routing", "outputs")
# names of a larger vocabulary are not compared
MAX_NEAR = 2000
# values that a message lists
MAX_LISTED = 20
# of conditions, in words
CONDITIONS = "{not, min, max, min_items, max_items, has, lacks, absent}"
# keys of conditions, and for which kinds of fields they are
FOR_LISTS = ("min_items", "max_items", "has", "lacks")
FOR_NUMBERS = ("min", "max")


def parse_outputs(
    agents: Mapping[str, AgentConfig], documents: Mapping[str, Document]
) -> tuple[dict[str, Field], list[Problem]]:
    """Return the schemas of typed answers by agent, and what is wrong with others."""
    found: dict[str, Field] = {}
    problems: list[Problem] = []
    for agent_id, agent in agents.items():
        if agent.output is None:
            continue
        try:
            found[agent_id] = parse_schema(agent.output)
        except SchemaError as error:
            for one in error.problems:
                path, near = ("output", *one.path), one.suggestion
                problems.append(
                    documents[agent_id].problem(
                        path, "output-schema", one.text, key=one.key, suggestion=near
                    )
                )
    return found, problems


def read_vocabularies(
    crew: CrewConfig, document: Document, contents: Mapping[str, bytes]
) -> tuple[dict[str, Vocabulary], list[Problem], dict[str, Document]]:
    """Return the vocabularies of a crew, what is wrong, and the wrong files.

    Args:
        crew: what crew.yaml says.
        document: crew.yaml.
        contents: of the crew's files, by name.
    """
    found: dict[str, Vocabulary] = {}
    problems: list[Problem] = []
    wrong: dict[str, Document] = {}
    for name, config in crew.vocabularies.items():
        path: YamlPath = ("vocabularies", name)
        content = contents.get(config.file)
        if content is None:
            text = why_not_read(config.file)
            problems.append(document.problem((*path, "file"), "vocabulary", text))
            continue
        file = read_text(config.file, content, MAX_VOCABULARY_BYTES)
        if not file.problems:
            try:
                is_csv = config.file.endswith(".csv")
                spellings = read_vocabulary(
                    file.text, is_csv=is_csv, column=config.column, aliases=config.aliases
                )
                found[name] = Vocabulary(name, spellings, config.on_unknown)
                continue
            except VocabularyError as error:
                code: ProblemCode = "vocabulary"
                if isinstance(error, AliasTwiceError):
                    code = "alias-twice"
                if error.key:
                    key = (*path, error.key)
                    near = error.suggestion
                    problems.append(document.problem(key, code, str(error), suggestion=near))
                    continue
                file.refuse(error.line, 1, code, str(error))
        problems += file.problems
        wrong[config.file] = file
    return found, problems, wrong


def make_condition(given: Any, field: Field | None, words: Vocabulary | None) -> OutputCondition:
    """Make a condition of what a rule says of a field, with the spellings that answers have.

    Args:
        given: of the rule.
        field: of the schema; None for one that it does not have.
        words: the vocabulary of the field, if it has one.
    """

    def live(value: Any) -> tuple[Any, ...]:
        values = value if isinstance(value, list) else [value]
        return tuple(_spelling(one, field, words) for one in values)

    if not isinstance(given, OutputConditionConfig):
        return OutputCondition(values=live(given))
    said = given.model_fields_set
    return OutputCondition(
        None,
        live(given.not_) if "not_" in said else (),
        given.min,
        given.max,
        given.min_items,
        given.max_items,
        live(given.has) if "has" in said else (),
        live(given.lacks) if "lacks" in said else (),
        given.absent,
    )


def make_routes(
    agent_id: str,
    given: Sequence[OutputRouteConfig],
    schema: Field,
    vocabularies: Mapping[str, Vocabulary],
    document: Document,
) -> tuple[OutputRoute, ...]:
    """Make the rules of an agent, as runs decide by them.

    Args:
        agent_id: of the agent.
        given: of crew.yaml.
        schema: of its typed answers.
        vocabularies: by name.
        document: crew.yaml.
    """
    routes = []
    for place, config in enumerate(given):
        line, _ = document.value_at(document.as_written((*ROUTES, agent_id, place)))
        when = {}
        for name, condition in config.when.items():
            field = schema.properties.get(name)
            words = vocabulary_of(field, vocabularies) if field is not None else None
            when[name] = make_condition(condition, field, words)
        source, target = f"{document.file}:{line}", config.target or None
        routes.append(OutputRoute(when, target, config.pause, config.description, source))
    return tuple(routes)


def vocabulary_of(field: Field, vocabularies: Mapping[str, Vocabulary]) -> Vocabulary | None:
    """Return the vocabulary of a field, or of what its list holds."""
    value = _value_field(field)
    return None if value.vocabulary is None else vocabularies.get(value.vocabulary)


def _value_field(field: Field) -> Field:
    return field.items if field.kind == "array" and field.items is not None else field


def _spelling(value: Any, field: Field | None, words: Vocabulary | None) -> Any:
    if not isinstance(value, str) or field is None:
        return value
    found = words.find(value) if words is not None else None
    return found or _value_field(field).spellings.get(fold(value), value)


def problems_of_condition(
    given: Any, field: Field, words: Vocabulary | None
) -> Iterator[tuple[ProblemCode, tuple[str, ...], str, str | None]]:
    """Yield what is wrong with a condition: code, path in it, text, suggestion."""
    if not isinstance(given, OutputConditionConfig):
        yield from _of_values(given, field, words, ())
        return
    if not given.model_fields_set:
        yield "output-value", (), f"it says nothing: write a value, or {CONDITIONS}", None
    keys = {"not_": "not"}
    for name in sorted(given.model_fields_set):
        key, value = keys.get(name, name), getattr(given, name)
        if value is None or value == []:
            yield "output-value", (key,), f"{key} says nothing: write a value, or remove it", None
        elif name == "absent":
            continue
        elif name in FOR_LISTS and field.kind != "array":
            yield "output-value", (key,), f"{key} is for lists; this field has {_kind(field)}", None
        elif name in FOR_NUMBERS and field.kind not in NUMBERS:
            yield (
                "output-value",
                (key,),
                f"{key} is for numbers; this field has {_kind(field)}",
                None,
            )
        elif name in ("has", "lacks"):
            yield from _of_values(value, _value_field(field), words, (key,))
        elif name == "not_":
            yield from _of_values(value, field, words, (key,))


def _of_values(
    given: Any, field: Field, words: Vocabulary | None, path: tuple[str, ...]
) -> Iterator[tuple[ProblemCode, tuple[str, ...], str, str | None]]:
    if field.kind == "array":
        text = "this field is a list: write has, lacks, min_items or max_items"
        yield "output-value", path, text, None
        return
    if field.is_free_text:
        text = "any text may stand here, so only {absent: true} or {absent: false} can be compared"
        text = f"{text}; give the field an enum or a vocabulary"
        yield "when-text", path, text, None
        return
    if given is None or given == []:
        text = "no answer fits this: write a value, or {absent: true} for a field that is not there"
        yield "output-value", path, text, None
        return
    for value in given if isinstance(given, list) else [given]:
        known: list[str] = []
        if field.kind == "boolean":
            fits = isinstance(value, bool)
        elif field.kind in NUMBERS:
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            fits = is_number and (not field.enum or value in field.enum)
            known = [value_text(one) for one in field.enum]
        elif words is not None:
            fits = isinstance(value, str) and words.find(value) is not None
            known = list(dict.fromkeys(words.spellings.values())) if not fits else []
        else:
            fits = isinstance(value, str) and fold(value) in field.spellings
            known = list(field.spellings.values())
        if fits:
            continue
        near = nearest(str(value), known) if len(known) <= MAX_NEAR else None
        wanted = f"one of {', '.join(known)}" if 0 < len(known) <= MAX_LISTED else _kind(field)
        text = f"no answer has {value_text(value)!r} here; expected {wanted}"
        if field.kind == "string" and not isinstance(value, str):
            text, near = f"{value_text(value)} is no text here; put quotes around it", None
        yield "output-value", path, text, near


def _kind(field: Field) -> str:
    return KINDS[field.kind]
