"""What a model is sent for an agent's turn: its prompt, its context, the messages, its tools."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agents.agent import Agent
from agents.context.blocks import context_message
from agents.context.loaded import Context, Loaded, LoadedBlock
from agents.context.view import NO_IMAGES, show_history
from agents.context.window import Fitted, Parts, fit
from agents.events import ShownBlock
from agents.limits import AUTO, LAST_CALL, ToolChoice
from agents.messages import Message, UserMessage
from agents.model import Meter, ModelRequest, ShownImage, ShownMessage
from agents.prompt import NO_OUTPUTS


@dataclass(frozen=True, slots=True)
class Wanted:
    """What one call of an agent's model is to be, beside the conversation."""

    # the text is wanted as it is written
    stream: bool = False
    # the tools that the agent has found, where it is not shown all
    found: Sequence[str] = ()
    # by agent, its newest typed answer in the run
    outputs: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: NO_OUTPUTS)
    # what the answer may do with tools
    choice: ToolChoice = AUTO
    # it is the last call of its turn, and must answer in words
    is_last: bool = False
    # see ModelRequest
    part: str = ""
    meter: Meter | None = None


@dataclass(slots=True)
class Prepared:
    """A request, and what of it is left out."""

    request: ModelRequest
    fitted: Fitted
    # of the window, what prompt, tools and the blocks before the newest query take
    fixed_tokens: int
    loaded: Loaded
    # how many messages behind the system prompt are the context
    context: int
    # the place of the newest query among the messages; -1: it is left out
    query: int = -1

    @property
    def tokens(self) -> int:
        """Of the request, as we count them."""
        counted = self.fitted.tokens
        if counted < 0:
            # it fits for certain, and was not counted
            counted = sum(one.tokens for one in self.fitted.messages)
        return self.fixed_tokens + counted


def window_of(agent: Agent) -> int:
    """Return how much of the model's window a request may take, in tokens as we count them."""
    plan = agent.context
    room = plan.window_tokens - plan.answer_tokens
    if plan.tokenizer.is_exact:
        return room
    return int(room / agent.token_ratios.of(agent.model.endpoints[0]))


def prepare_request(
    agent: Agent,
    history: Sequence[Message],
    context: Context,
    loaded: Loaded,
    window: int,
    wanted: Wanted,
) -> Prepared:
    """Prepare a request.

    Args:
        agent: who is to speak.
        history: the run's own messages.
        context: of the agent, in this segment.
        loaded: what else it is shown.
        window: how much fits, in tokens as we count them.
        wanted: what else it is to be.
    """
    # a tool that must be called is shown, found or not
    choice, found = wanted.choice, wanted.found
    named = found if not choice.tool or choice.tool in found else (*found, choice.tool)
    shown, counted_by = agent.shown_tools(named), agent.context.tokenizer
    system = ShownMessage("system", agent.prompt.text(wanted.outputs), tokenizer=counted_by)
    before = _context(agent, loaded.before) if loaded.before else []
    beside = _context(agent, loaded.beside) if loaded.beside else []
    past = [(one.position, show_messages(agent, one.messages, context)) for one in loaded.past]
    fixed_tokens = system.tokens + sum(one.tokens for one in shown)
    if beside:
        fixed_tokens += beside[0].tokens
    rules = agent.context
    own = show_messages(agent, history, context, loaded.images)
    fitted = fit(
        Parts(before, past, own, counted_by),
        window,
        rules.trim_percent,
        fixed_tokens,
        rules.history,
    )
    messages, place = fitted.messages, len(fitted.messages)
    if beside or agent.kept is not None:
        place = _place_of_query(
            messages, show_messages(agent, _newest_query(history), context, loaded.images)
        )
        messages = [*messages[:place], *beside, *messages[place:]]
    if wanted.is_last:
        messages = [*messages, ShownMessage("user", LAST_CALL, tokenizer=counted_by)]
    request = ModelRequest(
        agent.id,
        [system, *messages],
        tuple(shown),
        agent.temperature,
        agent.top_p,
        agent.max_tokens,
        wanted.stream,
        text_call_hint=agent.text_call_hint,
        output=agent.output.format if agent.output is not None else None,
        tool_choice=choice,
        part=wanted.part,
        own=own,
        meter=wanted.meter,
        takes_written=agent.tool_call_mode != "native",
    )
    # behind the system prompt, and what stands before it
    query = 1 + place + len(beside) if agent.kept is not None else -1
    return Prepared(request, fitted, fixed_tokens, loaded, len(before), query)


def _context(agent: Agent, blocks: Sequence[LoadedBlock]) -> list[ShownMessage]:
    text = context_message(blocks, agent.escape_signals)
    return [ShownMessage("user", text, tokenizer=agent.context.tokenizer)] if text else []


def _newest_query(history: Sequence[Message]) -> Sequence[Message]:
    """Return the person's newest words, as a list of one; none where there are none."""
    return [one for one in history if isinstance(one, UserMessage)][-1:]


def _place_of_query(messages: Sequence[ShownMessage], query: Sequence[ShownMessage]) -> int:
    """Return where the newest query stands in a request; the end where it is left out."""
    places = [place for place, one in enumerate(messages) if any(one is other for other in query)]
    return places[0] if places else len(messages)


def show_messages(
    agent: Agent,
    messages: Sequence[Message],
    context: Context,
    images: Mapping[str, ShownImage] = NO_IMAGES,
) -> list[ShownMessage]:
    """Return messages as an agent is shown them; each is made once."""
    out: list[ShownMessage] = []
    for message in messages:
        known = context.shown.get(id(message))
        if known is None:
            made = show_history(
                [message],
                agent.id,
                client_system=agent.allow_client_system,
                escape=agent.escape_signals,
                tokenizer=agent.context.tokenizer,
                images=images,
            )
            known = context.shown[id(message)] = message, made
        out += known[1]
    return out


def count_blocks(agent: Agent, prepared: Prepared) -> tuple[ShownBlock, ...]:
    """Return what of each block is in a request."""
    loaded, fitted = prepared.loaded, prepared.fitted
    out = [ShownBlock("text", name, tokens=tokens) for name, tokens in agent.context.texts]
    out += [
        ShownBlock(
            block.kind,
            ids=block.ids,
            versions=block.versions,
            tokens=agent.context.tokenizer.count(block.text),
            left_out=int(block.is_late),
            load_millis=block.load_millis,
        )
        for block in (*loaded.before, *loaded.beside)
    ]
    kept = loaded.past[fitted.exchanges :]
    # of what is not fixed, all but the blocks before it
    before = out[len(agent.context.texts) :][: len(loaded.before)]
    history = prepared.tokens - prepared.fixed_tokens - sum(one.tokens for one in before)
    out.append(
        ShownBlock(
            "history",
            ids=tuple(str(one.number) for one in kept),
            tokens=max(0, history),
            left_out=fitted.left_out + int(loaded.history_is_late),
            load_millis=loaded.history_millis,
        )
    )
    return tuple(out)


def messages_through(
    agent: Agent, history: Sequence[Message], context: Context, left_out: int
) -> int:
    """Return up to which message the first `left_out` shown ones after the first reach."""
    shown = len(show_messages(agent, history[:1], context))
    for place in range(1, len(history)):
        if shown > left_out:
            return place
        shown += len(show_messages(agent, history[place : place + 1], context))
    return len(history)
