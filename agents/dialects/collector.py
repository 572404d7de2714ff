"""What has come of one answer, in whatever dialect."""

import json
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any

from pydantic_core import from_json

from agents.costs.usage import NO_USAGE
from agents.dialects.partial_calls import PartialCalls
from agents.dialects.refusals import refusal_in, refusal_of_document
from agents.dialects.surrogates import join_surrogates
from agents.errors import ModelError
from agents.messages import SOURCE_KEY
from agents.model import ModelReply
from agents.quirks import Quirks
from agents.written.thoughts import AnswerStream, split_thoughts

# of words in a stream that are no part of an answer
MAX_WORDS = 500
# of a whole answer
MAX_CHARACTERS = 8 * 2**20
CUT_BY_LENGTH = frozenset({"length", "max_tokens", "max_output_tokens", "model_length"})
# in whatever case; Google and GLM have more of them than OpenAI
HELD_BACK = frozenset(
    {
        *("content_filter", "safety", "refusal", "recitation", "prohibited_content", "blocklist"),
        *("spii", "sensitive"),
    }
)
# the server itself says that it has failed, in whatever case
FAILED = frozenset(
    {
        *("error", "abort", "aborted", "failed", "timeout", "insufficient_system_resource"),
        *("server_error", "internal_error", "overloaded", "network_error"),
        # the model's call could not be read
        *("malformed_function_call", "unexpected_tool_call"),
    }
)
# why a call that is not whole is not made
CUT_IN_CALL = "the length was used up within a call: raise max_tokens"
# the same for its model, where a part of the arguments has come
CUT_ARGUMENTS = "the answer was cut by its length within this call: write shorter arguments"
# the window was full before the answer was at its end
WINDOW_FULL = "model_context_window_exceeded"


class Collector(ABC):
    """Collects one answer: its text, its calls, its usage."""

    def __init__(self, model: str, source: str, quirks: Quirks) -> None:
        """Collect nothing yet.

        Args:
            model: as the endpoint names it, until it says otherwise.
            source: names dialect, provider, address and model, which alone get back what is kept.
            quirks: of the model.
        """
        self.model, self.source, self.quirks = model, source, quirks
        self.text: list[str] = []
        self.stream = AnswerStream()
        self.calls = PartialCalls()
        self.usage = NO_USAGE
        # by what is no answer; in one, the first of several may be less than all
        self.has_told_usage = False
        # of all that is kept of the answer
        self.characters = 0
        self.finish_reason = ""
        # the answer is whole, or said to be at its end
        self.finished = False
        # it is a refusal, in words
        self.has_refused = False
        # nothing comes behind what came
        self.has_ended = False
        # what the model has thought, as far as it says so in words; and how much of it was taken
        self.thoughts: list[str] = []
        self.thoughts_taken = 0
        # the first words in a stream that are no part of it
        self.words = ""

    @abstractmethod
    def take_usage(self, usage: Any) -> None:
        """Take what a provider says of the tokens; what is no object is none."""

    def take_failure(self, document: Any) -> None:
        """Take the usage that an error has, if it has one; an error may be JSON still."""
        if isinstance(document, str):
            try:
                document = from_json(document)
            except ValueError:
                return
        if isinstance(document, dict) and isinstance(document.get("usage"), dict):
            self.take_usage(document["usage"])
            self.has_told_usage = self.usage.total_tokens > 0

    def decoded(self, data: bytes) -> Any:
        """Decode JSON; raises ValueError."""
        try:
            return from_json(data)
        except ValueError:
            # three times as slow, but it takes halves of surrogate pairs
            self.calls.has_halves = True
            return json.loads(data)

    def document(self, data: bytes) -> dict[str, Any]:
        """Decode an answer, or an event of one.

        Raises:
            Refusal: it is an error.
            ModelError: it is no JSON object.
        """
        found = self.decoded(data)
        if not isinstance(found, dict):
            raise ModelError("unreadable", "the answer is unreadable: it is no JSON object")
        if found.get("error") or found.get("type") == "error":
            self.take_failure(found)
            raise refusal_of_document(found) if found.get("error") else refusal_in(found)
        return found

    def take_model(self, name: Any) -> None:
        """Take the name of the model that answers."""
        if name and name != self.model:
            self.model = join_surrogates(str(name))

    def take_text(self, text: str) -> None:
        """Take a piece of the text."""
        self.text.append(text)
        self.count(len(text))

    def take_refusal(self, text: str) -> None:
        """Take a piece of a refusal, which is an answer in words."""
        self.has_refused = True
        self.take_text(text)

    def take_thoughts(self, text: str) -> None:
        """Take a piece of what the model thinks."""
        self.thoughts.append(text)

    def count(self, characters: int) -> None:
        """Raise ModelError once the answer is larger than one may be, however it is cut up."""
        self.characters += characters
        if self.characters > MAX_CHARACTERS:
            raise ModelError("unreadable", "the answer is larger than 8 MiB")

    def end_stream(self, *, is_done: bool) -> str:
        """End a stream; `is_done`: its server said so. Returns the text that was held back."""
        self.finished = self.finished or (is_done and bool(self.text or self.calls.calls))
        return self.stream.rest()

    def new_thoughts(self) -> str:
        """Return what was thought since this was called before."""
        if self.thoughts_taken == len(self.thoughts):
            return ""
        new = self.thoughts[self.thoughts_taken :]
        self.thoughts_taken = len(self.thoughts)
        return "".join(new)

    def whole_text(self) -> str:
        """Return the text and its thoughts, as one."""
        text = "".join(self.text)
        return join_surrogates(text) if self.calls.has_halves else text

    def note_words(self, data: bytes) -> None:
        """Note what came in a stream and is no part of an answer; the first of it is kept."""
        self.words = self.words or data[:MAX_WORDS].decode(errors="replace").strip()

    def make_reply(
        self, content: str, kept: dict[str, Any], *, had_thoughts: bool, is_signed: bool
    ) -> ModelReply:
        """Return the whole answer.

        Args:
            content: its text, without thoughts.
            kept: what its model wants back.
            had_thoughts: the model has thought.
            is_signed: a call has something that its model wants back.

        Raises:
            ModelError: there is neither text nor call, the window was full, or the server has
                failed within the answer.
        """
        if self.reason in FAILED:
            text = f"the server says that it failed within the answer ({self.finish_reason})"
            raise ModelError("unavailable", text)
        if self.finish_reason == WINDOW_FULL:
            text = f"the answer does not fit ({self.finish_reason})"
            raise ModelError("context_overflow", text)
        calls = self.calls.finished()
        if calls and calls[-1].argument_error and self.reason in CUT_BY_LENGTH:
            calls = (*calls[:-1], replace(calls[-1], argument_error=CUT_ARGUMENTS))
        if not calls and not content.strip():
            raise self._empty(has_thoughts=had_thoughts)
        extra = {**kept, SOURCE_KEY: self.source} if kept or is_signed else {}
        quirks = self.quirks
        return ModelReply(
            content,
            calls,
            self.usage,
            self.model,
            extra,
            has_native_calls=quirks.native_calls,
            has_written_calls=quirks.written_calls,
        )

    def _empty(self, *, has_thoughts: bool) -> ModelError:
        reason = f"finish_reason: {self.finish_reason}"
        if self.reason in HELD_BACK:
            text = f"the provider's content filter has held the answer back ({reason})"
            return ModelError("refused", text)
        if self.reason in CUT_BY_LENGTH:
            text = "the whole length went to thinking, and there is no answer"
            if not has_thoughts:
                text = "the length was used up before there was an answer"
            return ModelError("empty", f"{text} ({reason}): raise max_tokens, or let it think less")
        if has_thoughts:
            return ModelError("empty", "there is only reasoning, and no answer")
        return ModelError("empty", "the answer is empty")

    @property
    def reason(self) -> str:
        """Why it ended, in small letters; some put what has found it before."""
        return self.finish_reason.rpartition(": ")[2].casefold()

    @property
    def cut(self) -> str:
        """Why a text is not whole; "" where it is."""
        if self.reason in CUT_BY_LENGTH:
            reason = self.finish_reason
            return f"the answer is cut by its length (finish_reason: {reason}): raise max_tokens"
        if self.reason in HELD_BACK:
            return "the provider's content filter has cut the answer"
        return ""

    def split_text(self) -> tuple[str, str]:
        """Return the thoughts at the start of the text, and what is meant for others."""
        return split_thoughts(self.whole_text())

    @abstractmethod
    def read_whole(self, data: bytes) -> None:
        """Read an answer that came at once.

        Raises:
            Refusal: it is an error, or a page.
            ModelError: it is neither.
        """

    @abstractmethod
    def read_chunk(self, data: bytes) -> str:
        """Read the data of an event of a stream; return what of its text is meant for others.

        Raises:
            Refusal: it is an error.
        """

    @abstractmethod
    def reply(self) -> ModelReply:
        """Return the whole answer; raises ModelError where there is neither text nor call."""
