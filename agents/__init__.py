"""One agent, one turn, one model: the second layer.

Modules, in reading order: `agent` (a live agent), `turns` (it speaks, it uses its tools), `extras`
(what files add to requests), `limits` (of a turn), `outputs` (typed answers), `helper` (a model
beside the runs), `prompt` (its system prompt), `context` (what of the conversation it is shown),
`messages` (what a conversation is made of), `marks` (by which a model knows who speaks), `written`
(tool calls, thoughts and code in a text), `costs` (what calls cost), `model` (what every model
looks like), `digests` (of what one is sent), `wrappers` (models around a model), `tokenizing` (how
many tokens a text is), `stages` (what a run's time goes to), `endpoint` (where a provider is),
`quirks` (what it can do), `dialects` (the forms of requests and answers), `providers`
(OpenAI-compatible endpoints, the scripted model, and the catalog of both), `events`, `config`,
`errors`.
"""

from typing import TYPE_CHECKING

from tools.lazy import lazily

if TYPE_CHECKING:
    from agents.agent import Agent
    from agents.costs.usage import Usage
    from agents.errors import ModelError
    from agents.messages import (
        AgentMessage,
        CrewMessage,
        Message,
        SystemMessage,
        ToolMessage,
        UserMessage,
    )
    from agents.model import Model, ModelReply, ModelRequest

__all__ = [
    "Agent",
    "AgentMessage",
    "CrewMessage",
    "Message",
    "Model",
    "ModelError",
    "ModelReply",
    "ModelRequest",
    "SystemMessage",
    "ToolMessage",
    "Usage",
    "UserMessage",
]

__getattr__ = lazily(
    __name__,
    {
        "Agent": "agents.agent",
        "AgentMessage": "agents.messages",
        "CrewMessage": "agents.messages",
        "Message": "agents.messages",
        "Model": "agents.model",
        "ModelError": "agents.errors",
        "ModelReply": "agents.model",
        "ModelRequest": "agents.model",
        "SystemMessage": "agents.messages",
        "ToolMessage": "agents.messages",
        "Usage": "agents.model",
        "UserMessage": "agents.messages",
    },
)
