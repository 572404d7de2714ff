"""What answers in place of the models of a crew."""

import re
from dataclasses import dataclass

from agents.costs.usage import Usage
from agents.errors import ModelError
from agents.model import EmitModelEvent, Model, ModelReply, ModelRequest, TextDelta
from agents.providers.scripted import Heard, Rule
from crew.rehearsal.doubles.faults import Faults
from crew.rehearsal.doubles.queue import Entry, InOrder
from crew.rehearsal.doubles.standing import StandInModel
from crew.rehearsal.files.bound import Case
from crew.rehearsal.keys.models import SaidAnswer
from tools.calls import ToolCall


class Answers:
    """What the models of a rehearsal say, by who speaks."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.by_speaker = {
            speaker: InOrder(
                [
                    Entry(one, case.source("says", speaker, n), one.times, needed)
                    for n, one in enumerate(given)
                ]
            )
            for speaker, given in case.keys.says.items()
            for needed in (case.must_be_used("says", speaker),)
        }

    def speaker(self, request: ModelRequest) -> str:
        """Return by which of its names a request's agent speaks: on a task of a plan, or at all."""
        on_task = f"{request.agent_id}/{request.part}"
        return on_task if on_task in self.by_speaker else request.agent_id

    def take(self, speaker: str, heard: Heard) -> SaidAnswer | None:
        """Take the answer that is next; None where none is left."""
        given = self.by_speaker[speaker]
        if (entry := given.take(lambda one: _is_shown(one, heard))) is not None:
            return entry.value
        if self.case.keys.otherwise == "last" and given.last is not None:
            return given.last.value
        return None


def _is_shown(answer: SaidAnswer, heard: Heard) -> bool:
    if (when := answer.when) is None:
        return True
    rule = Rule(hears=when.hears, seen=when.seen, matches=when.matches, after=when.after)
    return heard.fits(rule, "")


@dataclass(frozen=True)
class ModelDouble(StandInModel):
    """Answers in place of a model as the rehearsal says."""

    # by script.yaml, if there is one
    script: Model | None
    answers: Answers
    faults: Faults

    async def answer(self, request: ModelRequest, emit: EmitModelEvent) -> ModelReply:
        """See StandInModel."""
        cut = await self.faults.occur(self.config, request, self.clock)
        heard, speaker = Heard.of(request.messages), self.answers.speaker(request)
        if speaker not in self.answers.by_speaker:
            return await self._reply_by_script(request, emit)
        key = _key(speaker, request)
        before = self.world.given_before(key)
        answer = before if isinstance(before, SaidAnswer) else self.answers.take(speaker, heard)
        if answer is not None:
            self.world.give(key, answer)
        else:
            text = f"{speaker} is asked once more, and says has no answer left for it"
            raise self._no_answer(text, "says", speaker)
        return await self._say(answer, request, heard, emit, answer.cut if cut is None else cut)

    async def _reply_by_script(self, request: ModelRequest, emit: EmitModelEvent) -> ModelReply:
        case, agent_id = self.answers.case, request.agent_id
        if case.keys.otherwise != "script":
            raise self._no_answer(f"{agent_id} is asked, and has no says", "says")
        if self.script is None:
            text = f"{agent_id} is asked, and has no says; nor is there a script.yaml"
            raise self._no_answer(text, "says")

        async def emit_text(event: object) -> None:
            # the request is counted as one of the model that this stands for
            if isinstance(event, TextDelta):
                await emit(event)

        try:
            return await self.script.reply(request, emit_text)
        except ModelError as error:
            if error.code == "no_rule":
                text = f"{agent_id} is asked, has no says, and {error}"
                raise self._no_answer(text, "says") from None
            raise

    def _no_answer(self, text: str, *path: str) -> ModelError:
        self.world.add("no-answer", text, self.answers.case.source(*path))
        return ModelError("no_rule", text)

    async def _say(
        self,
        answer: SaidAnswer,
        request: ModelRequest,
        heard: Heard,
        emit: EmitModelEvent,
        cut: int | None,
    ) -> ModelReply:
        if (failure := answer.fail) is not None:
            await self.clock.sleep(answer.seconds)
            text = f"{self.name}: {failure.code}, as the rehearsal says"
            raise ModelError(failure.code, text, retry_after_seconds=failure.retry_after)
        content = heard.fill(answer.text)
        await self._write(content[:cut], answer.seconds, emit, stream=request.stream)
        if cut is not None:
            text = f"{self.name}: the answer broke off after {cut} characters"
            raise ModelError("unreadable", text)
        if not content.strip() and not answer.calls:
            raise ModelError("empty", f"{self.name}: the answer is empty")
        number = heard.answers + 1
        calls = tuple(
            ToolCall(f"call_{number}_{n}", call.tool, dict(call.arguments))
            for n, call in enumerate(answer.calls, 1)
        )
        usage = _usage(answer, request, content)
        return ModelReply(content, calls, usage, self.name, has_native_calls=bool(calls))

    async def _write(
        self, content: str, seconds: float, emit: EmitModelEvent, *, stream: bool
    ) -> None:
        pieces = re.findall(r"\S+\s*|\s+", content) if stream else []
        if not pieces and seconds:
            await self.clock.sleep(seconds)
        for piece in pieces:
            if seconds:
                await self.clock.sleep(seconds / len(pieces))
            await emit(TextDelta(piece))


def _key(speaker: str, request: ModelRequest) -> str:
    texts = "\0".join(message.content for message in request.messages)
    return f"{speaker}\0{request.attempt}\0{texts}"


def _usage(answer: SaidAnswer, request: ModelRequest, content: str) -> Usage:
    """Return what is given, else what the texts are as we count them."""
    if (given := answer.usage) is None:
        tokens = sum(message.tokens for message in request.messages)
        return Usage(tokens, request.tokenizer.count_message(content))
    return Usage(
        given.input,
        given.output,
        thinking_tokens=given.thinking,
        cache_read_tokens=given.cache_read,
    )
