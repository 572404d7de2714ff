"""The lines of a crew's files without what may be secret; every column keeps its place."""

import re
from functools import lru_cache

# what stands under these keys may be a secret whatever its name
GUARDED = re.compile(r"""^(\s*(?:- )?)(['"]?)(providers|headers|env|notify)\2\s*:""")
INSIDE = re.compile(r"\b(providers|headers|env|notify)\b")
WORDS = ("api_key", "api-key", "apikey", "authorization", "bearer", "token:", "secret", "password")
# the name of a tokenizer, which has one of these words in it
TOKENIZER = "tiktoken:"
# a key of a guarded block, and what stands behind it
KEYED = re.compile(r"""(\s*(?:- )*(?:[\w.-]+|"[^"]*"|'[^']*')\s*:)(?=\s|$)(.*)""")
# what names a variable or is a number tells nothing
HARMLESS = re.compile(r"""(["']?(\$\{\w+\}|[\d.]+)["']?)?""")
USER = re.compile(r"(?<=://)[^/\s@]+(?=@)")


@lru_cache(maxsize=4)
def redact_lines(text: str) -> list[str | None]:
    """Redact each line of a text as it may be shown; None for one that may not be at all."""
    out: list[str | None] = []
    # the indentation of the guarded key whose block this is
    inside: int | None = None
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        if inside is not None and line.strip() and indent <= inside:
            inside = None
        found = GUARDED.match(line)
        if inside is None and found:
            inside = len(found[1])
        if inside is not None:
            out.append(_redact_value(line))
        elif INSIDE.search(line.partition(" #")[0]) or _has_secret_word(line):
            out.append(None)
        else:
            out.append(USER.sub(lambda user: "•" * len(user[0]), line))
    return out


def _has_secret_word(line: str) -> bool:
    text = line.lower().replace(TOKENIZER, "")
    return any(word in text for word in WORDS)


def _redact_value(line: str) -> str:
    """Return the line with all behind its key redacted, character by character; else all of it."""
    found = KEYED.fullmatch(line)
    head, rest = (found[1], found[2]) if found else ("", line)
    value = rest.partition(" #")[0]
    return line if HARMLESS.fullmatch(value.strip()) else head + re.sub(r"\S", "•", rest)
