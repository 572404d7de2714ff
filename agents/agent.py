"""A live agent: its prompt, its model, its tools; built from the configuration."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from agents.config import ToolCallMode
from agents.model import Model
from agents.prompt import Prompt
from tools.clock import Clock
from tools.executor import ToolExecutor
from tools.tool import Tool


@dataclass(frozen=True, slots=True)
class Agent:
    """Who speaks; one object serves all runs of its crew at the same time."""

    id: str
    # display name
    name: str
    # for `GET /api/crew`
    role: str
    description: str
    prompt: Prompt
    model: Model
    tools: Mapping[str, Tool]
    # the tools as models are sent them; none where they are called in text
    tool_definitions: tuple[dict[str, Any], ...]
    # about what the definitions take of the context window
    tool_definition_tokens: int
    tool_call_mode: ToolCallMode
    # how to call them in text, for a model that turns out to have no native calls
    text_call_hint: str
    # more calls in one answer are the model's mistake
    max_calls: int
    # changes what would be a signal of the agent's in the output of a tool
    escape_signals: Callable[[str], str]
    executor: ToolExecutor
    temperature: float | None
    top_p: float | None
    max_tokens: int | None
    context_window_tokens: int
    context_trim_percent: float
    allow_client_system: bool
    clock: Clock
