"""The typed answer of one agent: its schema, its vocabularies, and what its model is told."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from agents.outputs.answers import CheckedAnswer, check_answer
from agents.outputs.plans import PlanRules, problems_of_plan
from agents.outputs.schema import Field
from agents.outputs.vocabularies import Vocabulary

NO_TASKS: Mapping[str, bool] = {}
# begins what tells a model what was wrong with its answer
REPAIR = "Your answer was not as it must be:"
REPAIR_END = "Answer again, with one JSON object alone, by the same schema."


@dataclass(frozen=True, slots=True)
class OutputFormat:
    """What a model is to answer, in the form of no provider."""

    name: str
    # JSON Schema of an object: each property stands in `required`, and may be null if it may be
    # absent; without what providers refuse
    schema: Mapping[str, Any]
    # says the same, for a model that takes no schema
    words: str


@dataclass(frozen=True)
class TypedOutput:
    """What an agent answers."""

    agent_id: str
    schema: Field
    # all that the schema names
    vocabularies: Mapping[str, Vocabulary]
    # how often a wrong answer is sent back
    retries: int = 1
    # the field that has the agent's words; None: it has none
    text_field: str | None = None
    # it is a plan
    plan: PlanRules | None = None

    @cached_property
    def format(self) -> OutputFormat:
        """What its model is told."""
        schema = schema_for_model(self.schema)
        shown = json.dumps(schema, ensure_ascii=False)
        words = f"Answer with one JSON object alone, without other words, by this schema:\n{shown}"
        return OutputFormat(self.agent_id, schema, words)

    def check(
        self, text: str, *, is_cut: bool, known_tasks: Mapping[str, bool] = NO_TASKS
    ) -> CheckedAnswer:
        """Read and check an answer.

        Args:
            text: what the model wrote.
            is_cut: it ended at the longest that the model may write.
            known_tasks: of the same plan, by id, and whether each is done.
        """
        checked = check_answer(text, self.schema, self.vocabularies, is_cut=is_cut)
        if self.plan is None or checked.output is None:
            return checked
        problems = problems_of_plan(checked.output["tasks"], known_tasks)
        return replace(checked, output=None, problems=tuple(problems)) if problems else checked

    def words_of(self, output: Mapping[str, Any]) -> str:
        """Return what the agent says to others with an answer; "" where that is nothing."""
        if self.text_field is None:
            return ""
        return str(output.get(self.text_field) or "").strip()

    def answer_of(self, output: Mapping[str, Any]) -> str:
        """Return an answer as a run has it: its words or, without a field for them, the JSON."""
        if self.text_field is None:
            return json.dumps(output, ensure_ascii=False, separators=(",", ":"))
        return self.words_of(output)


def repair_text(problems: Sequence[str]) -> str:
    """Return the words that tell a model what was wrong with its typed answer."""
    return "\n".join((REPAIR, *(f"- {one}" for one in problems), REPAIR_END))


def schema_for_model(field: Field, *, may_be_absent: bool = False) -> dict[str, Any]:
    """Return the JSON schema that a model's server takes.

    Strict servers want every property in `required` and nothing else; what may be absent may be
    null there. `maxLength` and vocabularies are checked here alone.
    """
    out: dict[str, Any] = {"type": [field.kind, "null"] if may_be_absent else field.kind}
    if field.description:
        out["description"] = field.description
    if field.enum:
        out["enum"] = [*field.enum, *([None] if may_be_absent else [])]
    given = {
        "minimum": field.minimum,
        "maximum": field.maximum,
        "minItems": field.min_items,
        "maxItems": field.max_items,
        "pattern": field.pattern.pattern if field.pattern is not None else None,
    }
    out |= {name: value for name, value in given.items() if value is not None}
    if field.items is not None:
        out["items"] = schema_for_model(field.items)
    if field.kind == "object":
        out["properties"] = {
            name: schema_for_model(one, may_be_absent=name not in field.required)
            for name, one in field.properties.items()
        }
        out["required"] = list(field.properties)
        out["additionalProperties"] = False
    return out
