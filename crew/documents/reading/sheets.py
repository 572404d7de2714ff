"""The style sheets of a page, as far as they decide what is seen; pure."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
# rules under a condition, one level deep
CONDITION = re.compile(r"@([\w-]{1,40}+)([^{};@]{0,500}+)\{((?:[^{}]*\{[^{}]*\})*[^{}]*)\}")
# a page on a screen of any size fulfils it
ALWAYS = re.compile(r"\s*(?:only\s+)?(?:screen|all)\s*", re.IGNORECASE)
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
ESCAPE = re.compile(r"\\([0-9a-f]{1,6})\s?|\\(.)", re.IGNORECASE)
# of a selector: what stands between its elements, and what one of them has
BESIDE, BETWEEN = re.compile(r"\s*[+~](?!=)\s*"), re.compile(r"\s*>\s*|\s+")
COMPOUND = re.compile(r"(\*|[a-z][\w-]*)?((?:[.#][\w-]+|\[[^\]]*\])*)")
NAME = re.compile(r"[.#][\w-]+|\[[^\]]*\]")
ATTRIBUTE = re.compile(r"""\[\s*([\w-]+)\s*(?:[~|^$*]?=.*)?\]""")
MAX_CODE = 0x10FFFF
# the declarations of a rule, and those that come before a style of an element's own
Declarations = Mapping[str, tuple[str, bool]]


@dataclass(frozen=True)
class Element:
    """An element with its attributes, and what it stands in."""

    tag: str
    given: Mapping[str, str]
    parent: "Element | None" = None

    @cached_property
    def names(self) -> frozenset[str]:
        """Its classes, its id and its attributes, as selectors have them."""
        names = [f".{one}" for one in self.given.get("class", "").lower().split()]
        names += [f"#{self.given['id'].lower()}"] if self.given.get("id") else []
        return frozenset((*names, *(f"[{name}]" for name in self.given)))


@dataclass(frozen=True, slots=True)
class _Compound:
    tag: str
    names: frozenset[str]

    def fits(self, element: Element) -> bool:
        return self.tag in ("", "*", element.tag) and self.names <= element.names


@dataclass(frozen=True, slots=True)
class _Rule:
    # the last is of the element itself, the others of elements around it
    parts: tuple[_Compound, ...]
    given: Declarations
    # what comes later, and is more exact, holds
    rank: tuple[int, int, int]

    def fits(self, element: Element) -> bool:
        if not self.parts[-1].fits(element):
            return False
        wanted, one = list(self.parts[:-1]), element.parent
        while wanted and one is not None:
            if wanted[-1].fits(one):
                wanted.pop()
            one = one.parent
        return not wanted


class StyleSheet:
    """The rules of a page's own styles.

    A child is taken for any element within; what depends on an element beside it, as if it were
    there; on a value of an attribute, on that attribute. What depends on a state of the page is
    left out.
    """

    def __init__(self, text: str) -> None:
        """`text`: of all its style elements."""
        # by a name that the element must have, or its tag, or "*"
        self._rules: dict[str, list[_Rule]] = {}
        plain = CONDITION.sub(_unconditional, COMMENT.sub("", text))
        for number, (selectors, body) in enumerate(RULE.findall(plain)):
            given = declarations(body)
            for selector in selectors.lower().split(","):
                parts = _parts(selector.strip())
                if not parts:
                    continue
                names = sum(len(one.names) for one in parts)
                tags = sum(one.tag not in ("", "*") for one in parts)
                last = parts[-1]
                key = min(last.names) if last.names else last.tag
                rule = _Rule(parts, given, (names, tags, number))
                self._rules.setdefault(key, []).append(rule)

    def of(self, element: Element) -> dict[str, str]:
        """Return what holds for an element."""
        keys = (*element.names, element.tag, "*")
        found = [rule for key in keys for rule in self._rules.get(key, ()) if rule.fits(element)]
        found.sort(key=lambda rule: rule.rank)
        own = declarations(element.given.get("style", ""))
        plain: dict[str, str] = {}
        strong: dict[str, str] = {}
        for given in (*(rule.given for rule in found), own):
            for name, (value, is_strong) in given.items():
                (strong if is_strong else plain)[name] = value
        return plain | strong


def _unconditional(found: re.Match[str]) -> str:
    """Return the rules under a condition that always holds; of another one, such as print, none.

    What is hidden under a condition is seen without it.
    """
    is_always = found[1].lower() == "layer" or (
        found[1].lower() == "media" and ALWAYS.fullmatch(found[2]) is not None
    )
    return found[3] if is_always else ""


def _parts(selector: str) -> tuple[_Compound, ...]:
    """Return the elements that a selector names; () where it is not understood."""
    found = []
    for text in BETWEEN.split(BESIDE.split(selector)[-1]):
        one = COMPOUND.fullmatch(text)
        if not text or one is None:
            return ()
        found.append(_Compound(one[1] or "", frozenset(_names(one[2]))))
    return tuple(found)


def _names(text: str) -> Iterator[str]:
    for name in NAME.findall(text):
        attribute = ATTRIBUTE.fullmatch(name)
        yield f"[{attribute[1]}]" if attribute is not None else name


def declarations(text: str) -> dict[str, tuple[str, bool]]:
    """Return the properties that a style has, and whether each is important."""
    plain = ESCAPE.sub(_character, COMMENT.sub("", text)).lower()
    found: dict[str, tuple[str, bool]] = {}
    for one in plain.split(";"):
        name, colon, value = one.partition(":")
        if colon:
            value, sign, _ = value.partition("!")
            found[name.strip()] = value.strip(), bool(sign)
    return found


def _character(found: re.Match[str]) -> str:
    if found[1] is None:
        return found[2]
    code = int(found[1], 16)
    return chr(code) if code <= MAX_CODE else ""
