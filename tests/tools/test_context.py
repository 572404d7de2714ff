"""What a Python tool is told of its call, and tells of it; in this process and in one of its own."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.made_tools import MadeTool, tool_of
from tools import PermanentError, ToolContext, ToolExecutor
from tools.calls import CallProgressed
from tools.clock import SYSTEM_CLOCK
from tools.context import MAX_PROGRESS, Progress

CODE = '''
import time
from dataclasses import dataclass
from pydantic import BaseModel, Field
from tools import ToolContext

class Item(BaseModel):
    name: str
    number: int = Field(1, ge=1)

@dataclass
class Order:
    items: list[Item]
    note: str = ""

def order(order: Order, context: ToolContext) -> str:
    """Order something."""
    assert isinstance(order.items[0], Item)
    return f"{context.run_id} {context.call_id} {context.agent_id} {context.user} {context.key} {sum(one.number for one in order.items)}"

async def order_async(order: Order, *, told: ToolContext) -> str:
    """Order something."""
    return f"{type(order).__name__} {0 < told.remaining_seconds <= 20}"

def count(context: ToolContext, to: int) -> str:
    """Count."""
    for number in range(to):
        context.progress(number, to, f"at {number}")
        time.sleep(0.0001)
    return "counted"

def slowly(context: ToolContext) -> str:
    """Tell twice."""
    context.progress(1, 2, "one")
    time.sleep(0.25)
    context.progress(2)
    return "told"

def secret(context: ToolContext, name: str) -> str:
    """Show a secret."""
    return context.secret(name)
'''

both = pytest.mark.parametrize("entry", [{}, {"isolate": "process"}], ids=["here", "isolated"])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(CODE)
    return tmp_path


@both
async def test_models_and_dataclasses_are_arguments(folder: Path, entry: dict[str, Any]):
    """Checked against their schema, and made before the function is called."""
    async with tool_of("python", folder, function="mine.py:order", **entry) as tool:
        assert list(tool.tool.parameters["properties"]) == ["order"]
        good = await tool(order={"items": [{"name": "a", "number": "2"}, {"name": "b"}]})
        assert good.output == "run1 call1 agent1 ann run1-call1 3"
        wrong = await tool(order={"items": [{"name": "a", "number": 0}]})
        assert (wrong.status, wrong.attempts) == ("error", 0)
        assert "order.items.0.number" in wrong.output
        given = await tool(order={"items": []}, context="x")
        assert "context: is unknown" in given.output


@both
async def test_any_parameter_may_be_the_context(folder: Path, entry: dict[str, Any]):
    """By its type, also of an async function."""
    async with tool_of("python", folder, function="mine.py:order_async", **entry) as tool:
        assert (await tool(order={"items": []})).output == "Order True"


def progress_of(tool: MadeTool) -> list[tuple[float, float | None, str]]:
    told = [event.progress for event in tool.events if isinstance(event, CallProgressed)]
    return [(one.progress, one.total, one.message) for one in told]


@both
async def test_progress_is_told_in_its_order(folder: Path, entry: dict[str, Any]):
    """From a thread or another process; all of it before the result."""
    async with tool_of("python", folder, function="mine.py:slowly", **entry) as tool:
        assert (await tool()).output == "told"
    assert progress_of(tool) == [(1, 2, "one"), (2, None, "")]
    assert type(tool.events[-1]).__name__ == "ToolResult"


@both
async def test_progress_is_bounded(folder: Path, entry: dict[str, Any]):
    """Five a second."""
    async with tool_of("python", folder, function="mine.py:count", **entry) as tool:
        result = await tool(to=1000)
    assert result.output == "counted"
    assert 1 <= len(progress_of(tool)) <= 2 + result.duration_seconds / 0.2


def test_progress_of_one_call_ends():
    """After so many, however slow."""
    now = 0.0
    told: list[Progress] = []
    context = ToolContext(monotonic=lambda: now)
    context.begin(1e9, told.append)
    for number in range(1000):
        now = float(number)
        context.progress(number)
    assert len(told) == MAX_PROGRESS


@both
async def test_a_secret_is_asked_for_by_its_name(folder: Path, entry: dict[str, Any]):
    """One that is not set is an error."""

    def find(name: str) -> str:
        if name != "KEY":
            raise PermanentError(f"the environment variable {name} is not set")
        return "the value"

    async with tool_of("python", folder, function="mine.py:secret", **entry) as tool:
        tool._executor = ToolExecutor(tool.limits, SYSTEM_CLOCK, find)
        assert (await tool(name="KEY")).output == "the value"
        missing = await tool(name="NOKEY")
        assert missing.output == "the environment variable NOKEY is not set"
