"""A call of one of the crew's tools, from its arguments to its result."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, aclosing
from typing import Any, Protocol

import anyio
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    InputRequiredResult,
)

from crew.journal.query import Answer
from crew.journal.records.rows import RunRow
from crew.runs.runs import Runs
from server.protocols.folds import GOING_DOWN, speech_of
from server.protocols.mcp.forms import answer_of_forms, forms_for
from server.protocols.mcp.offered import SCHEMAS, asking_tool
from server.protocols.mcp.results import ResultFold, result_of_call
from server.protocols.pauses import answer_in_words
from server.tokens import Caller
from tools.errors import ArgumentsError

# for a run to end, when its client has left
CANCEL_SECONDS = 5
# gets how many steps were made, and the words of the newest
Report = Callable[[int, str], Awaitable[None]]


class CallRefused(Exception):
    """A call that is answered with an error; its text says why."""


class CrewAccess(Protocol):
    """Who calls, and what it may do with the crew's runs; errors are `CallRefused`."""

    @property
    def runs(self) -> Runs:
        """The crew's runs."""
        ...

    @property
    def caller(self) -> Caller:
        """Who calls."""
        ...

    async def start(self, query: str, conversation_id: str | None) -> tuple[str, int]:
        """Start a run; its id, and the number of the event before its segment."""
        ...

    async def answer(self, run_id: str, answer: Answer) -> tuple[str, int]:
        """Answer a paused run; the same."""
        ...

    async def row(self, run_id: str) -> RunRow:
        """Return a run of the caller."""
        ...

    def require_look(self) -> None:
        """Refuse callers that may not look at runs."""
        ...

    async def cancel(self, run_id: str) -> None:
        """End a run that the caller has started."""
        ...

    def listen(self, run_id: str) -> AbstractContextManager[Any]:
        """Listen to a run that is needed for so long."""
        ...

    def answer_place(self, run_id: str) -> str:
        """Return where a person answers a paused run: an address, or a command."""
        ...


class CrewCall:
    """One call."""

    def __init__(self, access: CrewAccess, report: Report, *, elicits: bool, cancels: bool) -> None:
        """Of a client.

        Args:
            access: what it may use.
            report: gets how far the run is.
            elicits: it can show its person a form.
            cancels: a request that is closed is cancelled, by the version of the protocol.
        """
        self.access, self.report, self.elicits, self.cancels = access, report, elicits, cancels

    async def result(self, params: CallToolRequestParams) -> CallToolResult | InputRequiredResult:
        """Return what the call comes to; raises MCPError for a tool that there is not."""
        name = asking_tool(self.access.runs.crew)
        kind = params.name.removeprefix(name)
        if not params.name.startswith(name) or kind not in SCHEMAS:
            # the version of 2025 and later ones have it as an error of the protocol
            raise MCPError(INVALID_PARAMS, f"there is no tool {params.name[:100]}")
        try:
            given = SCHEMAS[kind].check(dict(params.arguments or {}))
        except ArgumentsError as error:
            return result_of_call(f"wrong arguments: {error}", is_error=True)
        try:
            match kind:
                case "_run":
                    return self._shown(await self._look(given["run_id"]))
                case _ if params.request_state is not None:
                    # also of an answer in words, behind which the run asked again
                    return await self._go_on(params.request_state, params.input_responses or {})
                case "_reply":
                    return await self._reply(given)
                case _:
                    started = await self.access.start(given["query"], given.get("conversation_id"))
                    return await self._wait(*started, is_own=True)
        except CallRefused as error:
            return result_of_call(str(error), is_error=True)

    async def _reply(self, given: Mapping[str, Any]) -> CallToolResult | InputRequiredResult:
        fold = await self._look(given["run_id"])
        questions = fold.questions
        if not questions or questions[0].seq != given["pause"]:
            raise CallRefused("the run does not wait in this pause")
        if questions[0].is_about_call:
            place = self.access.answer_place(given["run_id"])
            raise CallRefused(f"a person decides about this: {place}")
        words = answer_in_words(given["text"], given["pause"], self.access.caller, deltas=False)
        return await self._wait(*await self.access.answer(given["run_id"], words), is_own=True)

    async def _go_on(
        self, state: str, responses: Mapping[str, Any]
    ) -> CallToolResult | InputRequiredResult:
        """Go on with a run by what its person has filled in."""
        run_id, _, seq = state.partition(":")
        fold = await self._look(run_id)
        if not fold.questions or str(fold.questions[0].seq) != seq:
            # it was answered elsewhere meanwhile
            return self._shown(fold)
        if not self.elicits:
            # no form was shown: what is said here is no person's
            return self._shown(fold)
        answer = answer_of_forms(fold.questions, responses, self.access.caller)
        if answer is None:
            return self._shown(fold)
        return await self._wait(*await self.access.answer(run_id, answer), is_own=True)

    def _shown(self, fold: ResultFold) -> CallToolResult:
        """Return what a run has come to, for callers that may look; raises CallRefused."""
        self.access.require_look()
        return fold.result()

    async def _look(self, run_id: str) -> ResultFold:
        row, runs = await self.access.row(run_id), self.access.runs
        fold = self._fold(row.run_id)
        async with aclosing(runs.stored(row.run_id)) as events:
            async for event in events:
                fold.add(event)
        return fold

    def _fold(self, run_id: str) -> ResultFold:
        crew = self.access.runs.crew
        reply = f"{asking_tool(crew)}_reply"
        return ResultFold(run_id, speech_of(crew), self.access.answer_place(run_id), reply)

    async def _wait(
        self, run_id: str, before: int, *, is_own: bool = False
    ) -> CallToolResult | InputRequiredResult:
        """Wait for the end of a segment; `is_own`: a client that leaves ends the run."""
        runs = self.access.runs
        fold, steps = self._fold(run_id), 0
        try:
            with self.access.listen(run_id):
                async with aclosing(runs.follow(run_id, 0)) as events:
                    async for event in events:
                        if event is None or event.seq is None:
                            continue
                        for frame in fold.add(event):
                            steps += 1
                            if (frame.seq or 0) > before:
                                await self.report(steps, str(frame.document)[:500])
                        if event.ends_segment and event.seq > before:
                            break
        except asyncio.CancelledError:
            # a request that is closed is over, as MCP demands
            if is_own and self.cancels:
                with anyio.CancelScope(shield=True), anyio.move_on_after(CANCEL_SECONDS):
                    await self.access.cancel(run_id)
            raise
        if fold.document["status"] == "running":
            raise CallRefused(f"{GOING_DOWN}: run {run_id}")
        # a budget needs an amount, which is no yes
        can_be_form = all(one.question != "budget" for one in fold.questions)
        if fold.questions and self.elicits and can_be_form:
            return forms_for(fold.questions)
        return fold.result()
