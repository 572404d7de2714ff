"""A tool (name, description, JSON schema of its arguments, what it does) and its decorator."""

import hashlib
import json
import re
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, overload

from pydantic_core import to_jsonable_python

from tools.approval import ApprovalRule
from tools.calls import MAX_OUTPUT_BYTES
from tools.context import ToolContext
from tools.errors import ToolError
from tools.handlers.function import Function
from tools.limits.guards import ToolGuard
from tools.limits.results import arguments_key
from tools.schemas.schema import Signature

Effect = Literal["read", "idempotent", "once"]
# of a name, as providers take it
MAX_NAME_CHARS = 64
NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]+")
# checked arguments -> what a call returns
Act = Callable[[dict[str, Any], ToolContext], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Reach:
    """What a tool may do, for people: one line each."""

    # of its entry; "given" by the program, or "builtin"
    kind: str = "given"
    # hosts, servers
    hosts: tuple[str, ...] = ()
    # programs, functions
    runs: tuple[str, ...] = ()
    # folders
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    # what confines it, "" for nothing
    sandbox: str = ""
    # whether its definition is fixed by a lock file; "" where there is none to fix
    pin: str = ""


@dataclass(frozen=True, slots=True)
class Component:
    """What shows the output of a tool, which is JSON, to people."""

    # as the pages know it that show it
    name: str
    # JSON pointer of the part that models get, and direct answers; None: all of it
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Tool:
    """What an agent may call."""

    name: str
    description: str
    parameters: dict[str, Any]
    act: Act
    # a model's arguments to those of `act`; raises ArgumentsError
    check: Callable[[dict[str, Any]], dict[str, Any]]
    timeout_seconds: float | None = None
    retries: int | None = None
    # `read` and `idempotent` may be tried again; `once` never, once it may have acted
    effect: Effect = "idempotent"
    # when a person is asked first; None: never
    approval: ApprovalRule | None = None
    # of its entry: another one is another tool to a person who has approved this one
    entry_hash: str = ""
    max_output_bytes: int = MAX_OUTPUT_BYTES
    # characters of its output that models are shown; 0: as the settings say
    shown_chars: int = 0
    # None: it may be called at any time
    guard: ToolGuard | None = None
    reach: Reach = field(default_factory=Reach)
    # checked arguments -> the call as a person is shown it: method and URL, or argv
    show: Callable[[dict[str, Any]], str] | None = None
    # a model's arguments to those of the function, where `check` leaves that to a process
    read: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    # its output is the agent's answer, where all calls of an answer are such and succeed
    is_direct: bool = False
    # by which its output is shown to people; None: by none
    component: Component | None = None
    # who makes its calls; "" where it does itself
    agent_id: str = ""
    # how long the result of a call that reads is used for the same call; None: not at all
    cache_seconds: float | None = None
    # for all users, not only the one that it was made for
    is_cache_shared: bool = False
    # what it gives is of others, and may ask for what no one wants
    is_untrusted: bool = False
    # it waits for nothing outside of the event loop, whatever `act` is
    is_async: bool = False
    # ends what it holds, such as processes, when no call is made any more
    close: Callable[[], Coroutine[Any, Any, None]] | None = None

    def kept_key(self, arguments: Mapping[str, Any], user: str) -> Hashable:
        """Return by what the result of a call is kept for a while."""
        return self.definition, arguments_key(arguments), "" if self.is_cache_shared else user

    @property
    def leaves_loop(self) -> bool:
        """Whether its calls wait for what is outside of the event loop, as far as is known."""
        return not (self.is_async or (isinstance(self.act, Function) and self.act.is_async))

    @property
    def requires_approval(self) -> bool:
        """Whether some calls need a person's approval."""
        return self.approval is not None

    def needs_approval(self, arguments: dict[str, Any]) -> bool:
        """Return whether a call needs a person's approval.

        Not about one that fails by its arguments.
        """
        if self.approval is None:
            return False
        try:
            read = self._read(arguments)
        except Exception:  # noqa: BLE001 # types of a tool's own may raise anything
            # the executor makes an error of it: a person need not be asked
            return False
        if self.show is not None:
            try:
                self.show(read)
            except ToolError:
                # it can never be sent
                return False
        try:
            return self.approval.applies((arguments, _as_json(read)), self.parameters)
        except Exception:  # noqa: BLE001 # so may what they make
            # what cannot be compared is asked about
            return True

    def allows_edit(self, asked: dict[str, Any], edited: dict[str, Any]) -> bool:
        """Return whether the person who decides on a call may change its arguments."""
        if self.approval is None:
            return False
        try:
            readings = (asked, _as_json(self._read(asked))), (edited, _as_json(self._read(edited)))
        except Exception:  # noqa: BLE001 # see above
            return False
        return self.approval.allows_edit(*readings, self.parameters)

    def _read(self, arguments: dict[str, Any]) -> dict[str, Any]:
        return (self.read or self.check)(arguments)

    @property
    def definition(self) -> str:
        """A digest of what a person who approves a call relies on."""
        known = [self.description, self.parameters, self.effect, repr(self.approval)]
        text = json.dumps([self.name, *known, self.entry_hash], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The plain function, for Python code that calls it directly.

        Raises:
            TypeError: it is not made of a function.
        """
        if not isinstance(self.act, Function):
            raise TypeError(f"the tool {self.name} is no Python function")
        return self.act.handler(*args, **kwargs)


def _as_json(arguments: dict[str, Any]) -> dict[str, Any]:
    values: dict[str, Any] = to_jsonable_python(arguments, fallback=str)
    return values


def tool_name(prefix: str, words: str) -> str:
    """Return a name that providers take, made from another program's name of a tool."""
    return f"{prefix}{NOT_IN_NAMES.sub('_', words).strip('_')}"[:MAX_NAME_CHARS]


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
    """Return a tool from a typed function.

    Schema from its signature, description from its docstring.

    A parameter of the type ToolContext is given the call's, and no part of the schema.

    Raises:
        ToolDefinitionError: the signature makes no schema.
    """
    signature = Signature.of(function)
    name = name or function.__name__
    return Tool(
        name=name,
        description=description or signature.description,
        parameters=signature.parameters,
        act=Function(name, function, signature.context_parameter),
        check=signature.check,
        timeout_seconds=timeout_seconds,
        retries=retries,
        effect=effect,
        approval=ApprovalRule() if requires_approval else None,
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
