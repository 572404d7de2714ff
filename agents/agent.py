"""A live agent: its prompt, its model, its tools.

Built from the configuration, which it never reads again.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agents.config import ToolCallMode
from agents.model import Model
from agents.prompt import Prompt
from tools.executor import ToolExecutor
from tools.tool import Tool


@dataclass(frozen=True, slots=True)
class Agent:
    """Who speaks; the same object serves every run of its crew at once."""

    id: str
    # display name
    name: str
    # for those who look at the crew
    role: str
    description: str
    prompt: Prompt
    model: Model
    tools: Mapping[str, Tool]
    # the tools as models are offered them; none where they are called in text
    offers: tuple[dict[str, Any], ...]
    # about what the offers take of the context window
    offer_tokens: int
    tool_call_mode: ToolCallMode
    executor: ToolExecutor
    temperature: float | None
    top_p: float | None
    max_tokens: int | None
    context_window_tokens: int
    context_trim_percent: float
    allow_client_system: bool
