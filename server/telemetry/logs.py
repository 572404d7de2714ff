"""Log lines, text or JSON, each with its request and run; and the line of each event of a run."""

import logging
import logging.config
import sys
import threading
import time
from collections.abc import Mapping
from contextvars import ContextVar
from functools import partial
from types import TracebackType
from typing import Any

from pydantic_core import to_json

from agents.events import Warned
from crew.journal.events import (
    Event,
    HandedOff,
    Paused,
    RunDone,
    RunFailed,
    RunResumed,
    RunRetried,
    RunStarted,
    Unplayable,
)
from crew.journal.outlets import current_run
from server.settings import ServerSettings, log_format, log_level
from tools.text.secrets import Secrets
from tools.text.texts import visible

log = logging.getLogger("crew.events")

# the id of the request that is being answered
current_request: ContextVar[str | None] = ContextVar("current_request", default=None)
# begins each line of a traceback, so that no text of a tool looks like a line of the log
TRACE_MARK = "  | "
# characters of a traceback
MAX_TRACE = 20_000
# codes of warnings whose text may repeat what was sent to the model, or its answer
PROVIDER_TEXT_CODES = frozenset(
    {
        "model_retry",
        "model_backup",
        "member_failed",
        "context_overflow",
        "helper_failed",
        "breaker_waiting",
        "elicitation_declined",
    }
)
PLAIN = frozenset(logging.makeLogRecord({}).__dict__) | {
    "message",
    "asctime",
    "request_id",
    "run_id",
    "taskName",
    "color_message",
}


class LogContext(logging.Filter):
    """Puts `request_id` and `run_id` on every record."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Add them; keep every record."""
        run_id, request_id = current_run.get() or (None, current_request.get())
        if not hasattr(record, "run_id"):
            record.run_id = run_id
        if not hasattr(record, "request_id"):
            record.request_id = request_id
        return True


class JsonFormatter(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """Format the line."""
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
            line["exception"] = _printable(_cut(self.formatException(record.exc_info)))
        return to_json(line, fallback=str).decode()


def _cut(text: str) -> str:
    """Return the ends of a traceback: megabytes of a message would hold up all runs."""
    if len(text) <= MAX_TRACE:
        return text
    half = MAX_TRACE // 2
    return f"{text[:half]}\n… {len(text) - MAX_TRACE:,} characters …\n{text[-half:]}"


class TextFormatter(logging.Formatter):
    """A line for a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        """Format the line."""
        # a path or a tool may hold a line break, or commands for a terminal
        message = visible(record.getMessage()).replace("\n", "\\n").replace("\t", "\\t")
        text = f"{_time(record)[11:23]} {record.levelname:<7} {message}"
        for key in ("run_id", "request_id"):
            if value := getattr(record, key, None):
                text = f"{text} {key}={value}"
        if record.exc_info:
            lines = visible(_cut(self.formatException(record.exc_info))).split("\n")
            return "\n".join((text, *(f"{TRACE_MARK}{line}" for line in lines)))
        return text


class Masked(logging.Formatter):
    """A line, with its traceback, without secrets."""

    def __init__(self, formatter: logging.Formatter, secrets: Secrets) -> None:
        super().__init__()
        self.formatter, self.secrets = formatter, secrets

    def format(self, record: logging.LogRecord) -> str:
        """Format the line."""
        return self.secrets.mask(self.formatter.format(record))


def set_up_logging(settings: ServerSettings, secrets: Secrets) -> None:
    """Send all log lines to standard error, in the configured form, without secrets."""
    formatter = JsonFormatter if settings.log_format == "json" else TextFormatter
    secrets.add_address(settings.database_url or "")
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "filters": {"context": {"()": LogContext}},
            "formatters": {"line": {"()": Masked, "formatter": formatter(), "secrets": secrets}},
            "handlers": {
                "stderr": {
                    "class": "logging.StreamHandler",
                    "formatter": "line",
                    "filters": ["context"],
                }
            },
            "root": {"handlers": ["stderr"], "level": settings.log_level.upper()},
            "loggers": {
                # it logs what clients and slow readers do as errors; ours log what goes wrong, and
                # every request
                "uvicorn": {"level": "CRITICAL"},
                "uvicorn.access": {"level": "CRITICAL"},
                "asyncio": {"level": "WARNING"},
                "httpx2": {"level": "WARNING"},
                "openai": {"level": "WARNING"},
                "procrastinate": {"level": "WARNING"},
            },
        }
    )


def set_up_command_logging(environment: Mapping[str, str], secrets: Secrets) -> None:
    """Log what a command's tools and models do in its own process: warnings by default.

    Args:
        environment: has `CREW_LOG_FORMAT` and `CREW_LOG_LEVEL`.
        secrets: masked in each line; may get more of them later.

    Raises:
        SettingsError: one of these is none that is known.
    """
    form, level = log_format(environment, terminal=True), log_level(environment, "warning")
    set_up_logging(ServerSettings(log_format=form, log_level=level), secrets)


def log_uncaught() -> None:
    """Log what Python itself writes to standard error: warnings, and tracebacks of threads."""
    logging.captureWarnings(capture=True)
    sys.excepthook = partial(_log_uncaught, "the process")
    threading.excepthook = _log_thread


def log_event(run_id: str, event: Event) -> None:
    """Log what an operator wants of an event; never what users or models say."""
    match event:
        case RunStarted() | RunResumed():
            word = "started" if isinstance(event, RunStarted) else "resumed"
            log.info("run %s", word, extra={"crew": event.crew, "agent_id": event.agent_id})
        case RunRetried(forked_from=copied):
            word = f"forked from {copied}" if copied else "retried"
            log.info("run %s", word, extra={"crew": event.crew, "agent_id": event.agent_id})
        case HandedOff():
            log.info("handoff %s to %s", event.from_, event.to, extra={"why": event.why})
        case Paused():
            log.info("run paused at %s", event.agent_id)
        case Warned():
            _log_warning(event)
        case Unplayable():
            log.warning("unplayable: %s", event.message)
        case RunFailed():
            _log_failure(event)
        case RunDone():
            seconds = round(event.duration_seconds, 3)
            extra = {"rounds": event.rounds, "duration_seconds": seconds}
            log.info("run ended: %s", event.reason, extra=extra)


def _log_warning(event: Warned) -> None:
    extra = {"agent_id": event.agent_id}
    if event.code in PROVIDER_TEXT_CODES:
        log.warning("%s", event.code, extra=extra)
        log.debug("%s: %s", event.code, event.message)
    else:
        log.warning("%s: %s", event.code, event.message, extra=extra)


def _log_failure(event: RunFailed) -> None:
    extra = {"reason": event.reason, "code": event.code, "agent_id": event.agent_id}
    if event.reason == "model":
        log.error("run failed: %s", event.code, extra=extra)
        log.debug("run failed: %s", event.message)
    else:
        log.error("run failed: %s", event.message, extra=extra)


def _log_uncaught(
    where: str,
    kind: type[BaseException],
    error: BaseException | None,
    trace: TracebackType | None,
) -> None:
    if error is not None and not isinstance(error, KeyboardInterrupt):
        log.critical("%s ended: %s", where, kind.__name__, exc_info=(kind, error, trace))


def _log_thread(given: threading.ExceptHookArgs) -> None:
    name = given.thread.name if given.thread is not None else "a thread"
    _log_uncaught(name, given.exc_type, given.exc_value, given.exc_traceback)


def _printable(text: str) -> str:
    """Replace halves of surrogate pairs, which have no UTF-8 form."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _time(record: logging.LogRecord) -> str:
    seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
    return f"{seconds}.{int(record.msecs):03d}Z"
