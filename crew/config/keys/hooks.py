"""The shape of a hook: what another program's POST asks the crew."""

import re
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from crew.journal.query import MAX_PRIORITY
from tools.schemas.json_pointer import POINTER
from tools.schemas.yaml_shape import Name, Shape, between_keys

# what is meant as a place: without its slash, or without its end
NO_PLACE = re.compile(r"\{(\w+)\}|\{/([^{}]*)(?:\Z|(?=\{))")
Pointer = Annotated[str, Field(pattern=f"^{POINTER}$")]


class HookConfig(Shape):
    """An alert, or any other JSON, that starts a run: POST /api/crew/hooks/{name}."""

    kind: Literal["alertmanager", "grafana", "json"]
    """What is sent: alerts of Prometheus' Alertmanager or of Grafana, or any JSON object."""
    query: str = ""
    """What is asked; `{/a/pointer}` stands for that part of the JSON. Needed for `json`; otherwise
    the alerts as text, unless given."""
    fingerprint: list[Pointer] = []
    """Of `json`: pointers to what says that it is the same matter again; the whole unless given."""
    again_after_seconds: Annotated[float, Field(ge=1, le=31_536_000)] = 3600
    """The same matter starts no other run before so long."""
    agent: Name | None = None
    """Who starts; the entry point unless given."""
    priority: Annotated[int, Field(ge=0, le=MAX_PRIORITY)] | None = None
    """Where its runs wait, higher ones go first; 5 unless given."""

    @field_validator("query")
    @classmethod
    def _check_places(cls, query: str) -> str:
        if found := NO_PLACE.search(query):
            name = found[1] or found[2]
            raise ValueError(
                f"{found[0]} stands for nothing; write {{/{name}}} for a part of the JSON"
            )
        return query

    @model_validator(mode="after")
    def _check_kind(self) -> Self:
        if self.kind == "json" and not self.query.strip():
            text = "kind json needs a query, such as 'Look at {/title}'"
            raise between_keys(text, "query" if self.query else "kind")
        if self.kind != "json" and self.fingerprint:
            text = f"fingerprint is for kind json alone; {self.kind} sends its own: remove the key"
            raise between_keys(text, "fingerprint")
        return self
