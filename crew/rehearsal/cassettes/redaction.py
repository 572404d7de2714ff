"""Secrets and personal data are left out of what is kept of a run.

The same text is replaced by the same placeholder everywhere, so what was equal stays equal.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

# names of fields that hold a secret; `key` alone names much else
SECRET_FIELD = re.compile(
    r"(?:[\W_a-z]keys?|tokens?|secrets?|passwords?|passwd|passphrase|pwd|credentials?"
    r"|authorization|cookies?)$",
    re.IGNORECASE,
)
# in texts: {"api_key": "…"}, password=…
ASSIGNED = re.compile(
    r"(?i)(?:[\w-]key|token|secret|password|passwd|passphrase|credential)s?[\"']?"
    r"\s{0,3}[:=]\s{0,3}[\"']?([^\s\"',;&}\])<>]{6,512})"
)
SECRETS = (
    re.compile(
        r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\s\S]{0,8192}?-----END [A-Z ]{0,40}KEY-----"
    ),
    re.compile(r"\beyJ[\w-]{8,4096}\.[\w-]{8,8192}\.[\w-]{0,1024}"),
    re.compile(
        r"\b(?:sk|pk|rk|ghp|gho|ghs|ghu|github_pat|glpat|xox[abeprs]|hf|npm|pypi)[-_][\w-]{16,512}"
    ),
    re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bAIza[\w-]{35}"),
    re.compile(r"(?i)\b(?:bearer|basic)\s+([\w.~+/=-]{16,4096})"),
    re.compile(r"://[^\s/:@]{0,128}:([^\s/@]{1,256})@"),
)
EMAIL = re.compile(r"[\w.+%-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")
# with +, with a leading 0, or in groups of three, three and four digits
PHONE = re.compile(
    r"(?<![\w.+-])(?:\+\d{1,3}[ ()./-]{0,2}\d(?:[ ()./-]{0,2}\d){6,12}"
    r"|\(?0\d{1,4}\)?[ /-]\d(?:[ -]?\d){4,9}"
    r"|\(?\d{3}\)?[ .-]\d{3}[ .-]\d{4})(?![\w-]|\.\d)"
)


class Redactor:
    """Finds what must not be kept, and replaces it."""

    def __init__(
        self,
        mask: Callable[[str], str],
        patterns: Sequence[str] = (),
        *,
        keeps_personal: bool = False,
    ) -> None:
        """Know nothing yet.

        Args:
            mask: masks the values of the crew's secrets.
            patterns: `replay.redact` of the crew: regular expressions, all of what fits.
            keeps_personal: e-mail addresses and telephone numbers stay.
        """
        self._mask = mask
        rules = [("secret", one) for one in SECRETS] + [("secret", ASSIGNED)]
        rules += [("redacted", re.compile(one)) for one in patterns]
        if not keeps_personal:
            rules += [("email", EMAIL), ("phone", PHONE)]
        self._rules = rules
        # by what is replaced, everywhere; and in a field of its own only
        self._known: dict[str, str] = {}
        self._in_fields: dict[str, str] = {}
        self._counts: dict[str, int] = {}
        self._everywhere: re.Pattern[str] | None = None

    def learn(self, value: Any) -> None:
        """Find what is to be replaced in a value, JSON; call it with all before `redact`."""
        for text, is_secret in _texts(value, is_secret=False):
            if is_secret and text.strip():
                self._add_field(text)
            masked = self._mask(text)
            for kind, rule in self._rules:
                for found in rule.finditer(masked):
                    # some rules know what stands around it
                    self._add(kind, found[found.re.groups and 1])
        self._everywhere = None

    def _add(self, kind: str, text: str) -> None:
        if text not in self._known:
            self._known[text] = self._in_fields.pop(text, "") or self._placeholder(kind)

    def _add_field(self, text: str) -> None:
        if text in self._known or text in self._in_fields:
            return
        if len(text) >= 6 and not text.isalpha():
            self._add("secret", text)
        else:
            # a word that may stand anywhere else
            self._in_fields[text] = self._placeholder("secret")

    def _placeholder(self, kind: str) -> str:
        self._counts[kind] = self._counts.get(kind, 0) + 1
        return f"<{kind} {self._counts[kind]}>"

    def redact(self, value: Any, *, is_secret: bool = False) -> Any:
        """Return a value, JSON, with placeholders; `is_secret`: it stands in such a field."""
        match value:
            case str():
                return (
                    self._in_fields.get(value)
                    if is_secret and value in self._in_fields
                    else (self._text(value))
                )
            case dict():
                return {
                    self._text(key): self.redact(one, is_secret=is_secret or _names_secret(key))
                    for key, one in value.items()
                }
            case list() | tuple():
                return [self.redact(one, is_secret=is_secret) for one in value]
        return value

    def _text(self, text: str) -> str:
        text = self._mask(text)
        if self._everywhere is None:
            longest = sorted(self._known, key=len, reverse=True)
            self._everywhere = re.compile("|".join(map(re.escape, longest)) or r"(?!)")
        return self._everywhere.sub(lambda found: self._known[found[0]], text)


def _names_secret(key: str) -> bool:
    return SECRET_FIELD.search(key) is not None


def _texts(value: Any, *, is_secret: bool) -> Iterator[tuple[str, bool]]:
    """Yield the texts in a value, and whether each stands in a field of a secret."""
    match value:
        case str():
            yield value, is_secret
        case dict():
            for key, one in value.items():
                yield key, False
                yield from _texts(one, is_secret=is_secret or _names_secret(key))
        case list() | tuple():
            for one in value:
                yield from _texts(one, is_secret=is_secret)
