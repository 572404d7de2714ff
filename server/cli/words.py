"""What a person's words decide where a pause asks about calls; pure.

Only clear words decide: for anything else the question is repeated, since a call that was denied
by mistake is as wrong as one that was made by mistake.
"""

import re
import unicodedata

from crew.journal.query import Decision

# in the languages of those who use it, compared without case and punctuation at the end
CONSENT = frozenset(
    {
        *("y", "yes", "yep", "yeah", "ok", "okay", "sure", "fine", "approve", "approved"),
        *("allow", "allowed", "accept", "confirm", "confirmed", "go", "go ahead", "do it"),
        *("go for it", "please do", "of course", "sounds good", "looks good", "lgtm"),
        *("có", "được", "đồng ý", "vâng", "ừ", "ja", "oui", "sí", "si", "d'accord", "vale"),
    }
)
DENIAL = frozenset(
    {
        *("n", "no", "nope", "never", "deny", "denied", "reject", "rejected", "refuse", "refused"),
        *("don't", "do not", "don't do it", "do not do it", "không", "nein", "non", "stop"),
    }
)
AGAIN = frozenset({"retry", "again", "try again", "make it again"})
SKIP = frozenset({"skip", "skip it", "leave it", "leave it out"})
POLITE = re.compile(r"\b(?:please|thanks|thank you|then|bitte|nhé|ạ)\b")
# that something is as it should be
FINE = re.compile(r"(?:(?:that's|that is|it's|it is|all) )?(?:fine|ok|okay|good|right)")
# between a no and its reason
REASON = re.compile(r"\s*(?:[,:;.!–—-]+|\bbecause\b|\bsince\b)\s*")


def decision_in(text: str, question: str) -> tuple[Decision, str] | None:
    """Find what words decide, and the reason that they give; None: nothing clear.

    Args:
        text: the person's line.
        question: what kind the pause asks: approval, form, plan or unknown_outcome.
    """
    text = unicodedata.normalize("NFC", text)
    words = _plain(text)
    if question == "unknown_outcome":
        if words in AGAIN:
            return "retry", ""
        return ("skip", "") if words in SKIP else None
    if words in CONSENT:
        return "approve", ""
    if words in DENIAL:
        return "deny", ""
    head, reason = _parts(text)
    # "no, go ahead" says both
    if _plain(head) in DENIAL and not any(map(_agrees, REASON.split(reason))):
        return "deny", reason
    return None


def _plain(text: str) -> str:
    words = " ".join(text.lower().replace("’", "'").split()).strip(" .,!")
    return " ".join(POLITE.sub(" ", words).split()).strip(" .,!") if words else words


def _agrees(text: str) -> bool:
    words = _plain(text)
    return words in CONSENT or FINE.fullmatch(words) is not None


def _parts(text: str) -> tuple[str, str]:
    """Return what stands before the first mark of punctuation, and what behind it."""
    found = REASON.search(text)
    if found is None:
        return text, ""
    return text[: found.start()], text[found.end() :].strip()
