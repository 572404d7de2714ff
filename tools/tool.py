"""A tool (name, description, JSON schema of its arguments, handler) and its decorator."""

import functools
import inspect
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Literal, overload

from tools.errors import TemporaryError
from tools.running import RunningCall, begin_call, end_call
from tools.schema import Signature
from tools.threads import call_in_thread

Effect = Literal["read", "idempotent", "once"]


@dataclass(frozen=True, slots=True)
class Tool:
    """What an agent may call."""

    name: str
    description: str
    parameters: dict[str, Any]
    handler: Callable[..., Any]
    # a model's arguments to the handler's keyword arguments; raises ArgumentsError
    check: Callable[[dict[str, Any]], dict[str, Any]]
    timeout_seconds: float | None = None
    retries: int | None = None
    # `read` and `idempotent` may be tried again; `once` never, once it may have acted
    effect: Effect = "idempotent"
    requires_approval: bool = False
    # ends what it holds, such as processes, when no call is made any more
    close: Callable[[], Coroutine[Any, Any, None]] | None = None

    async def call(self, arguments: dict[str, Any]) -> Any:
        """Call the handler with checked arguments.

        A sync handler runs in a thread, which a cancellation abandons.
        """
        call = begin_call(self.name)
        if not inspect.iscoroutinefunction(self.handler):
            work = functools.partial(self._call_handler, arguments, call)
            try:
                value = await call_in_thread(work)
            except TemporaryError:
                # there may have been no thread for it
                end_call(call)
                raise
            # a callable object, a partial or a lambda may still return a coroutine
            return await value if isinstance(value, Awaitable) else value
        try:
            return await self.handler(**arguments)
        finally:
            end_call(call)

    def _call_handler(self, arguments: dict[str, Any], call: RunningCall) -> Any:
        try:
            return self.handler(**arguments)
        finally:
            end_call(call)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The plain function, for Python code that calls it directly."""
        return self.handler(*args, **kwargs)


def tool_from(
    function: Callable[..., Any],
    *,
    name: str | None = None,
    description: str | None = None,
    timeout_seconds: float | None = None,
    retries: int | None = None,
    effect: Effect = "idempotent",
    requires_approval: bool = False,
) -> Tool:
    """A tool from a typed function: schema from its signature, description from its docstring.

    Raises:
        ToolDefinitionError: the signature makes no schema.
    """
    signature = Signature.of(function)
    return Tool(
        name=name or function.__name__,
        description=description or signature.description,
        parameters=signature.parameters,
        handler=function,
        check=signature.check,
        timeout_seconds=timeout_seconds,
        retries=retries,
        effect=effect,
        requires_approval=requires_approval,
    )


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    timeout_seconds: float | None = None,
    retries: int | None = None,
    effect: Effect = "idempotent",
    requires_approval: bool = False,
) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(
    function: Callable[..., Any] | None = None, /, **settings: Any
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Make a tool of a typed function: `@tool`, or `@tool(timeout_seconds=20, effect="once")`."""
    if function is not None:
        return tool_from(function)
    return lambda f: tool_from(f, **settings)
