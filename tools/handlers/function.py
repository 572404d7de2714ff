"""A Python function as what a tool does: called in the event loop, or in a thread."""

import functools
import inspect
from collections.abc import Awaitable, Callable
from typing import Any

from tools.context import ToolContext
from tools.errors import TemporaryError
from tools.handlers.running import RunningCall, begin_call, end_call
from tools.handlers.threads import call_in_thread


class Function:
    """A handler, and how it is called."""

    def __init__(
        self, name: str, handler: Callable[..., Any], context_parameter: str | None = None
    ) -> None:
        """Of a handler.

        Args:
            name: the tool's.
            handler: takes the arguments by name.
            context_parameter: its parameter that takes the ToolContext, if it has one.
        """
        self.name, self.handler, self.context_parameter = name, handler, context_parameter
        # else it is called in a thread
        self.is_async = inspect.iscoroutinefunction(handler)

    async def __call__(self, arguments: dict[str, Any], context: ToolContext) -> Any:
        """Call the handler with checked arguments.

        A sync handler runs in a thread, which a cancellation abandons.
        """
        given = self.with_context(arguments, context)
        call = begin_call(self.name)
        if not self.is_async:
            work = functools.partial(self._call_handler, given, call)
            try:
                value = await call_in_thread(work)
            except TemporaryError:
                # there may have been no thread for it
                end_call(call)
                raise
            # a callable object, a partial or a lambda may still return a coroutine
            return await value if isinstance(value, Awaitable) else value
        try:
            return await self.handler(**given)
        finally:
            end_call(call)

    def with_context(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        """Return the handler's arguments."""
        if self.context_parameter is None:
            return arguments
        return {**arguments, self.context_parameter: context}

    def _call_handler(self, arguments: dict[str, Any], call: RunningCall) -> Any:
        try:
            return self.handler(**arguments)
        finally:
            end_call(call)
