"""Messages of A2A: their parts, read and written."""

from typing import Any

from server.protocols.a2a.problems import INVALID_PARAMS, NO_CONTENT_TYPE, A2aError

# a part has one of them
CONTENTS = frozenset({"text", "data", "raw", "url"})
USER, AGENT = "ROLE_USER", "ROLE_AGENT"


def read_parts(message: Any) -> tuple[str, list[Any]]:
    """Return the text of a message, and the values of its data parts; raises A2aError."""
    if not isinstance(message, dict):
        raise A2aError(INVALID_PARAMS, "message: is missing")
    if not isinstance(message.get("messageId"), str) or not message["messageId"]:
        raise A2aError(INVALID_PARAMS, "message.messageId: is missing")
    if message.get("role") not in (USER, None):
        raise A2aError(INVALID_PARAMS, f"message.role: is {USER}")
    parts = message.get("parts")
    if not isinstance(parts, list) or not parts:
        raise A2aError(INVALID_PARAMS, "message.parts: is a list of parts")
    texts: list[str] = []
    data: list[Any] = []
    for place, part in enumerate(parts):
        where = f"message.parts[{place}]"
        if not isinstance(part, dict):
            raise A2aError(INVALID_PARAMS, f"{where}: must be an object")
        kinds = CONTENTS & part.keys()
        if len(kinds) != 1:
            raise A2aError(INVALID_PARAMS, f"{where}: has one of {', '.join(sorted(CONTENTS))}")
        if "text" in kinds and isinstance(part["text"], str):
            texts.append(part["text"])
        elif "text" in kinds:
            raise A2aError(INVALID_PARAMS, f"{where}.text: must be a text")
        elif "data" in kinds:
            data.append(part["data"])
        else:
            raise A2aError(NO_CONTENT_TYPE, f"{where}: only text and data are taken")
    return "\n".join(texts), data


def name_in(params: dict[str, Any], name: str) -> str | None:
    """Return a name that may be given; raises A2aError for what is no text."""
    value = params.get(name)
    if value is not None and not isinstance(value, str):
        raise A2aError(INVALID_PARAMS, f"{name}: must be a text")
    return value or None


def write_message(
    id_: str, role: str, task: str, context: str, *parts: dict[str, Any]
) -> dict[str, Any]:
    """Return a message of a task."""
    return {
        "messageId": id_,
        "role": role,
        "taskId": task,
        "contextId": context,
        "parts": list(parts),
    }


def write_data(data: dict[str, Any]) -> dict[str, Any]:
    """Return an object as a part."""
    return {"data": data, "mediaType": "application/json"}
