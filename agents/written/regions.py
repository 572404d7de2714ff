"""Where marks of chat templates stand in a text, and its code fences; pure."""

import json
import re
from collections.abc import Iterator

from agents.written.fences import code_fences

# of regions between marks in one text
MAX_REGIONS = 200
# before a mark or a fence, so much of the text shows what it is
LOOK_CHARACTERS = 200
# marks in marks: of DeepSeek V3.2 and later ones (`<｜DSML｜invoke …>`), of MiniMax M3
# (`]<]minimax[>[<invoke …>`)
INNER_MARKS = re.compile(r"(?<=<)(/?)[｜|]{1,2}DSML[｜|]{1,2}|\]<\]minimax\[>\[")
# how two models quote a text
ESCAPED = re.compile(r"<escape>(.*?)<escape>|<\|\"\|>(.*?)<\|\"\|>", re.DOTALL)
# a region between marks; Hermes, Qwen, LFM2, Granite, Llama, FunctionGemma and others
REGIONS = (
    ("<tool_call>", "</tool_call>"),
    ("<tool_calls>", "</tool_calls>"),
    ("<function_call>", "</function_call>"),
    ("<function_calls>", "</function_calls>"),
    ("<functioncall>", "</functioncall>"),
    ("<tools>", "</tools>"),
    ("<minimax:tool_call>", "</minimax:tool_call>"),
    ("<|tool_call_start|>", "<|tool_call_end|>"),
    ("<|tool_call|>", "<|/tool_call|>"),
    ("<|python_tag|>", "<|eom_id|>"),
    ("<|function_call|>", "<|/function_call|>"),
    ("<start_function_call>", "<end_function_call>"),
    ("[TOOL_CALLS]", "</s>"),
    ("[TOOL_CALL]", "[/TOOL_CALL]"),
    # Nemotron, Cohere, InternLM, LongCat, Apertus, Llama 4
    ("<TOOLCALL>", "</TOOLCALL>"),
    ("<|START_ACTION|>", "<|END_ACTION|>"),
    ("<|action_start|>", "<|action_end|>"),
    ("<longcat_tool_call>", "</longcat_tool_call>"),
    ("<|tools_prefix|>", "<|tools_suffix|>"),
    # Gemma 4, LM Studio
    ("<|tool_call>", "<tool_call|>"),
    ("[TOOL_REQUEST]", "[END_TOOL_REQUEST]"),
    ("<|python_start|>", "<|python_end|>"),
    ("functools[", ""),
)
# marks that no prose has may stand behind other text
SPECIAL = ("<|", "<｜", "[TOOL_CALLS]", "<start_function_call>")
FENCED = re.compile(r"\s*(`{3,40}|~{3,40})[ \t]*([\w+-]*)[^\n]*\n(.*?)\n?[ \t]*\1\s*\Z", re.DOTALL)
# where JSON may begin; in how many places it is looked for, and how often a text is read for it
MAX_OBJECTS = 200
MAX_READ = 8
OBJECT = re.compile(r"\{|\[(?=\s*\{)")
DECODER = json.JSONDecoder(strict=False)
# what JSON may have in place of what a mark begins with
IN_TEXTS = {"<": "\\u003c", "[": "\\u005b"}
JSON_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
# Mistral: a name may stand before what is called with
NAME_BEFORE = re.compile(r"\s*(?:[\w.:-]{1,128})?\s*(?:\[CALL_ID\]\w*)?(?:\[ARGS\])?\s*(?=[\[{])")
WORDS_BEHIND = re.compile(r"[^\S\n]*\w")
MARK_BEFORE = re.compile(r"(?:<[^<>\s][^<>\n]*>|\[/?[A-Z_]+\])\s*\Z")


def plain_marks(text: str) -> str:
    """Return a text with the marks of some models in the form that most models write."""
    if "DSML" in text or "]minimax[" in text:
        text = INNER_MARKS.sub(lambda found: found[1] or "", text)
    if "<escape>" in text or '<|"|>' in text:
        text = ESCAPED.sub(lambda found: json.dumps(found[1] or found[2] or ""), text)
    return text


def without_inner_marks(text: str) -> str:
    """Return a text without marks in the texts of its JSON: they are written otherwise there.

    What is read of the JSON is the same; see `with_inner_marks` for the rest.
    """
    if any(escaped in text for escaped in (*IN_TEXTS.values(), "\\u005c")):
        # it could not be read back
        return text
    out, end, at, most = [], 0, 0, MAX_READ * len(text)
    for _ in range(MAX_OBJECTS):
        if most <= 0 or (begin := OBJECT.search(text, at)) is None:
            break
        at = begin.start()
        try:
            _, stop = DECODER.raw_decode(text, at)
        except ValueError as error:
            # an integer that is too long has no place
            stopped = error.pos if isinstance(error, json.JSONDecodeError) else len(text)
            most -= stopped - at + 1
            at += 1
            continue
        except RecursionError:
            break
        if "<" in text[at:stop] or "[" in text[at + 1 : stop]:
            out += [text[end:at], JSON_TEXT.sub(_written_otherwise, text[at:stop])]
            end = stop
        at = stop
    return "".join((*out, text[end:]))


def _written_otherwise(found: re.Match[str]) -> str:
    words = found[0]
    for mark, escaped in IN_TEXTS.items():
        words = words.replace(mark, escaped)
    return words


def with_inner_marks(text: str) -> str:
    """Return a part of such a text as it was written."""
    for mark, escaped in IN_TEXTS.items():
        text = text.replace(escaped, mark)
    return text


def regions(text: str) -> Iterator[str]:
    """Yield what stands between marks; a region that is not closed goes to the end."""
    present = [pair for pair in REGIONS if pair[0] in text]
    at = 0
    for _ in range(MAX_REGIONS):
        found = [
            (place, opening, closing)
            for opening, closing in present
            if (place := _find_mark(text, opening, at)) >= 0
        ]
        if not found:
            return
        place, opening, closing = min(found, key=lambda one: (one[0], -len(one[1])))
        start = place + len(opening) - opening.endswith("functools[")
        end = text.find(closing, start) if closing else -1
        next_mark = text.find(opening, start) if closing else -1
        stop = min([one for one in (end, next_mark) if one >= 0], default=len(text))
        yield text[start:stop]
        at = max(stop, start + 1)


def _find_mark(text: str, mark: str, at: int) -> int:
    """Return where a mark stands as one: at the start of a line, unless no prose has it."""
    while (place := text.find(mark, at)) >= 0:
        before = text[place - 1 : place]
        if begins_line(text, place):
            return place
        is_quoted = before in ("`", '"', "'") or _is_in_sentence(text, place + len(mark))
        if mark.startswith(SPECIAL) and not is_quoted:
            return place
        at = place + 1
    return -1


def _is_in_sentence(text: str, at: int) -> bool:
    """Return whether words go on behind the JSON that stands behind a mark, on the same line."""
    start = at
    while (begins := NAME_BEFORE.match(text, at)) is not None:
        try:
            # one call may stand directly behind another
            _, at = DECODER.raw_decode(text, begins.end())
        except (ValueError, RecursionError):
            return False
    return at > start and WORDS_BEHIND.match(text, at) is not None


def begins_line(text: str, place: int) -> bool:
    """Return whether a place is the start of a line, maybe behind other marks."""
    first = max(0, place - LOOK_CHARACTERS)
    line = text[max(first, text.rfind("\n", first, place) + 1) : place]
    # other marks of the template may stand before it
    return not line.strip() or MARK_BEFORE.search(line) is not None


def unfenced(text: str) -> str:
    """Return what a text that is one code fence holds; else the text."""
    found = FENCED.fullmatch(text)
    return text if found is None else found[3]


def fences(text: str) -> Iterator[tuple[str, str]]:
    """Yield the label and the text of each code fence."""
    for start, stop in code_fences(text):
        if (found := FENCED.fullmatch(text[start:stop])) is not None:
            yield found[2], found[3]


def without_fences(text: str) -> str:
    """Return a text with blanks in place of its code fences, except those between marks."""
    if "```" not in text and "~~~" not in text:
        return text
    out, end = [], 0
    for start, stop in code_fences(text):
        # DeepSeek and others put a fence within their marks
        before = text[max(0, start - LOOK_CHARACTERS) : start].rstrip()
        if before.endswith((">", "]")) or _is_after_name(before):
            continue
        out.append(text[end:start])
        out.append(re.sub(r"[^\n]", " ", text[start:stop]))
        end = stop
    return "".join((*out, text[end:]))


def _is_after_name(before: str) -> bool:
    """Return whether a text ends with a mark and a name, as before DeepSeek's arguments."""
    line = before.rsplit("\n", 1)[-1]
    return "｜>" in line or line.startswith("Action")
