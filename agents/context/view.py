"""How an agent is shown the conversation."""

from collections.abc import Callable, Container, Mapping, Sequence
from types import MappingProxyType

from agents.context.blocks import context_message
from agents.context.loaded import LoadedBlock
from agents.marks import quote_marks
from agents.messages import (
    SOURCE_KEY,
    AgentMessage,
    Attachment,
    CompactedMessage,
    CrewMessage,
    Message,
    RepairMessage,
    SystemMessage,
    ToolMessage,
    ToolOutput,
    UserMessage,
)
from agents.model import ERROR_MARK, MessageRole, Private, ShownImage, ShownMessage
from agents.tokenizing.tokens import ESTIMATE, Tokenizer
from agents.written.text_calls import bare_lines
from tools.handlers.output import format_results

NO_IMAGES: Mapping[str, ShownImage] = MappingProxyType({})
# leads what the person has sent with their words
ATTACHED = "[attached:"


def show_history(
    history: Sequence[Message],
    agent_id: str,
    *,
    client_system: bool = False,
    escape: Callable[[str], str] = str,
    tokenizer: Tokenizer = ESTIMATE,
    images: Mapping[str, ShownImage] = NO_IMAGES,
) -> list[ShownMessage]:
    """Return the conversation as one agent is shown it.

    Its own words are `assistant`, everyone else's `user`, led by `[name]: ` for other agents.
    Other agents' calls are left out; their results are text. What others wrote cannot look like
    a mark of ours (see `marks`).

    Args:
        history: the conversation.
        agent_id: who is shown it.
        client_system: send the client's system messages too.
        escape: changes what would be a signal of the agent's in the output of a tool.
        tokenizer: counts the tokens of what is shown.
        images: that are sent, by their ids.
    """
    out: list[ShownMessage] = []

    def add(role: MessageRole, content: str) -> None:
        out.append(ShownMessage(role, content, tokenizer=tokenizer))

    for message in history:
        match message:
            case UserMessage(content, ()):
                add("user", quote_marks(content))
            case UserMessage(content, attached):
                text = with_attached(quote_marks(content), attached, images)
                sent = [one.document_id for one in attached if one.document_id in images]
                pictures = tuple([images[one] for one in sent])
                out.append(ShownMessage("user", text, tokenizer=tokenizer, images=pictures))
            case CrewMessage(content):
                add("user", content)
            case CompactedMessage(content, count):
                block = LoadedBlock("summary", f"{count} messages of this run: {content}")
                add("user", context_message([block], escape))
            case SystemMessage(content):
                if client_system:
                    add("system", content)
            case AgentMessage() if message.agent_id == agent_id:
                calls = message.calls if message.native else ()
                private = _private(message)
                out.append(
                    ShownMessage(
                        "assistant", message.content, calls, tokenizer=tokenizer, private=private
                    )
                )
            case AgentMessage(name=name):
                if words := words_for_others(message):
                    add("user", f"[{name}]: {quote_marks(words)}")
            case RepairMessage(content=content) if message.agent_id == agent_id:
                add("user", content)
            case RepairMessage():
                pass
            case ToolMessage():
                native = message.native and message.agent_id == agent_id
                out += _show_results(message, escape, tokenizer, native=native)
    return out


def with_attached(
    text: str, attached: Sequence[Attachment], images: Container[str] = NO_IMAGES
) -> str:
    """Return the person's words with a line for each attachment.

    Args:
        text: the words.
        attached: to them.
        images: that are sent, by their ids.
    """
    lines = [text] if text else []
    for one in attached:
        if one.media_type:
            shown = "" if one.document_id in images else ", which is not shown here"
            lines.append(f"{ATTACHED} image {one.name}{shown}]")
        else:
            lines.append(f"{ATTACHED} document {one.name} of {one.collection}]")
    return "\n".join(lines)


def words_for_others(message: AgentMessage) -> str:
    """Return what other agents are shown of an answer; "" for nothing."""
    if message.invalid:
        return ""
    return message.content if message.words is None else message.words


def _show_results(
    message: ToolMessage, escape: Callable[[str], str], tokenizer: Tokenizer, *, native: bool
) -> list[ShownMessage]:
    """Show native results as a `tool` message each, any others as one text."""

    def shown(result: ToolOutput) -> str:
        return quote_marks(escape(result.output))

    if not native:
        text = format_results([(r.tool, r.status, shown(r)) for r in message.results])
        return [ShownMessage("user", text, results=message.results, tokenizer=tokenizer)]
    out = []
    for result in message.results:
        mark = "" if result.status == "success" else ERROR_MARK
        content = mark + shown(result)
        out.append(ShownMessage("tool", content, results=(result,), tokenizer=tokenizer))
    return out


def _private(message: AgentMessage) -> Private | None:
    """Return what the provider wants back with a message, if there is anything."""
    calls = tuple([call.extra for call in message.calls]) if message.native else ()
    if not message.extra and not any(calls):
        return None
    extra = {key: value for key, value in message.extra.items() if key != SOURCE_KEY}
    return Private(message.extra.get(SOURCE_KEY, ""), extra, calls)


def lines_of_others(history: Sequence[Message], agent_id: str) -> list[str]:
    """Return the lines of the conversation that others wrote, as `bare_lines` has them."""
    out: list[str] = []
    for message in history:
        match message:
            case ToolMessage(results=results):
                for result in results:
                    out += bare_lines(result.output)
            case AgentMessage(agent_id=writer) | RepairMessage(agent_id=writer) if (
                writer == agent_id
            ):
                pass
            case _:
                out += bare_lines(message.content)
    return out


def text_of(messages: Sequence[Message]) -> str:
    """Return messages as plain text, for a model that is to shorten them."""
    lines: list[str] = []
    for message in messages:
        match message:
            case RepairMessage():
                pass
            case AgentMessage(name=name, calls=calls):
                words = words_for_others(message)
                lines += [f"{name}: {words}"] if words else []
                lines += [f"{name} calls {call.tool} {call.arguments}" for call in calls]
            case ToolMessage(results=results):
                lines += [f"{one.tool} ({one.status}): {one.output}" for one in results]
            case UserMessage(content, attached):
                lines.append(f"user: {with_attached(content, attached)}")
            case _:
                lines.append(message.content)
    return "\n\n".join(lines)
