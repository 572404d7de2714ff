"""Events of AG-UI, and parts of them, that follow from one event of a run alone."""

from collections.abc import Mapping
from typing import Any

from crew.journal.wire import RunEvent
from server.protocols.folds import is_whole_gap

PROTOCOL = "1.0"


def write_start(ids: Mapping[str, str]) -> dict[str, Any]:
    """Return what begins a run; `ids`: of its thread and itself, as the client names them."""
    return {"type": "RUN_STARTED", **ids, "protocolVersion": PROTOCOL}


def write_gap(
    event: RunEvent, custom: dict[str, Any], ids: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Return a run of which the first events are no longer kept: by what it came to.

    Args:
        event: says that.
        custom: the same as a custom event.
        ids: see `write_start`.
    """
    result, started = event.metadata["snapshot"], write_start(ids)
    if not is_whole_gap(event):
        return [started, custom]
    if result["status"] == "failed":
        error = {"type": "RUN_ERROR", "message": result["answer"] or ""}
        return [started, custom, {**error, "code": result["reason"]}]
    kind = "cancelled" if result["status"] == "cancelled" else "success"
    finished: dict[str, Any] = {"type": "RUN_FINISHED", **ids, "outcome": {"type": kind}}
    finished |= {"result": result["answer"]} if kind == "success" else {}
    return [started, custom, finished]


def write_usage(usage: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tokens of a run."""
    return {
        "inputTokens": usage["prompt_tokens"],
        "outputTokens": usage["completion_tokens"],
        "totalTokens": usage["total_tokens"],
        "reasoningTokens": usage.get("thinking", 0),
        "cachedInputTokens": usage.get("cache_read", 0),
        "cacheWriteInputTokens": usage.get("cache_write", 0),
    }
