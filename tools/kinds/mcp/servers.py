"""One supervisor for each MCP server: it connects, starts it anew, and reports its state.

All of it is in the event loop of `loop`, but for what says so.
"""

import asyncio
import importlib
import logging
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from tools.context import ToolContext
from tools.errors import PermanentError
from tools.kinds.mcp.definitions import Definition, SessionEndedError
from tools.kinds.mcp.loop import SERVER_LOOP
from tools.kinds.mcp.plan import ServerPlan
from tools.limits.retry import backoff_seconds

log = logging.getLogger(__name__)

State = Literal["idle", "starting", "up", "down"]
FIRST_WAIT_SECONDS = 0.5
LONGEST_WAIT_SECONDS = 30.0
# so many failed starts within so long: down
MAX_FAILURES = 5
FAILURE_SECONDS = 60.0
# a server that was up so long had started
STEADY_SECONDS = 5.0
# of the time of a call that waits for its server, to say why it waited
MARGIN_SHARE = 0.1
# a server that was listed when files were read is kept so long for a first call
LINGER_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """How a server is."""

    name: str
    state: State
    since: datetime
    # why it is not up
    reason: str
    restarts: int


class SharedServer:
    """A server of this process, shared by all revisions of the crew that describe it alike."""

    def __init__(self, plan: ServerPlan) -> None:
        self.plan = plan
        self.users = 0
        self._link: Any = None
        self._state: State = "idle"
        self._since = datetime.now(UTC)
        self._reason = ""
        self._starts = 0
        # when it failed or ended, in a row without a call; of more the wait is the longest
        self._failures: deque[float] = deque(maxlen=10)
        self._failed_starts = 0
        # set to start it at once, though it has failed
        self._wanted = asyncio.Event()
        self._has_served = False
        # replaced when the state changes
        self._news = asyncio.Event()
        self._lost = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._is_closing = False

    @property
    def status(self) -> ServerStatus:
        """How it is now."""
        restarts = max(0, self._starts - 1)
        return ServerStatus(self.plan.name, self._state, self._since, self._reason, restarts)

    async def list_tools(self) -> list[Definition]:
        """List the tools as they are now; the server is started unless it is up.

        Raises:
            ConnectionError: it cannot be reached.
        """
        if self._link is not None:
            seconds = self.plan.startup_seconds
            try:
                async with asyncio.timeout(seconds):
                    found: list[Definition] = await self._link.list_tools()
            except TimeoutError:
                text = f"it has not listed its tools within {seconds:g} s"
                raise ConnectionError(text) from None
            return found
        before = self._failed_starts
        self._wanted.set()
        self._begin()
        while self._link is None and self._failed_starts == before:
            await self._news.wait()
        if self._link is None:
            raise ConnectionError(self._reason)
        return list(self._link.definitions.values())

    async def call(
        self, definition: Definition, arguments: dict[str, Any], context: ToolContext
    ) -> str:
        """Call a tool when the server is up.

        Raises:
            ConnectionError: it is not, or its answer is lost.
            PermanentError: the tool is not the one that was described, or failed.
        """
        context.begin_sending()
        link = await self._up(context)
        self._require_same(definition, link.definitions.get(definition.name), context)
        self._has_served = True
        try:
            text: str = await link.call(definition.name, arguments, context)
        except ConnectionError as error:
            if isinstance(error, SessionEndedError):
                self._lose("the server did not know the session any more")
            reason = self._reason if self._lost.is_set() else str(error)
            raise ConnectionError(f"the MCP server {self.plan.name}: {reason}") from error
        return text

    def _require_same(
        self, known: Definition, now: Definition | None, context: ToolContext
    ) -> None:
        """Refuse a tool that is another one than people and models know."""
        if now is not None and now.digest == known.digest:
            return
        what = "is gone from" if now is None else "is described otherwise by"
        text = f"the tool {known.name} {what} the MCP server {self.plan.name}"
        text = f"{text} since it was looked at; `crew tools DIR --lock` takes it as it is now"
        context.warn("tool_changed", text)
        raise PermanentError(text)

    def _begin(self) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.ensure_future(self._supervise())

    async def _up(self, context: ToolContext) -> Any:
        self._begin()
        with suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, context.remaining_seconds * (1 - MARGIN_SHARE))):
                while self._link is None and self._state != "down":
                    await self._news.wait()
        if self._link is not None:
            return self._link
        text = f"the MCP server {self.plan.name} is not up"
        if self._state == "down":
            text = f"{text} since {self._since:%Y-%m-%dT%H:%M:%SZ}"
            context.warn("mcp_down", f"{text}: {self._reason}")
        raise ConnectionError(f"{text}: {self._reason}" if self._reason else text)

    async def _supervise(self) -> None:
        """Connect, and connect anew, until it is closed."""
        while not self._is_closing:
            self._starts += 1
            self._lost.clear()
            if self._state != "down":
                self._change("starting", self._reason)
            await self._wait_to_start(await self._serve())

    async def _serve(self) -> str:
        """Connect once; why it has ended."""
        # takes its time to import, which the event loop should not wait for
        client = await asyncio.to_thread(importlib.import_module, "tools.kinds.mcp.client")
        try:
            async with client.connected(self.plan, self._lose) as self._link:
                await self._until_lost()
            return self._reason
        except asyncio.CancelledError:
            task = asyncio.current_task()
            # a flood of messages can swallow the cancellation of `close`
            if task is None or task.cancelling() or self._is_closing:
                raise
            return "the connection was cancelled from inside"
        except Exception as error:
            if isinstance(error, client.ServerError):
                return str(error)
            log.warning("the MCP server %s", self.plan.name, exc_info=error)
            return self._reason or str(error) or type(error).__name__
        finally:
            self._link = None

    async def _until_lost(self) -> None:
        """Be up, until the connection is lost."""
        self._change("up", "")
        self._has_served = False
        began = asyncio.get_running_loop().time()
        try:
            await self._lost.wait()
        finally:
            lasted = asyncio.get_running_loop().time() - began
            if self._has_served or lasted > STEADY_SECONDS:
                self._failures.clear()

    def _lose(self, reason: str) -> None:
        self._link = None
        self._reason = reason or "the connection was lost"
        self._lost.set()

    async def _wait_to_start(self, reason: str) -> None:
        now = asyncio.get_running_loop().time()
        self._failures.append(now)
        recent = sum(now - moment < FAILURE_SECONDS for moment in self._failures)
        is_down = self._state == "down" or recent >= MAX_FAILURES
        tries = len(self._failures) - 1
        seconds = backoff_seconds(tries, FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS)
        if is_down:
            seconds = LONGEST_WAIT_SECONDS
            if self._state != "down":
                log.warning("the MCP server %s is down: %s", self.plan.name, reason)
        self._failed_starts += 1
        self._wanted.clear()
        self._change("down" if is_down else "starting", reason)
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._wanted.wait()

    def _change(self, state: State, reason: str) -> None:
        if state != self._state:
            self._since = datetime.now(UTC)
        self._state, self._reason = state, reason
        news, self._news = self._news, asyncio.Event()
        news.set()

    async def close(self) -> None:
        """End it."""
        task, self._task = self._task, None
        if task is not None:
            self._is_closing = True
            task.cancel()
            await asyncio.wait({task})
            self._is_closing = False
        self._change("idle", "")


class Lease:
    """Of one server, for the tools of one revision of a crew; taken by their first call."""

    def __init__(self, key: str, plan: ServerPlan) -> None:
        """`key`: by which servers that are described alike are one."""
        self.key, self.plan = key, plan
        # the server, while it is taken
        self.server: SharedServer | None = None


class Servers:
    """The MCP servers of a process; its public methods are for any thread and event loop."""

    def __init__(self) -> None:
        self._by_key: dict[str, SharedServer] = {}
        self._ending: set[asyncio.Task[None]] = set()
        SERVER_LOOP.users.add(self)

    def list_tools(self, lease: Lease, *, keeps: bool) -> list[Definition]:
        """List the tools of a server as they are now.

        Args:
            lease: of it; not taken by this.
            keeps: it goes on for a while, for a first call.

        Raises:
            ConnectionError: it cannot be reached.
        """
        return SERVER_LOOP.submit(self._list_tools(lease, keeps=keeps)).result()

    async def call(
        self,
        lease: Lease,
        definition: Definition,
        arguments: dict[str, Any],
        context: ToolContext,
    ) -> str:
        """Call a tool. See `SharedServer.call`."""
        return await SERVER_LOOP.do(self._call(lease, definition, arguments, context))

    def end(self, lease: Lease) -> None:
        """End a server that was listed in vain, if it has no other use."""
        SERVER_LOOP.submit(self._release(lease)).result()

    async def release(self, lease: Lease) -> None:
        """Give a server back; the last one ends it."""
        await SERVER_LOOP.do(self._release(lease))

    @property
    def statuses(self) -> list[ServerStatus]:
        """How those are that are used."""
        return [server.status for server in list(self._by_key.values()) if server.users]

    async def _list_tools(self, lease: Lease, *, keeps: bool) -> list[Definition]:
        server = self._get(lease)
        # it is in use meanwhile: nothing else ends it
        server.users += 1
        try:
            found = await server.list_tools()
        except BaseException:
            keeps = False
            raise
        finally:
            server.users -= 1
            if not keeps:
                await self._end_unused(lease.key)
        if keeps:
            self._end_later(lease.key)
        return found

    async def _call(
        self,
        lease: Lease,
        definition: Definition,
        arguments: dict[str, Any],
        context: ToolContext,
    ) -> str:
        if lease.server is None:
            lease.server = self._get(lease)
            lease.server.users += 1
        return await lease.server.call(definition, arguments, context)

    async def _release(self, lease: Lease) -> None:
        server, lease.server = lease.server, None
        if server is not None:
            server.users -= 1
        await self._end_unused(lease.key)

    def _get(self, lease: Lease) -> SharedServer:
        return self._by_key.setdefault(lease.key, SharedServer(lease.plan))

    def _end_later(self, key: str) -> None:
        def end() -> None:
            # kept until it has ended
            ending = asyncio.ensure_future(self._end_unused(key))
            self._ending.add(ending)
            ending.add_done_callback(self._ending.discard)

        asyncio.get_running_loop().call_later(LINGER_SECONDS, end)

    async def _end_unused(self, key: str) -> None:
        server = self._by_key.get(key)
        if server is not None and not server.users:
            del self._by_key[key]
            await server.close()

    async def end_all(self) -> None:
        """End them, at the end of the process."""
        await asyncio.gather(*(server.close() for server in self._by_key.values()))
