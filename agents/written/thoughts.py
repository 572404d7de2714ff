"""What a model thinks before it answers, where a server leaves it in the text; pure.

Servers with a parser for a model's thoughts send them apart (`reasoning_content`). Others leave
them at the start of the text, between marks of the model's own.
"""

import re
from collections.abc import Iterable

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
    "<|channel|>commentary<|message|>": "<|end|>",
    "<|start|>assistant<|channel|>commentary<|message|>": "<|end|>",
    "<|channel>thought": "<channel|>",
    "<THINK>": "</THINK>",
    "<Think>": "</Think>",
    "<|START_THINKING|>": "<|END_THINKING|>",
    "<|inner_prefix|>": "<|inner_suffix|>",
    "<unused94>": "<unused95>",
}
# where a message of gpt-oss is not ended, the next one begins
NEXT, ENDED = "<|start|>", "<|end|>"
# the longest beginning of what ends thoughts
MOST_HELD = max(len(one) for one in (*MARKS.values(), NEXT))
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
# what templates put behind an answer, where a server leaves it there
END_MARKS = (
    *("<|im_end|>", "<|eot_id|>", "<|endoftext|>", "<|end_of_text|>", "<|eom_id|>", "<|return|>"),
    *("<|end|>", "</s>", "<end_of_turn>", "<eos>", "<｜end▁of▁sentence｜>", "<|END_RESPONSE|>"),
    "<|end_of_box|>",
)
# of those behind each other that are looked for: how many, and their length
MOST_MARKS, MAX_END = 8, 60
# what of these is a tag of HTML as well
STRUCK = "</s>"
BEFORE_STRUCK = re.compile(r"<s[\s>]")
# and before it
HEADS = (
    *("<|start|>assistant<|channel|>final<|message|>", "<|channel|>final<|message|>"),
    *("<|im_start|>assistant\n", "<start_of_turn>model\n", "<|begin_of_box|>"),
    "<|start_header_id|>assistant<|end_header_id|>",
)
# around an answer, behind thoughts
FRAMES = {"<answer>": "</answer>", "<response>": "</response>"}
# what two models put around the answer itself
FINAL = re.compile(r"\s*(?:<\|start\|>assistant)?<\|channel\|>final(?:<\|[^|>]*\|>)?")
RESPONSE = re.compile(r"\s*<\|START_RESPONSE\|>(.*?)(?:<\|END_RESPONSE\|>\s*)?\Z", re.DOTALL)


def without_end_marks(text: str, marks: tuple[str, ...] = END_MARKS) -> str:
    """Return a text without what a template has put behind it."""
    for _ in range(MOST_MARKS):
        shorter = text.rstrip()
        mark = next((one for one in marks if shorter.endswith(one)), "")
        # struck out text of HTML ends so, too
        if not mark or (mark == STRUCK and BEFORE_STRUCK.search(shorter)):
            break
        text = shorter.removesuffix(mark)
    return text


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
        thoughts, found, rest = _closed(start[len(opening) :], MARKS[opening])
        parts.append(thoughts.strip())
        if not found:
            break
        if "commentary" in opening and not rest.strip():
            # words for the user, and nothing else
            rest = parts.pop()
    if parts or rest != text:
        return "\n\n".join(filter(None, parts)), _answer(rest)
    if any(one in text for one in ENDS) and not any(one in text for one in MARKS):
        *_, last = (None, *CLOSED.finditer(text))
        if last is not None:
            return text[: last.start()].strip(), _answer(text[last.end() :])
    return "", without_end_marks(_without_head(text))


def _closed(text: str, closing: str) -> tuple[str, bool, str]:
    """Return thoughts, whether they have ended, and what stands behind them."""
    at, length = text.find(closing), len(closing)
    if closing == ENDED and (following := text.find(NEXT)) >= 0 and not 0 <= at < following:
        at, length = following, 0
    return (text[:at], True, text[at + length :]) if at >= 0 else (text, False, "")


def _answer(text: str) -> str:
    """Return what stands behind thoughts, without what some models put around it there."""
    answer = _without_head(text).lstrip()
    opening = next((one for one in FRAMES if answer.startswith(one)), "")
    if not opening:
        return without_end_marks(answer)
    marks = (*END_MARKS, FRAMES[opening])
    return without_end_marks(answer.removeprefix(opening).lstrip(), marks)


def _without_head(text: str) -> str:
    if "<" not in text[:40]:
        return text
    text = _without_channel(text)
    start = text.lstrip()
    head = next((one for one in HEADS if start.startswith(one)), "")
    return start.removeprefix(head).lstrip() if head else text


def _may_become(text: str, marks: Iterable[str]) -> bool:
    """Return whether a text is the beginning of a mark."""
    return any(len(text) < len(mark) and mark.startswith(text) for mark in marks)


def _without_channel(text: str) -> str:
    if "<|START_RESPONSE|>" in text[:200] and (found := RESPONSE.match(text)) is not None:
        return found[1]
    found = FINAL.match(text)
    return text if found is None else text[found.end() :]


class AnswerStream:
    """A text that comes in pieces, without the thoughts at its start and the marks at its end."""

    def __init__(self) -> None:
        self._held = ""
        # before it, pieces of white space
        self._blanks: list[str] = []
        # of its end, what may be marks; and which these are
        self._end = ""
        self._marks: tuple[str, ...] = END_MARKS
        self._is_struck = False
        # what ends the thoughts; "" before it is known whether there are any, None behind them
        self._closing: str | None = ""

    def feed(self, piece: str) -> str:
        """Return what of the text so far is meant for others, and was not returned before."""
        text = self._behind_thoughts(piece)
        if not self._end and "<" not in text:
            # as nearly always
            return text
        text = self._end + text
        self._is_struck = self._is_struck or BEFORE_STRUCK.search(text) is not None
        at = text.find("<", max(0, len(text) - MAX_END))
        while at >= 0 and not self._may_be_end(text[at:]):
            at = text.find("<", at + 1)
        self._end = text[at:] if at >= 0 else ""
        return text[:at] if at >= 0 else text

    def _may_be_end(self, text: str) -> bool:
        """Return whether marks stand there, the last of them maybe in part."""
        while text := text.lstrip():
            mark = next((one for one in self._marks if text.startswith(one)), "")
            if not mark:
                return _may_become(text, (*self._marks, "<s>"))
            text = text[len(mark) :]
        return True

    def _behind_thoughts(self, piece: str) -> str:
        if self._closing is None:
            return piece
        if not self._held and not piece.strip():
            self._blanks.append(piece)
            return ""
        self._held += "".join((*self._blanks, piece))
        self._blanks.clear()
        if self._closing == "":
            start = self._held.lstrip()
            if _may_become(start, (*MARKS, *HEADS)):
                # it may still become one
                return ""
            opening = next((mark for mark in MARKS if start.startswith(mark)), None)
            if opening is None:
                return self._release(_without_head(self._held))
            self._closing, self._held = MARKS[opening], start[len(opening) :]
        while True:
            _, found, rest = _closed(self._held, self._closing)
            if not found:
                self._held = self._held[-MOST_HELD:]
                return ""
            behind = rest.lstrip()
            again = next((mark for mark in MARKS if behind.startswith(mark)), None)
            if again is None:
                break
            self._closing, self._held = MARKS[again], behind[len(again) :]
        start = _without_head(behind).lstrip()
        if not start or _may_become(behind, (*MARKS, *HEADS)) or _may_become(start, FRAMES):
            # the white space behind the thoughts belongs to them
            self._held = self._closing + behind
            return ""
        opening = next((one for one in FRAMES if start.startswith(one)), "")
        if opening:
            self._marks = (*self._marks, FRAMES[opening])
        return self._release(start.removeprefix(opening).lstrip())

    def _release(self, text: str) -> str:
        self._closing, self._held = None, ""
        return text

    def rest(self) -> str:
        """Return what is held back at the end of the text: a beginning that became no mark."""
        held, self._held = "".join((*self._blanks, self._held)), ""
        self._blanks.clear()
        end, self._end = self._end, ""
        marks = self._marks
        if self._is_struck:
            marks = tuple(one for one in marks if one != STRUCK)
        end = without_end_marks(end, marks)
        if self._closing:
            # behind the thoughts, a beginning that became no mark
            held = _answer(_closed(held, self._closing)[2])
        return held + end if self._closing else end + without_end_marks(held)
