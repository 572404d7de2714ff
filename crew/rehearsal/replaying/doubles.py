"""A world that says again what it has said in a recording."""

import asyncio
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic_core import to_json, to_jsonable_python

from agents.config import ModelConfig
from agents.costs.usage import Usage
from agents.digests import digests_of
from agents.errors import ModelError
from agents.events import (
    AgentResponded,
    Compacted,
    Shown,
    ToolReturned,
    ToolStarted,
)
from agents.helper import PREFIX
from agents.model import EmitModelEvent, Model, ModelReply, ModelRequest
from crew.engine.approvals import edit_note
from crew.journal.events import Paused, RunFailed
from crew.journal.questions import FormCall, Inquiry, UnknownOutcome
from crew.rehearsal.doubles.real import spend_on
from crew.rehearsal.doubles.spending import Account
from crew.rehearsal.doubles.standing import StandInModel
from crew.rehearsal.doubles.world import World
from crew.rehearsal.replaying.comparison import different_parts
from crew.rehearsal.replaying.failures import FailedAnswer, Failures, Speaker, task_or_call
from crew.rehearsal.replaying.options import ReplayOptions
from crew.rehearsal.replaying.recording import Recording
from tools.calls import CutText, ToolCall, ToolResult
from tools.clock import Clock
from tools.context import ToolContext
from tools.definition import Tool
from tools.errors import PermanentError, TemporaryError
from tools.forms import FormsNeeded


@dataclass(slots=True)
class RecordedDoubles:
    """See crew.assembly.given.Doubles."""

    recording: Recording
    clock: Clock
    options: ReplayOptions
    # pays for real answers; None: there are none
    account: Account | None = None
    # a real model has answered: all that models say since is new
    has_left: bool = False
    world: World = field(default_factory=World)
    # something was wanted that is not recorded: what, in words
    missing: str = ""
    is_missing: asyncio.Event = field(default_factory=asyncio.Event)
    said: dict[Speaker, deque[AgentResponded | FailedAnswer]] = field(init=False)
    compacted: deque[str] = field(init=False)
    results: dict[tuple[str, str], deque[ToolResult]] = field(init=False)
    alike: dict[str, deque[ToolResult]] = field(init=False)
    shown: dict[tuple[str, str], str] = field(init=False)
    forms: dict[str, FormCall] = field(init=False)
    # how often a process was killed during a call, by its agent and id
    killed: Counter[tuple[str, str]] = field(default_factory=Counter)
    # the run's own time was over while something was waited for
    is_late: bool = False

    def __post_init__(self) -> None:
        self.said, self.results = defaultdict(deque), defaultdict(deque)
        self.alike, self.shown, self.forms = defaultdict(deque), {}, {}
        self.compacted, failures = deque(), Failures()
        called: dict[tuple[str, str], ToolStarted] = {}
        for noted in self.recording.events:
            for failed in failures.of(noted.event):
                self.said[failed.speaker].append(failed)
            match noted.event:
                case AgentResponded() as event:
                    self.said[event.agent_id, task_or_call(event)].append(event)
                case Compacted(text=text):
                    self.compacted.append(text)
                case ToolStarted() as event:
                    called[event.agent_id, event.call.id] = event
                case Shown() as event:
                    self.shown[event.agent_id, event.call_id] = to_json(event.data).decode()
                case ToolReturned(agent_id=agent_id, result=result):
                    start = called.get((agent_id, result.call_id))
                    if start is not None and start.edited:
                        output = result.output.removeprefix(edit_note(start.call))
                        result = replace(result, output=output)
                    self.results[agent_id, result.call_id].append(result)
                    if start is not None:
                        made = _alike(agent_id, start.call.tool, start.call.arguments)
                        self.alike[made].append(result)
                case Paused(question=Inquiry() as question):
                    self.forms |= {one.asked.call.id: one for one in question.waiting}
                case Paused(question=UnknownOutcome(calls=calls)):
                    self.killed.update((one.agent_id, one.call.id) for one in calls)
                case RunFailed(reason="timeout"):
                    self.is_late = True

    @property
    def calls_models(self) -> bool:
        """See Doubles."""
        return self.account is not None

    def model(
        self, config: ModelConfig, script: Model | None, itself: Callable[[], Model]
    ) -> Model:
        """See Doubles."""
        is_real = self.account is not None
        own = itself() if is_real else None
        return RecordedModel(config, self.world, self.clock, self, own)

    def helps(self, helper: str) -> bool:
        """See Doubles."""
        return helper == "summary" and bool(self.compacted)

    def tool(self, tool: Tool, result: str | None) -> Tool:
        """See Doubles."""
        if tool.agent_id:
            return tool
        return replace(tool, act=_RecordedTool(tool, self), is_async=True)

    def use(self, result: ToolResult) -> ToolResult:
        """Return a result, which stands for no further call."""
        for queue in self.alike.values():
            places = (place for place, one in enumerate(queue) if one is result)
            if (place := next(places, None)) is not None:
                del queue[place]
        return result

    async def miss(self, text: str) -> None:
        """Note that something is wanted that is not recorded; never returns."""
        if self.is_late:
            # it was never there
            await asyncio.get_running_loop().create_future()
        self.missing = self.missing or text
        self.is_missing.set()
        await asyncio.get_running_loop().create_future()

    async def wait(self, seconds: float) -> None:
        """Let the time of an answer pass."""
        if self.options.takes_time and seconds > 0:
            await self.clock.sleep(seconds)


def _alike(agent_id: str, tool: str, arguments: Mapping[str, Any]) -> str:
    shown = to_json(to_jsonable_python(dict(sorted(arguments.items())), fallback=str)).decode()
    return f"{agent_id} {tool} {shown}"


@dataclass(frozen=True)
class RecordedModel(StandInModel):
    """Answers as a model has answered."""

    doubles: RecordedDoubles
    # None: it is never called
    itself: Model | None

    async def answer(self, request: ModelRequest, emit: EmitModelEvent) -> ModelReply:
        """See StandInModel."""
        doubles, agent_id = self.doubles, request.agent_id
        if agent_id.startswith(PREFIX):
            return await self._summary(agent_id)
        queue = doubles.said.get((agent_id, request.part))
        is_known = bool(queue) and not doubles.has_left
        if queue and is_known and (parts := self._changes(request, queue[0])):
            is_known = False
            if doubles.options.match == "exact" and doubles.account is None:
                await doubles.miss(f"an answer of {agent_id} to another {' and '.join(parts)}")
        if not is_known and self.itself is not None and doubles.account is not None:
            doubles.has_left = True
            return await spend_on(self.itself, doubles.account, self.clock, request, emit)
        if queue:
            match queue.popleft():
                case FailedAnswer(code=None):
                    # it was too late
                    await asyncio.get_running_loop().create_future()
                case FailedAnswer(code=str(code), seconds=seconds, is_last=is_last):
                    await doubles.wait(seconds)
                    text = f"{self.name}: {code}, as it was recorded"
                    raise ModelError(code, text, final=is_last)
                case AgentResponded() as event:
                    await doubles.wait(event.duration_seconds)
                    return _reply_of(event, request.part)
        await doubles.miss(f"a further answer of {agent_id}")
        raise AssertionError("it never returns")

    def _changes(self, request: ModelRequest, said: object) -> tuple[str, ...]:
        """Return what it is sent that it was not then, where that ends what is recorded."""
        options = self.doubles.options
        if options.match != "exact" and self.doubles.account is None:
            return ()
        if not isinstance(said, AgentResponded) or said.asked is None:
            return ()
        own = {id(message) for message in request.own}
        context = sum(id(message) not in own for message in request.messages[1:])
        return different_parts(said.asked, digests_of(request, context))

    async def _summary(self, agent_id: str) -> ModelReply:
        if not self.doubles.compacted:
            raise ModelError("refused", f"{agent_id} is not replayed")
        text = to_json({"summary": self.doubles.compacted.popleft()}).decode()
        return ModelReply(text, model=self.name)


def _reply_of(event: AgentResponded, part: str) -> ModelReply:
    prefix = f"{part}." if part else ""
    calls = tuple(replace(one, id=one.id.removeprefix(prefix)) for one in event.calls)
    if event.is_refused:
        # what it has called is not recorded; it is refused again, whatever it was
        calls = (ToolCall("refused", "refused"),)
    usage = Usage(**{name: getattr(event.usage, name) for name in USAGE})
    native = calls if event.native or event.is_refused else ()
    return ModelReply(
        event.content, native, usage, event.model, event.extra, has_native_calls=event.native
    )


USAGE = (
    *("prompt_tokens", "completion_tokens", "estimated", "thinking_tokens"),
    *("cache_read_tokens", "cache_write_tokens"),
)


@dataclass(frozen=True)
class _RecordedTool:
    """Acts as a tool has acted."""

    tool: Tool
    doubles: RecordedDoubles

    async def __call__(self, arguments: dict[str, Any], context: ToolContext) -> Any:
        """Return what is recorded; raises ToolError, FormsNeeded, TimeoutError."""
        doubles = self.doubles
        await doubles.world.begin()
        if (form := doubles.forms.get(context.call_id)) is not None and context.reply is None:
            raise FormsNeeded(form.forms, form.state)
        result = self._result(arguments, context)
        if result is None and doubles.options.calls_readers and self.tool.effect == "read":
            with doubles.clock.hold():
                return await self.tool.act(arguments, context)
        call = context.agent_id, context.call_id
        if result is None and doubles.killed[call] > 0:
            # it had none either
            doubles.killed[call] -= 1
            await asyncio.get_running_loop().create_future()
        if result is None:
            shown = to_json(to_jsonable_python(arguments, fallback=str)).decode()
            await doubles.miss(f"a result of {self.tool.name}({shown}) by {context.agent_id}")
        assert result is not None, "a missing one never returns"
        failed = doubles.world.given.get(context.key, (0, 0))[0]
        doubles.world.given[context.key] = failed + 1, result
        await doubles.wait(seconds_of_attempt(result))
        if failed < len(result.failed):
            # an attempt before the last one
            raise TemporaryError(result.failed[failed].error)
        await doubles.world.end()
        if result.status == "success":
            known = doubles.shown.get((context.agent_id, result.call_id))
            return _whole(result) if known is None else known
        if result.status == "timeout":
            raise TimeoutError(result.output)
        if result.facts.get("sent") is False:
            context.begin_sending()
        raise PermanentError(result.output)

    def _result(self, arguments: dict[str, Any], context: ToolContext) -> ToolResult | None:
        """Find the recorded result of a call: its own, or that of one like it."""
        doubles = self.doubles
        if known := doubles.world.given.get(context.key):
            found: Any = known[1]
            return found if isinstance(found, ToolResult) else None
        own = doubles.results.get((context.agent_id, context.call_id))
        # the ids of a model that answers anew mean nothing here
        is_own = own and own[0].tool == self.tool.name and own[0].status != "denied"
        if own and is_own and not doubles.has_left:
            return doubles.use(own.popleft())
        alike = doubles.alike.get(_alike(context.agent_id, self.tool.name, arguments))
        return doubles.use(alike[0]) if alike else None


def _whole(result: ToolResult) -> str:
    """Return an output as its tool gave it, as far as it is kept."""
    if result.facts.get("truncated"):
        return CutText(result.output, result.output_chars)
    return result.output


def seconds_of_attempt(result: ToolResult) -> float:
    """Return how long each attempt of a call took: all the same, as only their sum is recorded."""
    waits = sum(one.wait_seconds for one in result.failed)
    return max(0.0, result.duration_seconds - waits) / (len(result.failed) + 1)
