"""The usage of answers of which a provider says no usage, or a part of it."""

from collections.abc import Sequence
from dataclasses import replace

from pydantic_core import to_json

from agents.costs.usage import NO_USAGE, Usage
from agents.dialects.collector import Collector
from agents.model import ModelRequest
from tools.calls import ToolCall

# what a request may have ended by although its model was at work: it is paid for
MAYBE_ANSWERED = frozenset({"cancelled", "timeout", "unreadable", "empty"})
# the same, where something of the answer has come
CUT_OFF = frozenset({"connection", "unavailable", "rate_limited", "refused"})


def usage_of_failure(outcome: str, reader: Collector, request: ModelRequest) -> Usage:
    """Return what a failed request has used: as its provider says, else as far as it was read.

    Args:
        outcome: "cancelled", or the code of the ModelError.
        reader: has what came of the answer.
        request: that failed.
    """
    told = reader.usage
    if told.total_tokens and (reader.finished or reader.has_told_usage):
        return told
    written = "".join((*reader.thoughts, *reader.text))
    if told.total_tokens:
        # cut off: what was told before its end leaves out what came behind
        came = max(told.completion_tokens, request.tokenizer.count(written))
        return replace(told, completion_tokens=came, estimated=1)
    if outcome in MAYBE_ANSWERED or (outcome in CUT_OFF and written):
        return estimated_usage(request, written, (), least=0)
    return NO_USAGE


def estimated_usage(
    request: ModelRequest, written: str, calls: Sequence[ToolCall], *, least: int
) -> Usage:
    """Estimate the usage of an answer that came without one; `least`: tokens that it has."""
    tokenizer = request.tokenizer
    prompt = sum(message.tokens for message in request.messages)
    prompt += sum(tool.tokens for tool in request.tools) + request.output_tokens
    completion = tokenizer.count(written) + sum(
        tokenizer.count(call.tool) + tokenizer.count(to_json(call.arguments).decode())
        for call in calls
    )
    return Usage(prompt, max(least, completion), estimated=1)
