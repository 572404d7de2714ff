"""What an element of HTML hides by its style; pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

NAMED = {
    "white": (255, 255, 255),
    "snow": (255, 250, 250),
    "ivory": (255, 255, 240),
    "ghostwhite": (248, 248, 255),
    "whitesmoke": (245, 245, 245),
    "black": (0, 0, 0),
    "red": (255, 0, 0),
    "green": (0, 128, 0),
    "blue": (0, 0, 255),
    "yellow": (255, 255, 0),
    "gray": (128, 128, 128),
    "grey": (128, 128, 128),
    "silver": (192, 192, 192),
    "navy": (0, 0, 128),
}
Color = tuple[int, int, int]
RGB = re.compile(r"rgba?\(\s*(\d+)\s*[,\s]\s*(\d+)\s*[,\s]\s*(\d+)(?:\s*[,/]\s*([\d.]+%?))?\s*\)")
HEX = re.compile(r"#([0-9a-f]{3,8})\b")
# colors as near as this are the same to a reader
NEAR = 12
RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
SELECTOR = re.compile(r"([a-z][a-z0-9]*)?([.#][\w-]+)?")
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
NUMBER = re.compile(r"-?\d*\.?\d+")
NO_CLIP = ("auto", "none", "unset", "initial", "inherit")


@dataclass(frozen=True, slots=True)
class TextLook:
    """How the text of an element looks."""

    is_hidden: bool = False
    color: Color = (0, 0, 0)
    background: Color = (255, 255, 255)

    @property
    def is_unseen(self) -> bool:
        """Whether no reader sees it."""
        near = all(abs(a - b) <= NEAR for a, b in zip(self.color, self.background, strict=True))
        return self.is_hidden or near


class StyleSheet:
    """The rules of a document's own styles, as far as their selectors are one name."""

    def __init__(self) -> None:
        self._rules: dict[str, dict[str, str]] = {}

    def add(self, text: str) -> None:
        """Add the rules of a style element."""
        for selectors, body in RULE.findall(COMMENT.sub("", text)):
            for selector in selectors.lower().split(","):
                known = self._rules.setdefault(selector.strip(), {})
                known.update(declarations(body))

    def of(self, tag: str, given: Mapping[str, str]) -> dict[str, str]:
        """Return what holds for an element."""
        names = [f".{one}" for one in given.get("class", "").lower().split()]
        names += [f"#{given['id'].lower()}"] if given.get("id") else []
        found: dict[str, str] = {}
        for selector in (tag, *names, *(f"{tag}{one}" for one in names)):
            found.update(self._rules.get(selector, {}))
        return found | declarations(given.get("style", ""))


def declarations(text: str) -> dict[str, str]:
    """Return the properties that a style has."""
    pairs = (one.partition(":") for one in COMMENT.sub("", text).lower().split(";"))
    return {
        name.strip(): value.replace("!important", "").strip()
        for name, colon, value in pairs
        if colon
    }


def look_of(parent: TextLook, tag: str, given: Mapping[str, str], sheet: StyleSheet) -> TextLook:
    """Return how an element looks.

    Args:
        parent: of the element that it stands in.
        tag: its name.
        given: its attributes.
        sheet: of the document.
    """
    style = sheet.of(tag, given)
    look = parent
    shown = style.get("background-color") or style.get("background") or given.get("bgcolor", "")
    if (background := color_in(shown)) is not None:
        look = replace(look, background=background)
    color = color_in(style.get("color", ""))
    if color is None and tag == "font":
        color = color_in(given.get("color", ""))
    if color is not None:
        look = replace(look, color=color)
    hides = "hidden" in given or given.get("aria-hidden") == "true" or _hides(style)
    return replace(look, is_hidden=True) if hides else look


def _hides(style: Mapping[str, str]) -> bool:
    if style.get("display") == "none" or style.get("visibility") in ("hidden", "collapse"):
        return True
    if style.get("content-visibility") == "hidden" or style.get("color") == "transparent":
        return True
    if any(_is_below(style.get(name), 0.05) for name in ("opacity", "font-size", "zoom")):
        return True
    if _is_below(style.get("font-size"), 2) and "px" in style.get("font-size", ""):
        return True
    cuts = "hidden" in style.get("overflow", "") or style.get("overflow") == "clip"
    sizes = ("width", "height", "max-width", "max-height")
    if cuts and any(_is_below(style.get(name), 2) for name in sizes):
        return True
    if style.get("position") in ("absolute", "fixed"):
        places = ("left", "top", "right", "bottom")
        if any(_is_below(style.get(name), -500) for name in places):
            return True
        if style.get("clip", "auto") not in NO_CLIP:
            return True
    return _is_below(style.get("text-indent"), -500) or "scale(0" in style.get("transform", "")


def _is_below(value: str | None, limit: float) -> bool:
    """Return whether a value begins with a number that is not over a limit."""
    found = NUMBER.match(value) if value else None
    return found is not None and float(found[0]) <= limit


def color_in(text: str) -> Color | None:
    """Return the color that a value names; None for none, or one that is not known."""
    text = text.strip().lower()
    if (found := HEX.search(text)) is not None:
        digits = found[1]
        if len(digits) in (3, 4):
            digits = "".join(one * 2 for one in digits)
        if len(digits) < 6:
            return None
        return int(digits[:2], 16), int(digits[2:4], 16), int(digits[4:6], 16)
    if (found := RGB.search(text)) is not None:
        red, green, blue = (min(255, int(found[place])) for place in (1, 2, 3))
        return red, green, blue
    for word in text.replace(",", " ").split():
        if word in NAMED:
            return NAMED[word]
    return None
