"""The crew for a program on this machine that starts it (`crew mcp`): JSON-RPC over its pipes."""

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress

from mcp.server.stdio import stdio_server

from crew.config.errors import LostConfiguration
from crew.errors import CrewError
from crew.journal.query import Answer, Query, Source, is_blank, text_error
from crew.journal.records.rows import RunRow
from crew.runs.errors import UnknownRun
from crew.runs.runs import Runs
from server.http.errors import HttpProblem
from server.http.requests import check_length
from server.protocols.answers import require_bounded_answer
from server.protocols.clients import label_of
from server.protocols.mcp.calling import CallRefused
from server.protocols.mcp.serving import mcp_server
from server.tokens import Caller


async def serve_stdio(runs: Runs, caller: Caller) -> None:
    """Serve until the input ends; `caller`: the user of this machine."""
    server = mcp_server(lambda: runs.crew, lambda _: LocalAccess(runs, caller))
    async with stdio_server() as (reading, writing):
        # what tools print is none of the protocol's
        with redirect_stdout(sys.stderr):
            await server.run(reading, writing, server.create_initialization_options())


class LocalAccess:
    """The crew as the user of this machine may use it; see CrewAccess."""

    def __init__(self, runs: Runs, caller: Caller) -> None:
        self._runs, self._caller = runs, caller

    @property
    def runs(self) -> Runs:
        """The crew's runs."""
        return self._runs

    @property
    def caller(self) -> Caller:
        """Who calls."""
        return self._caller

    async def start(self, query: str, conversation_id: str | None) -> tuple[str, int]:
        """Start a run."""
        try:
            settings, label = self._runs.crew.config.settings, "mcp"
            check_length(query, settings)
            blank = "has no words in it" if is_blank(query) else ""
            if wrong := text_error(query) or blank:
                raise CallRefused(f"query: {wrong}")
            if conversation_id and self._runs.crew.config.conversations is None:
                label, conversation_id = label_of(conversation_id), None
            wanted = Query(query, conversation_id=conversation_id or "")
            source = Source("api", label)
            run = await self._runs.start(wanted, by=self._caller.name, source=source)
        except HttpProblem as problem:
            raise CallRefused(problem.detail) from None
        except (CrewError, LostConfiguration) as error:
            raise CallRefused(str(error)) from None
        return run.id, run.before

    async def answer(self, run_id: str, answer: Answer) -> tuple[str, int]:
        """Answer a paused run."""
        try:
            require_bounded_answer(answer, self._runs.crew.config.settings)
            run = await self._runs.resume(run_id, answer)
        except HttpProblem as problem:
            raise CallRefused(problem.detail) from None
        except (CrewError, LostConfiguration) as error:
            raise CallRefused(str(error)) from None
        return run.id, run.before

    async def row(self, run_id: str) -> RunRow:
        """Return a run."""
        try:
            return await self._runs.row(run_id)
        except UnknownRun as error:
            raise CallRefused(str(error)) from None

    def require_look(self) -> None:
        """Let all look that may start the command."""

    async def cancel(self, run_id: str) -> None:
        """End a run that the caller has started."""
        with suppress(CrewError):
            await self._runs.cancel(run_id)

    def answer_place(self, run_id: str) -> str:
        """Return the command by which the person answers."""
        folder = shlex.quote(str(self._runs.crew.sources.folder))
        return f"crew run {folder} ANSWER --answer {run_id}"

    @contextmanager
    def listen(self, run_id: str) -> Iterator[None]:
        """Listen to a run: no one else does here."""
        yield
