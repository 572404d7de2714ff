"""What acts in place of the tools of a crew."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic_core import to_json, to_jsonable_python

from crew.assembly.description import DESCRIBE_CREW
from crew.rehearsal.doubles.faults import Faults
from crew.rehearsal.doubles.queue import Entry, InOrder
from crew.rehearsal.doubles.world import Act, World
from crew.rehearsal.files.bound import Case
from crew.rehearsal.keys.faults import Fault
from crew.rehearsal.keys.results import Returned
from crew.rehearsal.matching import is_like
from tools.builtin.documents import DOCUMENT_TOOLS
from tools.builtin.memory import MEMORY_TOOLS
from tools.clock import Clock
from tools.context import ToolContext
from tools.definition import Tool
from tools.errors import PermanentError, TemporaryError
from tools.forms import Form, FormsNeeded
from tools.kinds.mcp.tool import server_of

# they act on nothing but what the rehearsal itself keeps
OWN = frozenset({DESCRIBE_CREW, *(one.name for one in (*MEMORY_TOOLS, *DOCUMENT_TOOLS))})
# of a result that is longer than any limit
TOO_LONG = 2**21
# what a server asks for that asks
ASKED_FORM = {"type": "object", "properties": {"answer": {"type": "string"}}}
# of the time that a call has left, what a slow one takes
SLOW_PART = 0.9


class ToolResults:
    """What the tools of a rehearsal return, by their names."""

    def __init__(self, case: Case, *, repeats: bool) -> None:
        """`repeats`: the last result that fits is given once more where none is left."""
        self.case, self.repeats = case, repeats
        self.by_tool = {
            name: InOrder(
                [
                    Entry(one, _source(case, name, n), one.times, needed)
                    for n, one in enumerate(given)
                ]
            )
            for name, given in case.keys.returns.items()
            for needed in (case.must_be_used("returns", name),)
        }

    def take(self, name: str, arguments: Any) -> Entry[Returned] | None:
        """Take the result that is next for these arguments; None where none is left."""
        given = self.by_tool[name]

        def fits(one: Returned) -> bool:
            return is_like(one.with_, arguments)

        entry = given.take(fits)
        if entry is None and self.repeats:
            alike = [one for one in given.entries if fits(one.value)]
            return alike[-1] if alike else None
        return entry


def _source(case: Case, name: str, number: int) -> str:
    path = ("returns", name)
    node = case.node.find(path)
    is_list = node is not None and isinstance(node.value, list)
    return case.source(*path, number) if is_list else case.source(*path)


@dataclass(frozen=True)
class ToolDouble:
    """Acts in place of a tool."""

    tool: Tool
    # by script.yaml
    result: str | None
    results: ToolResults
    faults: Faults
    world: World
    clock: Clock
    # tools that must not be called twice may be called where the rehearsal says `real`
    may_act: bool

    def replaced(self) -> Tool:
        """Return the tool with this in place of what it does."""
        given = self.results.by_tool.get(self.tool.name)
        if self.tool.agent_id or (given is None and self.tool.name in OWN):
            return self.tool
        return replace(self.tool, act=self, is_async=True)

    async def __call__(self, arguments: dict[str, Any], context: ToolContext) -> Any:
        """Return what the rehearsal says; raises ToolError, FormsNeeded."""
        await self.world.begin()
        found = await self._act(arguments, context)
        await self.world.end()
        return found

    async def _act(self, arguments: dict[str, Any], context: ToolContext) -> Any:
        shown = to_jsonable_python(arguments, fallback=str)
        fault = self.faults.tool(self.tool.name)
        if fault is not None and fault.fail == "slow":
            await self.clock.sleep(context.remaining_seconds * SLOW_PART)
        elif fault is not None:
            self._note(shown, context)
            return await self._fail(fault)
        server = self.faults.server(server_of(self.tool), self.tool.name)
        if server is not None:
            self._fail_by_server(server, shown, context)
        if self.tool.name not in self.results.by_tool:
            return self._without(shown, context)
        before = self.world.given_before(context.key)
        if isinstance(before, Entry):
            return await self._return(before, arguments, shown, context)
        entry = self.results.take(self.tool.name, shown)
        if entry is not None:
            self.world.give(context.key, entry)
        else:
            text = f"{self.tool.name}({to_json(shown).decode()}) is called"
            text = f"{text}, and returns has nothing left for it"
            raise self._no_return(text, "returns", self.tool.name)
        return await self._return(entry, arguments, shown, context)

    def _without(self, shown: Mapping[str, Any], context: ToolContext) -> str:
        if self.result is None:
            text = f"{self.tool.name} is called, and has no returns; nor has script.yaml a result"
            raise self._no_return(text, "returns")
        self._note(shown, context)
        return self.result

    def _no_return(self, text: str, *path: str) -> PermanentError:
        self.world.add("no-return", text, self.results.case.source(*path))
        return PermanentError(text)

    async def _return(
        self,
        entry: Entry[Returned],
        arguments: dict[str, Any],
        shown: Mapping[str, Any],
        context: ToolContext,
    ) -> Any:
        one = entry.value
        if one.form is not None and context.reply is None:
            # it has done nothing yet, and is called again with the answer
            entry.used -= 1
            raise FormsNeeded((_form(self.tool.name, one),), None)
        if one.real:
            return await self._act_truly(entry, arguments, shown, context)
        self._note(shown, context)
        if one.seconds:
            await self.clock.sleep(one.seconds)
        if one.sent is False:
            context.begin_sending()
        if one.hang:
            await asyncio.get_running_loop().create_future()
        if one.temporary is not None:
            raise TemporaryError(one.temporary)
        if one.error is not None:
            raise PermanentError(one.error)
        filled = context.reply.filled if context.reply is not None else ()
        if any(form.content is None for form in filled):
            raise PermanentError("the person has declined")
        return "" if one.output is None else one.output

    async def _act_truly(
        self,
        entry: Entry[Returned],
        arguments: dict[str, Any],
        shown: Mapping[str, Any],
        context: ToolContext,
    ) -> Any:
        if self.tool.effect == "once" and not self.may_act:
            text = f"{self.tool.name} acts once only: `crew test --real` calls it"
            self.world.add("network", text, entry.source)
            raise PermanentError(text)
        self._note(shown, context)
        with self.clock.hold():
            return await self.tool.act(arguments, context)

    def _fail_by_server(self, fault: Fault, shown: Mapping[str, Any], context: ToolContext) -> None:
        """Let its MCP server fail, as the real one does; raises what that raises."""
        text = f"the MCP server {fault.server}"
        if fault.changes is not None:
            text = f"the tool {fault.changes} is described otherwise by {text}"
            text = f"{text} since it was looked at; a fault of the rehearsal"
            context.warn("tool_changed", text)
            raise PermanentError(text)
        if fault.asks is not None and context.reply is None:
            form = Form(self.tool.name, f"{text} asks for something", ASKED_FORM)
            raise FormsNeeded((form,), None)
        if fault.dies == "before":
            context.begin_sending()
            raise ConnectionError(f"{text} has ended: a fault of the rehearsal")
        if fault.dies == "during":
            self._note(shown, context)
            raise ConnectionError(f"{text} has ended during the call: a fault of the rehearsal")

    def _note(self, shown: Mapping[str, Any], context: ToolContext) -> None:
        tool = self.tool
        self.world.acts.append(Act(tool.name, context.key, shown, tool.effect))

    async def _fail(self, fault: Fault) -> str:
        text = f"a fault of the rehearsal: {fault.fail}"
        match fault.fail:
            case "hang":
                await asyncio.get_running_loop().create_future()
            case "temporary":
                raise TemporaryError(text)
            case "too_long":
                return "x" * TOO_LONG
        raise PermanentError(text)


def _form(name: str, one: Returned) -> Form:
    assert one.form is not None, "it has one"
    schema = {"type": "object", "properties": one.form.fields}
    return Form(name, one.form.message, schema)
