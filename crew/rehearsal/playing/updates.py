"""What a rehearsal could expect instead, where what has happened differs; and writing it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from crew.config.files.yaml_reader import Loader
from crew.rehearsal.files.bound import Case
from crew.rehearsal.files.nodes import Place
from crew.rehearsal.judging.story import Step
from crew.rehearsal.judging.verdict import Judged
from crew.rehearsal.playing.player import Played
from tools.schemas.yaml_shape import resolve


@dataclass(frozen=True, slots=True)
class Update:
    """A value of a file of rehearsals, and what it would have to be."""

    place: Place
    key: str
    # YAML, on one line
    then: str
    now: str


def updates_of(case: Case, played: Played, judged: Judged) -> Iterator[Update]:
    """Yield what the keys `path` and `answer` would have to be that differ."""
    wrong = {one.source for one in judged.mismatches if one.kind in ("path", "answer")}
    for turn, story in zip(played.turns, judged.stories, strict=True):
        values = {
            "path": [written_step(one) for one in story.steps],
            # a text with nothing in it is said to be so
            "answer": turn.row.answer or {"is": ""},
        }
        for key, value in values.items():
            node = case.node.find((*turn.path, key))
            # a text that is one of several checks is for a person to change
            is_whole = node is not None and not isinstance(node.value, dict)
            if node is not None and is_whole and case.source(*turn.path, key) in wrong:
                then, now = _yaml_of(resolve(node.plain())), _yaml_of(value)
                if then != now:
                    yield Update(node.place, key, then, now)


def written_step(step: Step) -> Any:
    """Return a step as `path` has it: an agent with what leads there."""
    return {step.name: step.why} if step.kind == "agent" and step.why else step.name


def _yaml_of(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    shown: str = yaml.safe_dump(value, default_flow_style=True, width=10**6, allow_unicode=True)
    return shown.strip()


def rewritten_text(text: str, updates: Mapping[tuple[int, int], str]) -> str:
    """Return a YAML file with other values; all else stays as it is.

    Args:
        text: the file.
        updates: the values, by line and column, from 1, of those that they replace.
    """
    root = yaml.compose(text, Loader=Loader)  # a SafeLoader of ours
    assert root is not None, "the file was read"
    spans: list[tuple[int, int, str]] = []
    for node in _nodes([root]):
        start, end = node.start_mark, node.end_mark
        value = updates.get((start.line + 1, start.column + 1))
        if value is not None and not any(start.index == one[0] for one in spans):
            old = text[start.index : end.index]
            spans.append((start.index, start.index + len(old.rstrip()), value))
    for first, last, value in sorted(spans, reverse=True):
        text = text[:first] + value + text[last:]
    return text


def _nodes(left: Sequence[yaml.Node]) -> Iterator[yaml.Node]:
    """Yield nodes, the outer ones first."""
    for node in left:
        yield node
        if isinstance(node, yaml.MappingNode):
            for _, value in node.value:
                yield from _nodes([value])
        elif isinstance(node, yaml.SequenceNode):
            yield from _nodes(node.value)
