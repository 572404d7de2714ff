"""What models are sent, as differences that people read."""

import difflib
from collections.abc import Iterator, Sequence

from pydantic_core import to_json

from crew.rehearsal.doubles.world import AskedModel
from crew.rehearsal.replaying.comparison import AskedDifference

# of a difference
MAX_LINES = 40


def find_request(asked: Sequence[AskedModel], difference: AskedDifference) -> AskedModel | None:
    """Return the request of a difference; of its agent, what had no answer is not counted."""
    own = [one for one in asked if one.agent_id == difference.agent_id]
    return own[difference.number] if difference.number < len(own) else None


def word_difference(
    then: AskedModel | None, now: AskedModel | None, parts: Sequence[str]
) -> list[str]:
    """Return the difference of two requests, in lines of a unified diff."""
    if then is None or now is None:
        return []
    lines: list[str] = []
    for part in parts:
        before, after = list(_lines(then, part)), list(_lines(now, part))
        names = f"{part}, then", f"{part}, now"
        lines += difflib.unified_diff(before, after, *names, lineterm="", n=1)
    return [*lines[:MAX_LINES], "…"] if len(lines) > MAX_LINES else lines


def _lines(asked: AskedModel, part: str) -> Iterator[str]:
    request = asked.request
    own = {id(message) for message in request.own}
    system, *messages = request.messages
    match part:
        case "prompt":
            yield from system.content.splitlines()
        case "tools":
            for tool in request.tools:
                yield f"{tool.name}: {tool.description}"
                yield to_json(tool.parameters).decode()
        case "sampling":
            sampled = (request.temperature, request.top_p, request.max_tokens, request.tool_choice)
            yield ", ".join(map(str, sampled))
        case _:
            is_context = part == "context"
            for message in messages:
                if (id(message) not in own) == is_context:
                    yield from message.content.splitlines()
                    for call in message.calls:
                        yield f"{call.tool}({to_json(call.arguments).decode()})"
