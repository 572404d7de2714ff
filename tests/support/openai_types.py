"""The types of the `openai` package as judge of what is sent to a model."""

from typing import Any

from openai.types.chat import (
    ChatCompletionAssistantMessageParam,
    ChatCompletionFunctionToolParam,
    ChatCompletionMessageFunctionToolCallParam,
    ChatCompletionSystemMessageParam,
    ChatCompletionToolMessageParam,
    ChatCompletionUserMessageParam,
)
from openai.types.chat.completion_create_params import (
    CompletionCreateParamsNonStreaming,
    CompletionCreateParamsStreaming,
)
from pydantic import TypeAdapter

PLAIN = TypeAdapter(CompletionCreateParamsNonStreaming)
STREAMED = TypeAdapter(CompletionCreateParamsStreaming)
# pydantic looks at the items of an Iterable only when they are read
TOOL = TypeAdapter(ChatCompletionFunctionToolParam)
CALL = TypeAdapter(ChatCompletionMessageFunctionToolCallParam)
KINDS: dict[str, Any] = {
    "system": ChatCompletionSystemMessageParam,
    "user": ChatCompletionUserMessageParam,
    "assistant": ChatCompletionAssistantMessageParam,
    "tool": ChatCompletionToolMessageParam,
}
MESSAGES = {role: TypeAdapter(kind) for role, kind in KINDS.items()}


def require_valid(request: dict[str, Any]) -> None:
    """Raise ValidationError or AssertionError where a request is not one of the API."""
    is_streamed = request.get("stream", False)
    (STREAMED if is_streamed else PLAIN).validate_python(request)
    kind: Any = (
        CompletionCreateParamsStreaming if is_streamed else CompletionCreateParamsNonStreaming
    )
    _require_known(request, kind)
    for message in request["messages"]:
        MESSAGES[message["role"]].validate_python(message)
        _require_known(message, KINDS[message["role"]])
        for call in message.get("tool_calls", ()):
            CALL.validate_python(call)
            _require_known(call, ChatCompletionMessageFunctionToolCallParam)
    for tool in request.get("tools", ()):
        TOOL.validate_python(tool)


def _require_known(given: dict[str, Any], kind: Any) -> None:
    unknown = set(given) - kind.__required_keys__ - kind.__optional_keys__
    assert not unknown, f"the API has no {sorted(unknown)}"
