"""Log lines: text or JSON, each with the request and the run it belongs to.

And the line that an event of a run makes.
"""

import asyncio
import logging
import logging.config
import re
import time
from contextvars import ContextVar
from typing import Any

from pydantic_core import to_json

from agents.events import Warned
from crew.journal.events import Event, HandedOff, Paused, RunDone, RunFailed, RunStarted
from crew.journal.writer import current_run
from server.settings import Settings

log = logging.getLogger("crew.journal.events")

# the id of the request that is being answered
current_request: ContextVar[str | None] = ContextVar("current_request", default=None)
CUT_WORDS = ("without completing response", "asyncio.exceptions.CancelledError")
UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f]")
# their text may repeat what was sent to the model, or what it said
PROVIDERS_WORDS = frozenset({"model_retry", "model_backup", "member_failed"})
PLAIN = frozenset(logging.makeLogRecord({}).__dict__) | {
    "message",
    "asctime",
    "request_id",
    "run_id",
    "taskName",
    "color_message",
}


class Context(logging.Filter):
    """Puts `request_id` and `run_id` on every record."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Add them; keep every record but uvicorn's complaint about streams that were cut off on
        purpose.
        """
        run = current_run.get()
        if not hasattr(record, "run_id"):
            record.run_id = run[0] if run is not None else None
        if not hasattr(record, "request_id"):
            record.request_id = run[1] if run is not None else current_request.get()
        # streams that were cut off on purpose, and those that a second signal ended
        cut = record.exc_info is not None and isinstance(record.exc_info[1], asyncio.CancelledError)
        return not (
            cut
            or "without completing response" in str(record.msg)
            or "asyncio.exceptions.CancelledError" in str(record.msg)
        )


class JsonFormatter(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        line: dict[str, Any] = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _printable(record.getMessage()),
        }
        for key in ("request_id", "run_id"):
            if (value := getattr(record, key, None)) is not None:
                line[key] = value
        line |= {key: value for key, value in record.__dict__.items() if key not in PLAIN}
        if record.exc_info:
            line["exception"] = _printable(self.formatException(record.exc_info))
        return to_json(line, fallback=str).decode()


class TextFormatter(logging.Formatter):
    """A line for a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        adds = "".join(
            f" {key}={value}"
            for key in ("run_id", "request_id")
            if (value := getattr(record, key, None))
        )
        # a path or a tool may hold a line break, or a terminal's own commands
        message = UNPRINTABLE.sub(lambda found: repr(found[0])[1:-1], record.getMessage())
        text = f"{_time(record)[11:23]} {record.levelname:<7} {message}{adds}"
        return f"{text}\n{self.formatException(record.exc_info)}" if record.exc_info else text


def set_up(settings: Settings) -> None:
    """Send all log lines to standard error in the form that was asked for."""
    formatter = JsonFormatter if settings.log_format == "json" else TextFormatter
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "filters": {"context": {"()": Context}},
            "formatters": {"line": {"()": formatter}},
            "handlers": {
                "stderr": {
                    "class": "logging.StreamHandler",
                    "formatter": "line",
                    "filters": ["context"],
                }
            },
            "root": {"handlers": ["stderr"], "level": settings.log_level.upper()},
            # uvicorn's own lines say what ours say better, but for its errors; the clients' lines
            # tell every request
            "loggers": {
                "uvicorn": {"level": "WARNING"},
                "uvicorn.access": {"level": "CRITICAL"},
                "asyncio": {"level": "WARNING"},
                "httpx2": {"level": "WARNING"},
                "openai": {"level": "WARNING"},
                "procrastinate": {"level": "WARNING"},
                "psycopg.pool": {"level": "ERROR"},
            },
        }
    )


def log_event(run_id: str, event: Event) -> None:
    """A listener: the line that an operator wants of an event. Never what users or models said."""
    match event:
        case RunStarted():
            log.info(
                "run %s",
                "resumed" if event.resumed else "started",
                extra={"crew": event.crew, "agent_id": event.agent_id},
            )
        case HandedOff():
            log.info("handoff %s to %s", event.from_, event.to, extra={"why": event.why})
        case Paused():
            log.info("run paused at %s", event.agent_id)
        case Warned():
            said = "" if event.code in PROVIDERS_WORDS else f": {event.message}"
            log.warning("%s%s", event.code, said, extra={"agent_id": event.agent_id})
            if event.code in PROVIDERS_WORDS:
                log.debug("%s: %s", event.code, event.message)
        case RunFailed():
            said = "" if event.reason == "model" else f": {event.message}"
            log.error(
                "run failed%s",
                said,
                extra={"reason": event.reason, "code": event.code, "agent_id": event.agent_id},
            )
            if event.reason == "model":
                log.debug("run failed: %s", event.message)
        case RunDone():
            log.info(
                "run ended: %s",
                event.reason,
                extra={
                    "rounds": event.rounds,
                    "duration_seconds": round(event.duration_seconds, 3),
                },
            )


def _printable(text: str) -> str:
    """Halves of surrogate pairs (of an undecodable file name, say) have no UTF-8 form."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _time(record: logging.LogRecord) -> str:
    return (
        time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        + f".{int(record.msecs):03d}Z"
    )
