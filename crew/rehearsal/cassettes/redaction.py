"""Secrets and personal data are left out of what is kept of a run.

The same text is replaced by the same placeholder everywhere, so what was equal stays equal. A short
word behind `password:` is replaced where it stands only: elsewhere it may mean something else.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

# fields that hold a secret; of other ones that end with `key` or `tokens` most hold none
_WORDS = r"pass(?:word|wd|phrase|code)|pwd|secret|credential"
_KEYS = (
    r"(?:api|access|secret|private|signing|encryption|auth|account|service|master|license)[_ -]?key"
)
PASS_FIELD = re.compile(rf"{_WORDS}|(?:^|[\W_])pin$", re.IGNORECASE)
SECRET_FIELD = re.compile(
    rf"{_WORDS}|{_KEYS}|token(?!s?$|izer)|(?:^|[\W_])(?:pin|auth|bearer|session|session_?id)$"
    r"|tokens?$|authorization|cookie",
    re.IGNORECASE,
)
PERSONAL_FIELD = re.compile(r"e-?mail|phone|mobile|(?:^|[\W_])(?:tel|fax|iban)$", re.IGNORECASE)
_IS = r"(?:\\{0,4}[\"'])?\s{0,8}(?:=>|[:=])\s{0,8}"
_VALUE = (
    r"(?:(?<!\\)\"((?:[^\"\\\n]|\\.){1,512})\"|\\{1,4}\"([^\"\\\n]{1,512})|'([^'\n]{1,512})"
    r"|([^\s\"',;&<>)\]}\\]{1,512}))"
)


@dataclass(frozen=True, slots=True)
class _Rule:
    kind: str
    pattern: re.Pattern[str]
    # what else is replaced wherever it stands, not here only
    is_strong: bool = True
    # the groups are what is replaced, the first that is there; else all that fits
    has_groups: bool = False
    check: Callable[[str], bool] = bool


def _is_mixed(text: str) -> bool:
    """Return whether a text has letters and digits, as keys have and words have not."""
    return len(text) >= 6 and any(map(str.isdigit, text)) and any(map(str.isalpha, text))


def _is_number_of_phone(text: str) -> bool:
    return 10 <= sum(map(str.isdigit, text)) <= 11


def _secret(pattern: str, flags: int = re.IGNORECASE, **more: Any) -> _Rule:
    compiled = re.compile(pattern, flags)
    return _Rule("secret", compiled, has_groups=bool(compiled.groups), **more)


SECRETS = (
    _secret(
        r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
        r"[\s\S]{0,8192}?(?:-----END [A-Z ]{0,40}-----|\Z)",
        0,
    ),
    _secret(r"\beyJ[\w-]{8,4096}(?:\.[\w-]{0,8192}){2,4}", 0),
    _secret(
        r"\b(?:sk|pk|rk|gh[opsu]|github_pat|glpat|xox[abeprs]|hf|npm|pypi|whsec|dop_v1)"
        r"[-_][\w.-]{16,512}",
        0,
        check=_is_mixed,
    ),
    _secret(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bAIza[\w-]{35}|\bSG\.[\w-]{8,64}\.[\w-]{8,64}", 0),
    _secret(r"\bya29\.[\w-]{8,2048}", 0),
    _secret(r"(?:hooks\.slack\.com/services|discord(?:app)?\.com/api/webhooks)/([\w/-]{6,256})"),
    _secret(rf"(?:authorization|cookie){_IS}[\"']?([^\r\n\"']{{4,2048}})"),
    _secret(r"\bbearer\s+([\w.~+/=-]{6,4096})", check=lambda text: _is_mixed(text) or "." in text),
    _secret(r"://[^\s:/@]{0,128}:((?!\d{1,5}[/?#])[^\s\"'<>]{1,256})@(?=[\w\[])"),
    _secret(
        r"[?&](?:key|sig|signature|token|access_token|api_?key|auth|code|password)="
        r"([^\s&#\"']{6,512})",
        check=_is_mixed,
    ),
    _secret(rf"(?:{_KEYS}|token|secret){_IS}{_VALUE}", check=_is_mixed),
    _secret(rf"(?:{_WORDS})s?{_IS}{_VALUE}", check=lambda text: _is_mixed(text)),
    # a word, or what a person has made up: here only
    _secret(rf"(?:{_WORDS})s?{_IS}{_VALUE}", is_strong=False),
    _secret(
        rf"--?(?:{_WORDS}|token|api-key)[ =]{{1,2}}([^\s\"']{{4,512}})"
        r"|\s-u \w{1,64}:(\S{4,512})",
        is_strong=False,
    ),
    _secret(rf"(?:{_WORDS}) is {_VALUE}", is_strong=False, check=_is_mixed),
    _secret(r"<(?:password|secret|token)>([^<\n]{1,512})<", is_strong=False),
)
PERSONAL = (
    _Rule("account", re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?\b")),
    _Rule(
        "email",
        re.compile(
            r"[\w.+-]{1,64}(?:'[\w.+-]{1,64})?(?:@|%40)"
            r"[\w-]{1,63}(?:\.[\w-]{1,63}){0,7}\.[A-Za-z]{2,24}(?![\w-])"
        ),
    ),
    # with +; with a code in brackets; in groups of three, three and four digits
    _Rule(
        "phone",
        re.compile(
            r"(?<![\w.+-])(?:\+\d{1,3}[ ()./-]{0,2}\d(?:[ ()./-]{0,2}\d){6,12}"
            r"|(?:\d[ -]?)?\(\d{2,4}\)[ -]?\d{3}[ -]?\d{2}[ -]?\d{2}"
            r"|(?:1[.-])?\d{3}[.-]\d{3}[.-]\d{4}"
            r"|1[3-9]\d[ -]?\d{4}[ -]?\d{4})(?![\w-]|\.\d)"
        ),
    ),
    # with a leading 0
    _Rule(
        "phone",
        re.compile(r"(?<![\w.+-])\(?0\d{1,4}\)?(?:[ ./-]{0,3}\d{2,8}){1,5}(?![\w-]|\.\d)"),
        check=_is_number_of_phone,
    ),
)
PLACEHOLDER = re.compile(r"<(?:secret|email|phone|account|redacted|field) \d+>")


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
            keeps_personal: e-mail addresses, telephone and account numbers stay.
        """
        own = [_Rule("redacted", re.compile(one)) for one in patterns]
        self._rules = [*SECRETS, *own, *(() if keeps_personal else PERSONAL)]
        self._mask, self._keeps_personal = mask, keeps_personal
        # by what is replaced: its placeholder
        self._known: dict[str, str] = {}
        # of them, those that are replaced everywhere
        self._strong: set[str] = set()
        self._counts: dict[str, int] = {}
        # placeholders that stand in the texts already
        self._taken: set[str] = set()
        self._everywhere: re.Pattern[str] | None = None

    def learn(self, value: Any) -> None:
        """Find what is to be replaced in a value, JSON; call it with all before `redact`."""
        texts = [(self._mask(text), kind) for text, kind in self._texts(value, "")]
        for text, _ in texts:
            self._taken.update(PLACEHOLDER.findall(text))
        for text, kind in texts:
            if kind and text.strip():
                self._add(kind, text, is_strong=_is_mixed(text) or "@" in text)
            for rule in self._rules:
                for found in rule.pattern.finditer(text):
                    part = _part(rule, found)
                    if part:
                        self._add(rule.kind, found[0][part[0] : part[1]], is_strong=rule.is_strong)
        self._everywhere = None

    def _add(self, kind: str, text: str, *, is_strong: bool) -> None:
        if PLACEHOLDER.fullmatch(text):
            return
        if is_strong:
            self._strong.add(text)
        if text not in self._known:
            self._known[text] = self._placeholder(kind)

    def _placeholder(self, kind: str) -> str:
        while True:
            self._counts[kind] = self._counts.get(kind, 0) + 1
            found = f"<{kind} {self._counts[kind]}>"
            if found not in self._taken:
                return found

    def redact(self, value: Any, kind: str = "") -> Any:
        """Return a value, JSON, with placeholders.

        Args:
            value: keys of mappings stay as they are.
            kind: of the field that it stands in; "": of none that is left out.
        """
        match value:
            case str() if kind and value.strip():
                text = self._mask(value)
                return self._known.get(text, text)
            case str():
                return self._text(self._mask(value))
            case bool() | None:
                return value
            case int() | float() if kind == "secret":
                return self._known.get(str(value), value)
            case dict():
                return {
                    key: self.redact(one, self._kind(key, one, kind)) for key, one in value.items()
                }
            case list() | tuple():
                return [self.redact(one, kind) for one in value]
        return value

    def _text(self, text: str) -> str:
        if self._everywhere is None:
            longest = sorted(self._strong, key=len, reverse=True)
            self._everywhere = re.compile("|".join(map(_bounded, longest)) or r"(?!)")
        text = self._everywhere.sub(lambda found: self._known[found[0]], text)
        for rule in self._rules:
            if not rule.is_strong:
                text = rule.pattern.sub(lambda found, rule=rule: self._replaced(rule, found), text)
        return text

    def _replaced(self, rule: _Rule, found: re.Match[str]) -> str:
        whole, part = found[0], _part(rule, found)
        if part is None:
            return whole
        start, end = part
        inner = whole[start:end]
        return whole[:start] + self._known.get(inner, inner) + whole[end:]

    def _kind(self, key: str, value: Any, above: str) -> str:
        """Return of which kind a field's value is; "": of none that is left out."""
        if above:
            return above
        if isinstance(value, int | float):
            return "secret" if PASS_FIELD.search(key) else ""
        if SECRET_FIELD.search(key):
            return "secret"
        return "field" if PERSONAL_FIELD.search(key) and not self._keeps_personal else ""

    def _texts(self, value: Any, kind: str) -> Iterator[tuple[str, str]]:
        """Yield the texts in a value, and of which kind the field is in which each stands."""
        match value:
            case str():
                yield value, kind
            case bool() | None:
                pass
            case int() | float() if kind == "secret":
                yield str(value), kind
            case dict():
                for key, one in value.items():
                    yield from self._texts(one, self._kind(key, one, kind))
            case list() | tuple():
                for one in value:
                    yield from self._texts(one, kind)


def _part(rule: _Rule, found: re.Match[str]) -> tuple[int, int] | None:
    """Return what of a match is replaced, from where to where; None: nothing."""
    number = (
        next((n for n, one in enumerate(found.groups(), 1) if one), 0) if rule.has_groups else 0
    )
    text = found[number]
    if not text or (rule.has_groups and not number) or not rule.check(text):
        return None
    # a placeholder, or the name of a variable
    if PLACEHOLDER.fullmatch(text) or text.startswith(("${", "$", "<", "{{")):
        return None
    return found.start(number) - found.start(), found.end(number) - found.start()


def _bounded(text: str) -> str:
    """Return the pattern of a text that is no part of a longer word."""
    before = r"(?<!\w)" if text[0].isalnum() else ""
    after = r"(?!\w)" if text[-1].isalnum() else ""
    return before + re.escape(text) + after
