"""The crew as one HTTP request may use it."""

from contextlib import AbstractContextManager, suppress
from typing import Any

from mcp.server.lowlevel.server import Server
from starlette.requests import Request

from crew.errors import CrewError
from crew.journal.query import Answer
from crew.journal.records.rows import RunRow
from crew.runs.runs import Runs
from server.http.callers.rights import caller_of, own_run, require
from server.http.endpoints.starting import start_or_resume
from server.http.errors import HttpProblem, problem_of
from server.http.services import services_of
from server.protocols.answers import resume_with
from server.protocols.clients import ClientWords, start_from
from server.protocols.mcp.calling import CallRefused, CrewAccess
from server.protocols.mcp.serving import Context, mcp_server
from server.settings import ServerSettings
from server.tokens import Caller


def http_server(runs: Runs) -> Server[Any]:
    """Return the server of a crew for requests over HTTP."""
    return mcp_server(lambda: runs.crew, _access)


def _access(context: Context) -> CrewAccess:
    request = context.request
    assert isinstance(request, Request), "it came over HTTP"
    return RequestAccess(request)


class RequestAccess:
    """The crew as one request may use it; see CrewAccess."""

    def __init__(self, request: Request) -> None:
        self.request = request

    @property
    def runs(self) -> Runs:
        """The crew's runs."""
        return services_of(self.request).runs

    @property
    def caller(self) -> Caller:
        """Who calls."""
        return caller_of(self.request)

    async def start(self, query: str, conversation_id: str | None) -> tuple[str, int]:
        """Start a run."""
        words = ClientWords([("user", query)])
        try:
            wanted, source = start_from(self.request, words, conversation_id, deltas=False)
            started = await start_or_resume(self.request, wanted, source=source)
        except (HttpProblem, CrewError) as error:
            raise await self._refused(error) from error
        return started.run_id, started.before

    async def answer(self, run_id: str, answer: Answer) -> tuple[str, int]:
        """Answer a paused run."""
        try:
            wanted = resume_with(self.request, run_id, answer)
            started = await start_or_resume(self.request, wanted)
        except (HttpProblem, CrewError) as error:
            raise await self._refused(error) from error
        return started.run_id, started.before

    async def row(self, run_id: str) -> RunRow:
        """Return a run of the caller."""
        try:
            return await own_run(self.request, run_id)
        except (HttpProblem, CrewError) as error:
            raise await self._refused(error) from error

    def require_look(self) -> None:
        """Refuse callers without the scope."""
        try:
            require(self.request, "read")
        except HttpProblem as problem:
            raise CallRefused(problem.detail) from None

    async def cancel(self, run_id: str) -> None:
        """End a run that the caller has started."""
        services = services_of(self.request)
        with suppress(CrewError):
            await services.runs.cancel(run_id, self.request.state.request_id)
            await services.auditor.record(self.request, "cancel", run_id)

    def answer_place(self, run_id: str) -> str:
        """Return the address of the run's page."""
        settings: ServerSettings = self.request.app.state.settings
        return f"{settings.base_for(str(self.request.base_url))}/runs/{run_id}"

    def listen(self, run_id: str) -> AbstractContextManager[Any]:
        """Listen to a run."""
        return services_of(self.request).listeners.listen(run_id, needed=False)

    async def _refused(self, error: Exception) -> CallRefused:
        problem = await problem_of(self.request, error)
        if problem is None:
            raise error
        return CallRefused(problem.detail)
