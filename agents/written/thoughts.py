"""What a model thinks before it answers, where a server leaves it in the text; pure.

Servers with a parser for a model's thoughts send them apart (`reasoning_content`). Others leave
them at the start of the text, between marks of the model's own.
"""

import re

# each pair of marks, as a model's chat template has them
MARKS = {
    "<think>": "</think>",
    "<thinking>": "</thinking>",
    "<thought>": "</thought>",
    "<reasoning>": "</reasoning>",
    "<seed:think>": "</seed:think>",
    "[THINK]": "[/THINK]",
    "◁think▷": "◁/think▷",
    "<|begin_of_thought|>": "<|end_of_thought|>",
    "<|channel|>analysis<|message|>": "<|end|>",
    "<|channel>thought": "<channel|>",
}
LONGEST = max(map(len, MARKS))
FIRST = frozenset(mark[0] for mark in MARKS)
# where the template itself has opened them, a text has only the end, on a line of its own
CLOSED = re.compile(r"(?:\A|\n)[ \t]*</think>[ \t]*(?:\n|\Z)")
# what one model puts before the answer itself
FINAL = re.compile(r"\s*(?:<\|start\|>assistant)?<\|channel\|>final(?:<\|[^|>]*\|>)?")


def split_thoughts(text: str) -> tuple[str, str]:
    """Take a text apart: the thoughts at its start ("" for none), and what is meant for others."""
    start = text.lstrip()
    # most texts begin with a letter
    for opening, closing in MARKS.items() if start[:1] in FIRST else ():
        if start.startswith(opening):
            thoughts, found, rest = start[len(opening) :].partition(closing)
            return thoughts.strip(), _answer(rest) if found else ""
    if "</think>" in text and "<think>" not in text and (found_end := CLOSED.search(text)):
        return text[: found_end.start()].strip(), _answer(text[found_end.end() :])
    return "", _without_channel(text)


def _answer(text: str) -> str:
    return _without_channel(text).lstrip()


def _without_channel(text: str) -> str:
    if "<|channel|>final" not in text[:200]:
        return text
    return FINAL.sub("", text, count=1).removesuffix("<|return|>").removesuffix("<|end|>")


class AnswerStream:
    """A text that comes in pieces, without the thoughts at its start."""

    def __init__(self) -> None:
        self._held = ""
        # what ends the thoughts; "" before it is known whether there are any, None behind them
        self._closing: str | None = ""

    def feed(self, piece: str) -> str:
        """Return what of the text so far is meant for others, and was not returned before."""
        if self._closing is None:
            return piece
        self._held += piece
        if self._closing == "":
            start = self._held.lstrip()
            if any(mark.startswith(start[:LONGEST]) and len(start) < len(mark) for mark in MARKS):
                # it may still become one
                return ""
            opening = next((mark for mark in MARKS if start.startswith(mark)), None)
            if opening is None:
                return self._release(self._held)
            self._closing, self._held = MARKS[opening], start[len(opening) :]
        _, found, rest = self._held.partition(self._closing)
        if not found or not rest.strip():
            # the white space behind the thoughts belongs to them
            self._held = self._held[-len(self._closing) - 1 :] if not found else self._closing
            return ""
        return self._release(_answer(rest))

    def _release(self, text: str) -> str:
        self._closing, self._held = None, ""
        return text

    def rest(self) -> str:
        """Return what is held back at the end of the text: a beginning that became no mark."""
        held, self._held = self._held, ""
        return held if self._closing == "" else ""
