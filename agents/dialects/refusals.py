"""What a server says when it does not answer: its words, and their kind; pure.

Refusals come from many layers, each with words and forms of its own: a provider, a gateway before
it, a chat template, a proxy. So they are recognised by words, whatever the status.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from agents.errors import ModelErrorCode
from tools.limits.waits import wait_in_words
from tools.text.server_words import INNER_KEYS, WORD_KEYS, words_in

# how servers say that a request is too long: OpenAI and vLLM ("maximum context length",
# context_length_exceeded), Anthropic ("prompt is too long"), llama.cpp ("exceeds the available
# context size"), Gemini ("input token count … exceeds the maximum"), Groq ("reduce the length")
TOO_LONG = re.compile(
    r"context_length_exceeded|maximum context length|prompt is too long|input is too long"
    r"|exceeds? the (?:available |maximum |model's )?(?:context|number of tokens)"
    r"|token count.{0,80}exceeds|reduce the length|too many (?:input )?tokens"
    # TGI, LM Studio, SGLang and vLLM, llama-cpp-python and Anthropic, xAI, Kimi, MiniMax, Qwen,
    # GLM, Groq and GitHub, Ollama's cloud
    r"|max_new_tokens`? must be <=|context length of only|context the overflows"
    r"|is longer than the (?:model|maximum)|exceeds? context (?:window|limit|length)"
    r"|maximum prompt length is|exceeded model token limit|context window exceeds"
    r"|range of input length should be|prompt exceeds max|exceeded max context"
    r"|too large for .{0,80}(?:tokens|TPM)|tokens_limit_reached|exceeded this model context window"
    r"|prompt (?:is )?too long"
    # LM Studio, LiteLLM, TabbyAPI, Vertex
    r"|greater than the context length|>=? ?n_ctx|contextwindowexceeded|max_seq_len"
    r"|input tokens exceed|must have less than \d+ tokens|token count is \d+ but .{0,40}up to",
    re.IGNORECASE | re.DOTALL,
)
# the same with its parts. Anthropic: "input length and `max_tokens` exceed context limit: 188240 +
# 21333 > 200000"; vLLM: "maximum context length is 4096 tokens and your request has 312 input
# tokens", OpenAI: "… However, you requested 5000 tokens (904 in the messages, 4096 in the
# completion)", OpenRouter: "(8000 of text input, 1000 of tool input, 131000 in the output)"
SUM_TOO_LONG = re.compile(
    r"context limit: (?P<input>\d{1,8}) \+ \d{1,8} > (?P<window>\d{1,8})", re.IGNORECASE
)
PARTS_TOO_LONG = re.compile(
    r"context length (?:is|of) (?P<window>\d{1,8})(?: tokens)?\b.{0,120}?"
    r"(?:request has |\()(?P<input>\d{1,8}) (?:input tokens|in (?:the|your) (?:messages|prompt)"
    r"|of (?:the )?(?:text )?input)(?:,? (?P<tools>\d{1,8}) (?:in the functions|of tool input))?",
    re.IGNORECASE | re.DOTALL,
)
# TGI names the sum that is too large, and the two parts that were given
NEW_TOO_MANY = re.compile(
    r"max_new_tokens`? must be <= (?P<window>\d{1,8})\. Given: (?P<input>\d{1,8}) `?inputs",
    re.IGNORECASE,
)
# a shorter answer is none that is wanted, in tokens
LEAST_ROOM = 256
# a quota that no wait brings back
SPENT = re.compile(
    r"insufficient[_ ]?(?:quota|balance|credits?|funds)|exceeded your current quota"
    r"|quota (?:is |has been )?exhausted|credit balance is too low|out of credits"
    r"|requires more credits|billing[_ ](?:hard[_ ])?limit|payment required|arrears"
    # Kimi, GLM, xAI, Qwen, LiteLLM, Cloudflare
    r"|exceeded_current_quota|余额不足|used all (?:of your )?available credits|freetieronly"
    r"|budget (?:has been|was) exceeded|budget_?exceeded|daily free allocation",
    re.IGNORECASE,
)
# and says so whatever a header asks to wait
SPENT_FOR_GOOD = re.compile(r"insufficient[_ ]?(?:quota|balance|credits?|funds)", re.IGNORECASE)
# Groq and Ollama refuse what their own model has written as a call
WRONG_CALL = re.compile(
    r"tool_use_failed|failed to call a function|error parsing tool call"
    r"|tool call validation failed|failed to parse tool call arguments",
    re.IGNORECASE,
)
# LM Studio answers so with status 200
NO_SUCH_PATH = re.compile(r"unexpected endpoint or method", re.IGNORECASE)
# LM Studio has taken a model out of memory meanwhile
UNLOADED = re.compile(r"\bmodel (?:is |was |has been )?unloaded\b", re.IGNORECASE)
# statuses besides 408 and 429 by which servers say that they are busy: conflict (OpenAI), failed
# dependency (TGI, Bedrock), too early, no capacity (Groq), the other side has gone (proxies)
BUSY = frozenset({409, 424, 425, 498, 499})
# a limit of a minute, which some call a quota too
SOON = re.compile(
    r"retry(?:[_ ]?(?:delay|after)|\s+in)|per (?:minute|second|hour)|rpm|tpm", re.IGNORECASE
)
# words of errors that stand in an answer without a status
CODES: tuple[tuple[str, int], ...] = (
    (r"rate.?limit|too many requests|throttl", 429),
    (r"overload|unavailable|internal|server_error|capacity|loading", 503),
    (r"timed? ?out|timeout", 408),
    (r"auth|api.?key|unauthor|login fail", 401),
    (r"permission|forbidden|denied", 403),
    (r"not.?found|does not exist|no such model", 404),
    (r"invalid|unsupported|bad.?request|unprocessable|validation", 400),
)


@dataclass(frozen=True, slots=True)
class Refusal(Exception):
    """A server has not answered: another status than 2xx, or an error in place of an answer."""

    # 0 where it names none
    status: int
    # for people, not masked
    words: str
    # all that it said
    body: str
    retry_after_seconds: float | None = None
    is_html: bool = False
    # as its server says, whether another try may help; None: it does not say
    may_help: bool | None = None


def room_left(refusal: Refusal) -> int | None:
    """Return how long an answer may be where only the wanted one does not fit, in tokens.

    None: the refusal does not say it, or the prompt itself has no room.
    """
    text = f"{refusal.words} {refusal.body}"
    found = SUM_TOO_LONG.search(text) or NEW_TOO_MANY.search(text)
    if found is not None:
        left = int(found["window"]) - int(found["input"])
    elif (found := PARTS_TOO_LONG.search(text)) is not None:
        left = int(found["window"]) - int(found["input"]) - int(found["tools"] or 0)
    else:
        return None
    return left if left >= LEAST_ROOM else None


def error_in(document: Any) -> Any:
    """Find the error in a JSON answer that has no choices; None where there is none."""
    if isinstance(document, list) and document:
        return error_in(document[0])
    if not isinstance(document, dict):
        return None
    if document.get("error"):
        return document["error"]
    if document.get("object") == "error" or document.get("type") == "error":
        return document
    # MiniMax has one in every answer
    state = document.get("base_resp")
    if isinstance(state, dict):
        return state if state.get("status_code") else None
    return document if any(document.get(key) for key in (*WORD_KEYS, *INNER_KEYS)) else None


def refusal_in(error: Any) -> Refusal:
    """Read an error that stands in an answer with status 200, or in a stream."""
    body = json.dumps(error, ensure_ascii=False)
    words = error if isinstance(error, str) else words_in(error, 0) or body
    status = _status_in(error, words)
    wait = wait_in_words(body) if status in (0, 429, 503) else None
    return Refusal(status, words, body, wait)


def refusal_of_document(document: dict[str, Any]) -> Refusal:
    """Read the error of an answer that has `error`: all of it, or a mark beside the words."""
    error = document["error"]
    has_words = any(isinstance(document.get(key), str) for key in WORD_KEYS)
    is_mark = not isinstance(error, dict | list) and has_words
    return refusal_in(document if is_mark else error)


def kind_of(refusal: Refusal) -> tuple[ModelErrorCode, bool]:
    """Say which kind of failure a refusal is, and whether another try may help."""
    code, may_help = _kind_of(refusal)
    if refusal.may_help is not None and code not in ("context_overflow", "quota"):
        # its server knows it best
        return ("unavailable" if refusal.may_help and not may_help else code), refusal.may_help
    return code, may_help


def _kind_of(refusal: Refusal) -> tuple[ModelErrorCode, bool]:
    status, text = refusal.status, f"{refusal.words} {refusal.body}"
    if status not in (401, 403, 429) and TOO_LONG.search(text):
        return "context_overflow", False
    if WRONG_CALL.search(text):
        # of the model's own making: the next answer may be another one
        return "unreadable", True
    if NO_SUCH_PATH.search(refusal.words):
        return "refused", False
    waits = refusal.retry_after_seconds is not None or SOON.search(text) is not None
    is_spent = SPENT_FOR_GOOD.search(text) or (SPENT.search(text) and not waits)
    if status == HTTPStatus.PAYMENT_REQUIRED or is_spent:
        return "quota", False
    match status:
        case HTTPStatus.TOO_MANY_REQUESTS:
            return "rate_limited", True
        case HTTPStatus.REQUEST_TIMEOUT:
            return "unavailable", True
        case _ if status in BUSY or UNLOADED.search(refusal.words):
            return "unavailable", True
        case _ if refusal.is_html and status < HTTPStatus.BAD_REQUEST:
            return "refused", False
        case _ if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
            # words in place of an answer
            return "unreadable", True
        case _ if status == 0 or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return "unavailable", True
        case _:
            return "refused", False


def _status_in(error: Any, words: str) -> int:
    """Return the status that an error without one comes to; 0 where nothing says it."""
    given: Sequence[Any] = ()
    if isinstance(error, dict):
        given = [error.get(key) for key in ("code", "status", "status_code", "type")]
    for one in given:
        if str(one).isdecimal() and 400 <= int(one) < 600:  # statuses of errors
            return int(one)
    for text in (*(str(one) for one in given if one), words):
        for pattern, status in CODES:
            if re.search(pattern, text, re.IGNORECASE):
                return status
    return 0
