"""The parameters of addresses, described: in query strings and headers."""

from typing import Any

from crew.journal.query import ID, MAX_USER_ID


def query_parameter(
    name: str, text: str, *, required: bool = False, **schema: Any
) -> dict[str, Any]:
    """Describe a parameter of the query string; a string unless its schema says otherwise."""
    schema = {"type": "string", **schema}
    place = {"name": name, "in": "query", "required": required}
    return {**place, "description": text, "schema": schema}


def header_parameter(name: str, text: str, **schema: Any) -> dict[str, Any]:
    """Describe a header of a request; the same."""
    return {
        "name": name,
        "in": "header",
        "description": text,
        "schema": {"type": "string", **schema},
    }


KEY = header_parameter(
    "Idempotency-Key",
    "The same request again under its key starts nothing a second time.",
    pattern="^[!#-~]{1,255}$",
)
FLAG: dict[str, Any] = {"type": "boolean"}
DELTAS = query_parameter("deltas", "Send the text of agents as it is written.", **FLAG)
TICKET = query_parameter("ticket", "In place of a token; see POST /api/crew/tickets.")
LIMIT: dict[str, Any] = {"type": "integer", "minimum": 1, "maximum": 500}
INBOX_LIMIT = {**LIMIT, "maximum": 100}
AFTER = query_parameter("after", "The `next` of the page before.", pattern=ID)
USER = query_parameter(
    "user_id", "Whose they are; the token's owner unless given.", minLength=1, maxLength=MAX_USER_ID
)
