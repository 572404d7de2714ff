"""Names of documents; pure."""

import re
import secrets
import unicodedata
from datetime import datetime

MAX_NAME = 255
# characters that no one sees or that change the direction of others, and the other separator
UNWANTED = re.compile(
    r"[\x00-\x1f\x7f-\x9f\\\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    r"\ud800-\udfff\U000e0000-\U000e007f]"
)


class NameRefused(Exception):
    """A name that no document may have."""


def checked_name(name: str) -> str:
    """Return a name as it is kept; raises NameRefused.

    A path within the crew's folder is a name, too.
    """
    kept = unicodedata.normalize("NFC", name).strip()
    if not kept:
        raise NameRefused("the name is empty")
    if len(kept) > MAX_NAME:
        raise NameRefused(f"the name has {len(kept)} characters, and {MAX_NAME} at most are kept")
    if (found := UNWANTED.search(kept)) is not None:
        text = (
            f"the name has a character that cannot be seen or stand there (U+{ord(found[0]):04X})"
        )
        raise NameRefused(text)
    parts = kept.split("/")
    if any(part in ("", ".", "..") for part in parts):
        raise NameRefused("the name is a path that leads elsewhere; give the file's own name")
    return kept


def new_document_id(now: datetime) -> str:
    """Return the id of a new version: the greater, the later it was made."""
    return f"d{int(now.timestamp() * 1000):012x}{secrets.token_hex(4)}"
