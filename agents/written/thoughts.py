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
    "<mm:think>": "</mm:think>",
    "[THINK]": "[/THINK]",
    "◁think▷": "◁/think▷",
    "<|begin_of_thought|>": "<|end_of_thought|>",
    "<|channel|>analysis<|message|>": "<|end|>",
    "<|start|>assistant<|channel|>analysis<|message|>": "<|end|>",
    "<|channel>thought": "<channel|>",
    "<THINK>": "</THINK>",
    "<Think>": "</Think>",
    "<|START_THINKING|>": "<|END_THINKING|>",
    "<|inner_prefix|>": "<|inner_suffix|>",
    "<unused94>": "<unused95>",
}
LONGEST = max(map(len, MARKS))
FIRST = frozenset(mark[0] for mark in MARKS)
# where the template itself has opened them, a text has only the end; a text about such a mark has
# it between quotes, or as a word among others
ENDS = ("</think>", "</thinking>", "</seed:think>", "</mm:think>", "[/THINK]")
CLOSED = re.compile(
    rf"(?<![`'\"“(])(?:(?<! )(?:{'|'.join(map(re.escape, ENDS))})"
    rf"|(?:{'|'.join(map(re.escape, ENDS))})(?! ))(?![`'\"”).,;])"
)
# one more behind the first, such as an empty one of the template's
MOST = 5
# what two models put around the answer itself
FINAL = re.compile(r"\s*(?:<\|start\|>assistant)?<\|channel\|>final(?:<\|[^|>]*\|>)?")
RESPONSE = re.compile(r"\s*<\|START_RESPONSE\|>(.*?)(?:<\|END_RESPONSE\|>\s*)?\Z", re.DOTALL)


def split_thoughts(text: str) -> tuple[str, str]:
    """Take a text apart: the thoughts at its start ("" for none), and what is meant for others."""
    parts: list[str] = []
    rest = text
    for _ in range(MOST):
        start = rest.lstrip()
        # most texts begin with a letter
        opening = (
            next((one for one in MARKS if start.startswith(one)), "") if start[:1] in FIRST else ""
        )
        if not opening:
            break
        thoughts, found, rest = start[len(opening) :].partition(MARKS[opening])
        parts.append(thoughts.strip())
        if not found:
            break
    if parts:
        return "\n\n".join(filter(None, parts)), _answer(rest)
    if any(one in text for one in ENDS) and not any(one in text for one in MARKS):
        *_, last = (None, *CLOSED.finditer(text))
        if last is not None:
            return text[: last.start()].strip(), _answer(text[last.end() :])
    return "", _without_channel(text)


def _answer(text: str) -> str:
    return _without_channel(text).lstrip()


def _without_channel(text: str) -> str:
    if "<|START_RESPONSE|>" in text[:200] and (found := RESPONSE.match(text)) is not None:
        return found[1]
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
