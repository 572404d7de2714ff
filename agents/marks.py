"""The marks by which a model knows who speaks, and how text of others is kept from forging them.

`[name]: ` leads another agent's words, `[📊 … RESULTS]` a block of results. A line that looks like
one of them, in what a user, another agent or a tool has written, is shown as a quotation.
"""

import re

# what Python's ^ does not count as the start of a line, a model may
BREAKS = r"\r\v\f\x1c-\x1e\x85\u2028\u2029"
# the white space is that of one line: over several, each break would be looked at from each other
LINE = rf"(^|[{BREAKS}])([^\S\n{BREAKS}]*)"
MARK = re.compile(
    LINE + r"(?=\[(?:[^\n]{1,200}?\]:|📊|END |A person changed"
    r"|\d+ earlier (?:message|exchange)|result of |attached: ))",
    re.MULTILINE,
)
# leads a member's answer in the joined results of a group, or the answer of a task
NAME = r"[A-Za-z0-9_-]{1,128}"
MEMBER = re.compile(
    LINE + rf"(?=\[{NAME}(?: · {NAME})?\][^\S\n{BREAKS}]*(?:$|[{BREAKS}]))", re.MULTILINE
)


def quote_marks(text: str) -> str:
    """Return a text in which each line that looks like a mark of ours begins with `> `."""
    return MARK.sub(r"\1\2> ", text) if "[" in text else text


def quote_member_marks(text: str) -> str:
    """Return the same for a member's answer in the joined results of its group."""
    return MEMBER.sub(r"\1\2> ", quote_marks(text)) if "[" in text else text
