"""Memory, as the files describe it: blocks and the schemas of their fields, and recall memory."""

import re
from collections.abc import Iterator, Mapping

from agents.outputs.schema import Field, SchemaError, parse_schema
from crew.config.files.document import Document, YamlPath
from crew.config.keys.crew_file import CrewConfig
from crew.config.keys.embeddings import EmbeddingsConfig
from crew.config.keys.memory import CoreMemoryConfig, RecallConfig
from crew.config.problems import Problem
from crew.memory.core import CoreRule, FillRule
from crew.memory.recall import LearnRule, RecallRule
from crew.memory.words import Words

CORE: YamlPath = ("memory", "core")
RECALL: YamlPath = ("memory", "recall")
NAME = re.compile(r"[\w-]+")


def parse_core(crew: CrewConfig, document: Document) -> tuple[dict[str, Field], list[Problem]]:
    """Return the schemas of blocks by their names, and what is wrong with others."""
    found: dict[str, Field] = {}
    problems: list[Problem] = []
    for name, config in crew.memory.core.items():
        if config.schema_ is None:
            continue
        path: YamlPath = (*CORE, name, "schema")
        try:
            schema = parse_schema(config.schema_)
        except SchemaError as error:
            for one in error.problems:
                place, near = (*path, *one.path), one.suggestion
                problem = document.problem(
                    place, "memory-schema", one.text, key=one.key, suggestion=near
                )
                problems.append(problem)
            continue
        wrong = list(_problems_of_memory(schema, document, path))
        problems += wrong
        if not wrong:
            found[name] = schema
    return found, problems


def _problems_of_memory(schema: Field, document: Document, path: YamlPath) -> Iterator[Problem]:
    """Yield what typed answers may have, and memory may not."""
    if schema.required:
        text = "what is remembered may be missing; remove required"
        yield document.problem((*path, "required"), "memory-schema", text, key=True)
    for name, field in schema.properties.items():
        place = (*path, "properties", name)
        if NAME.fullmatch(name) is None:
            text = "the name of a field is letters, digits, _ and -, since each stands on a line"
            yield document.problem(place, "memory-schema", text, key=True)
        inner = field.items if field.items is not None else field
        if inner.kind in ("object", "array"):
            text = "a field of memory is a text, a number, true or false, or a list of these"
            yield document.problem(place, "memory-schema", text, key=True)
        if inner.vocabulary is not None:
            text = "a field of memory has no vocabulary; write an enum"
            yield document.problem(place, "memory-schema", text, key=True)


def core_rule(name: str, config: CoreMemoryConfig, schema: Field | None) -> CoreRule:
    """Make the rule of a block; `schema`: of its fields, None for a text."""
    given, start = config.from_, config.start
    if not start:
        # a block with fields begins without any
        start = "" if schema is None else {}
    return CoreRule(
        name,
        config.scope,
        config.description,
        config.max_tokens,
        start,
        schema,
        config.writers,
        FillRule(given.agent, given.field, given.most) if given is not None else None,
    )


def recall_rule(config: RecallConfig, language: str) -> RecallRule:
    """Make the rule of recall memory; `language`: of the crew."""
    learn = config.learn
    return RecallRule(
        config.scope,
        config.max_items,
        config.ttl_days,
        config.half_life_days,
        config.merge_similarity,
        LearnRule(learn.idle_seconds, frozenset(learn.from_)) if learn is not None else None,
        Words(language),
        config.embeddings is not None,
    )


def embeddings_of(crew: CrewConfig) -> Mapping[str, tuple[EmbeddingsConfig, YamlPath]]:
    """Return what the files say of vectors, and where they say it.

    By collection; by "" of recall memory.
    """
    found: dict[str, tuple[EmbeddingsConfig, YamlPath]] = {}
    recall = crew.memory.recall
    if recall is not None and recall.embeddings is not None:
        found[""] = recall.embeddings, ("memory", "recall", "embeddings")
    for name, config in crew.documents.items():
        if config.embeddings is not None:
            found[name] = config.embeddings, ("documents", name, "embeddings")
    return found
