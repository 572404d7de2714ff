"""What models were sent, beside what they must be; pure."""

from collections.abc import Iterator, Sequence

from agents.model import ShownMessage
from crew.rehearsal.doubles.world import AskedModel
from crew.rehearsal.keys.expected import AskedAgent
from crew.rehearsal.matching import wrong_in


def wrong_requests(
    agent_id: str, wanted: AskedAgent, asked: Sequence[AskedModel]
) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with the requests of an agent: the key, and why."""
    own = [one for one in asked if one.agent_id == agent_id]
    if wanted.nth != "all":
        own = own[wanted.nth - 1 : wanted.nth]
    if not own:
        which = "is asked" if wanted.nth == "all" else f"is asked {wanted.nth} times"
        yield "nth", f"{agent_id} never {which}"
    for one in own:
        wrong = list(_wrong_request(wanted, one))
        if wrong:
            yield from ((key, f"{agent_id}: {text}") for key, text in wrong)
            return


def _wrong_request(wanted: AskedAgent, one: AskedModel) -> Iterator[tuple[str, str]]:
    request = one.request
    own = {id(message) for message in request.own}
    system, *messages = request.messages
    parts = {
        "prompt": system.content + request.text_call_hint,
        "context": _text([message for message in messages if id(message) not in own]),
        "words": _text([message for message in messages if id(message) in own]),
    }
    for key, text in parts.items():
        check = getattr(wanted, key)
        if check is not None and (why := wrong_in(check, text)) is not None:
            yield key, f"its {key} {why}"
    tools = [tool.name for tool in request.tools]
    if wanted.tools is not None and sorted(wanted.tools) != sorted(tools):
        yield "tools", f"its tools are {', '.join(tools) or 'none'}"
    if wanted.model not in (None, one.model):
        yield "model", f"its model is {one.model}"
    if wanted.temperature is not None and wanted.temperature != request.temperature:
        yield "temperature", f"its temperature is {request.temperature}"


def _text(messages: Sequence[ShownMessage]) -> str:
    return "\n".join(message.content for message in messages)
