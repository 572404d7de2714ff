"""The parameters of addresses: in query strings, whose values are checked by them, and headers."""

import re
from dataclasses import dataclass
from typing import Any, Literal, get_args

from crew.journal.query import ID, MAX_PRIORITY, MAX_USER_ID
from crew.journal.records.listing import NO_TIME, TIME, Waiting

FLAGS = {"0": False, "1": True, "false": False, "true": True}
NUMBER = re.compile(r"[0-9]{1,9}")
MAX_TEXT = 200


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter, as it is described and read."""

    name: str
    place: Literal["query", "header"]
    text: str
    # a JSON schema; its `pattern` is checked where `wrong` says what is wrong then
    schema: dict[str, Any]
    wrong: str = ""
    required: bool = False

    @property
    def document(self) -> dict[str, Any]:
        """The parameter as OpenAPI has it."""
        required = {"required": self.required} if self.place == "query" else {}
        described = {"description": self.text, "schema": self.schema}
        return {"name": self.name, "in": self.place, **required, **described}

    def read(self, text: str) -> Any:
        """Return the value of a text; raises ValueError, which says what it must be."""
        schema = self.schema
        if schema["type"] == "boolean":
            if text not in FLAGS:
                raise ValueError("is true or false, 1 or 0")
            return FLAGS[text]
        if schema["type"] == "integer":
            least, most = schema["minimum"], schema["maximum"]
            is_number = NUMBER.fullmatch(text) is not None and len(text) <= len(str(most))
            if not is_number or not least <= int(text) <= most:
                raise ValueError(self.wrong or f"is a number from {least} to {most}")
            return int(text)
        if (known := schema.get("enum")) is not None and text not in known:
            raise ValueError(f"is one of {', '.join(known)}")
        if self.wrong and re.fullmatch(schema["pattern"], text) is None:
            raise ValueError(self.wrong)
        return text


def query_parameter(
    name: str, text: str, *, wrong: str = "", required: bool = False, **schema: Any
) -> Parameter:
    """Describe a parameter of the query string; a string unless its schema says otherwise."""
    return Parameter(name, "query", text, {"type": "string", **schema}, wrong, required)


def header_parameter(name: str, text: str, **schema: Any) -> Parameter:
    """Describe a header of a request; the same."""
    return Parameter(name, "header", text, {"type": "string", **schema})


KEY = header_parameter(
    "Idempotency-Key",
    "The same request again under its key starts nothing a second time.",
    pattern="^[!#-~]{1,255}$",
)
FLAG: dict[str, Any] = {"type": "boolean", "default": False}
PROMPTS = query_parameter("prompts", "With the system prompts.", **FLAG)
USAGE = query_parameter("usage", "With the calls of the last 24 hours.", **FLAG)
DELTAS = query_parameter("deltas", "Send the text of agents as it is written.", **FLAG)
TICKET = query_parameter("ticket", "In place of a token; see POST /api/crew/tickets.")
MOMENT: dict[str, Any] = {"pattern": f"^{TIME}$", "wrong": NO_TIME}
LIMIT: dict[str, Any] = {"type": "integer", "minimum": 1, "maximum": 500, "default": 50}
# each with what it asks, which may be large
INBOX_LIMIT = {**LIMIT, "maximum": 100}
TEXT: dict[str, Any] = {
    "pattern": f"^[^\\u0000]{{0,{MAX_TEXT}}}$",
    "wrong": f"has at most {MAX_TEXT} characters, and no NUL",
}
AFTER = query_parameter("after", "The `next` of the page before.", pattern=ID)
USER = query_parameter(
    "user_id", "Whose they are; the token's owner unless given.", minLength=1, maxLength=MAX_USER_ID
)
AGENT = query_parameter(
    "agent_id",
    "Only those in which it spoke last, or asks.",
    pattern=ID,
    wrong="is no id of an agent",
)
OWNER = query_parameter(
    "owner",
    "Only those of it; for scope admin.",
    pattern="^[A-Za-z0-9._-]{1,64}$",
    wrong="is no name of a token",
)
ASKED_TOOL = query_parameter(
    "tool",
    "Only those that ask about a call of it.",
    pattern=ID,
    wrong="is no name of a tool",
)
# of a list of runs, beside the others
RUN_PARAMETERS = (
    query_parameter(
        "reason",
        "Only those that have ended so.",
        pattern="^[a-z_]{1,64}$",
        wrong="is no reason of an end",
    ),
    OWNER,
    query_parameter(
        "user_id",
        "Only those for it.",
        pattern=f"^[^\\u0000]{{1,{MAX_USER_ID}}}$",
        wrong=f"has 1 to {MAX_USER_ID} characters, and no NUL",
    ),
    query_parameter(
        "source_name", "Only those of this schedule or hook.", pattern=ID, wrong="is no name"
    ),
    query_parameter(
        "cost_over",
        "Only those that have cost more, in USD.",
        pattern=r"^[0-9]{1,6}(\.[0-9]{1,9})?$",
        wrong="is an amount of USD, such as 0.05",
    ),
    query_parameter(
        "tool",
        "Only those that have called it.",
        pattern=ID,
        wrong="is no name of a tool",
    ),
    query_parameter(
        "waiting",
        "Only paused ones, that wait for words or for a decision on calls.",
        enum=list(get_args(Waiting)),
    ),
    query_parameter(
        "prefix", "Only those with an id that begins so.", pattern=ID, wrong="begins no id of a run"
    ),
    query_parameter("own", "Only the caller's own.", **FLAG),
    query_parameter("totals", "With what all that match come to.", **FLAG),
)
STREAM_PARAMETERS = (
    query_parameter("q", "What is asked: text, or the JSON of a body.", minLength=1),
    query_parameter("run_id", "The run that is answered; without q, it is followed.", pattern=ID),
    query_parameter("resume_agent_id", "The agent that starts.", pattern=ID),
    query_parameter("priority", "Of the run.", type="integer", minimum=0, maximum=MAX_PRIORITY),
    DELTAS,
    query_parameter("user_id", "Whom the run is for.", minLength=1, maxLength=MAX_USER_ID),
    query_parameter("conversation_id", "The conversation that it goes on with.", pattern=ID),
    query_parameter("idempotency_key", "As the header of a POST.", pattern="^[!#-~]{1,255}$"),
    TICKET,
)
EVENT_PARAMETERS = (
    query_parameter(
        "after",
        "The last event that is known: `n` or `run:n`.",
        pattern="^([A-Za-z0-9_-]{1,128}:)?[0-9]{1,15}$",
    ),
    DELTAS,
    TICKET,
)
