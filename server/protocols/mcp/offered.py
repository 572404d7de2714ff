"""The tools of a crew: ask it, look at a run, answer it in words."""

import re
from typing import Any

from mcp_types import Tool, ToolAnnotations

from crew.crew import Crew
from tools.schemas.schema import JsonSchema

ID = {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,128}$"}
QUERY: dict[str, Any] = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "minLength": 1, "description": "What to ask the crew."},
        "conversation_id": {
            "type": "string",
            # a crew without conversations keeps it as a label
            "pattern": "^[A-Za-z0-9_.:-]{1,128}$",
            "description": "Goes on with this conversation.",
        },
    },
    "required": ["query"],
    "additionalProperties": False,
}
RUN: dict[str, Any] = {
    "type": "object",
    "properties": {"run_id": {**ID, "description": "The run."}},
    "required": ["run_id"],
    "additionalProperties": False,
}
REPLY: dict[str, Any] = {
    "type": "object",
    "properties": {
        "run_id": {**ID, "description": "The paused run."},
        "pause": {"type": "integer", "minimum": 1, "description": "The number of its pause."},
        "text": {"type": "string", "minLength": 1, "description": "The answer to its question."},
    },
    "required": ["run_id", "pause", "text"],
    "additionalProperties": False,
}
RESULT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "run_id": {"type": "string"},
        "status": {"enum": ["running", "paused", "completed", "failed", "cancelled"]},
        "answer": {"type": ["string", "null"]},
        "reason": {"type": ["string", "null"]},
        "output": {"type": ["object", "null"], "description": "A typed answer."},
        "sources": {"type": "array", "description": "Passages of documents that were shown."},
        "shows": {"type": "array", "description": "What a page would draw of it."},
        "usage": {"type": ["object", "null"], "description": "Tokens."},
        "cost": {"type": ["object", "null"], "description": "In USD."},
        "pause": {"type": ["integer", "null"]},
        "question": {"type": ["string", "null"]},
        "calls": {"type": "array", "description": "Calls that wait for a person's decision."},
    },
    "required": ["run_id", "status", "answer", "reason", "pause", "question", "calls"],
}
SCHEMAS = {"": JsonSchema(QUERY), "_run": JsonSchema(RUN), "_reply": JsonSchema(REPLY)}


def asking_tool(crew: Crew) -> str:
    """Return the name of the tool that asks a crew."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", crew.name)[:100] or "crew"


def offered_tools(crew: Crew) -> list[Tool]:
    """Return the tools of a crew."""
    name = asking_tool(crew)
    text = crew.config.description or f"Ask the crew {crew.name}, and wait for its answer."
    reads = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    look = f"Look at a run of {crew.name}: how it stands, and what it asks."
    answer = (
        f"Answer a run of {crew.name} that waits for words. What a person decides about calls "
        "is not decided here."
    )
    return [
        _tool(name, text, QUERY, None),
        _tool(f"{name}_run", look, RUN, reads),
        _tool(f"{name}_reply", answer, REPLY, None),
    ]


def _tool(
    name: str, text: str, schema: dict[str, Any], annotations: ToolAnnotations | None
) -> Tool:
    return Tool(
        name=name,
        description=text,
        input_schema=schema,
        output_schema=RESULT,
        annotations=annotations,
    )
