"""What an element of HTML hides by its style; pure."""

import colorsys
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace

from crew.documents.reading.sheets import Element

# that are light, which are used to hide, and the commonest; others are told apart by their names
NAMED = {
    name: tuple(bytes.fromhex(digits))
    for name, digits in {
        "white": "ffffff",
        "snow": "fffafa",
        "ivory": "fffff0",
        "ghostwhite": "f8f8ff",
        "whitesmoke": "f5f5f5",
        "floralwhite": "fffaf0",
        "mintcream": "f5fffa",
        "azure": "f0ffff",
        "aliceblue": "f0f8ff",
        "honeydew": "f0fff0",
        "seashell": "fff5ee",
        "lavenderblush": "fff0f5",
        "oldlace": "fdf5e6",
        "linen": "faf0e6",
        "beige": "f5f5dc",
        "lightyellow": "ffffe0",
        "lightcyan": "e0ffff",
        "black": "000000",
        "red": "ff0000",
        "green": "008000",
        "blue": "0000ff",
        "yellow": "ffff00",
        "gray": "808080",
        "grey": "808080",
        "silver": "c0c0c0",
        "navy": "000080",
    }.items()
}
KEYWORDS = frozenset("inherit initial unset revert none currentcolor auto canvastext".split())  # noqa: SIM905
Color = tuple[int, ...]
FUNCTION = re.compile(r"(rgb|hsl)a?\(([^)]*)\)")
HEX = re.compile(r"#([0-9a-f]{3,8})\b")
# colors as near as this are the same to a reader
NEAR = 16
LENGTH = re.compile(r"(-?\d*\.?\d+(?:e[+-]?\d+)?)(px|pt|em|rem|ex|ch|vw|vh|cm|mm|in|%)?")
# in pixels
UNITS = {
    "px": 1.0,
    "pt": 1.33,
    "em": 16.0,
    "rem": 16.0,
    "ex": 8.0,
    "ch": 8.0,
    "vw": 12.8,
    "vh": 7.2,
    "cm": 37.8,
    "mm": 3.78,
    "in": 96.0,
    "%": 0.16,
    "": 1.0,
}
# letters as small, a place as far off, are not seen; nor is what has so little left of its color
SMALL, FAR, FAINT = 2.0, 500.0, 0.05
NO_CLIP = ("auto", "none", "unset", "initial", "inherit")
SHIFTS = ("left", "top", "right", "bottom", "margin", "margin-left", "margin-top", "text-indent")


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


def look_of(parent: TextLook, element: Element, style: Mapping[str, str]) -> TextLook:
    """Return how an element looks.

    Args:
        parent: of the element that it stands in.
        element: with its attributes.
        style: that holds for it.
    """
    look, given = parent, element.given
    shown = style.get("background-color") or style.get("background") or given.get("bgcolor", "")
    if (background := color_in(shown)) is not None and not is_faint(shown):
        look = replace(look, background=background)
    written = style.get("-webkit-text-fill-color") or style.get("color", "")
    if not written:
        written = given.get({"font": "color", "body": "text"}.get(element.tag, ""), "")
    if (color := color_in(written)) is not None:
        look = replace(look, color=color)
    hides = "hidden" in given or "popover" in given or given.get("aria-hidden") == "true"
    return replace(look, is_hidden=True) if hides or is_faint(written) or _hides(style) else look


def _hides(style: Mapping[str, str]) -> bool:
    if style.get("display") == "none" or style.get("visibility") in ("hidden", "collapse"):
        return True
    if style.get("content-visibility") == "hidden" or _is_tiny(style):
        return True
    faint = (style.get("opacity"), style.get("scale"), style.get("zoom"))
    if any(one and _number(one) <= FAINT for one in faint):
        return True
    if "opacity(0" in style.get("filter", "").replace(" ", ""):
        return True
    cuts = "hidden" in style.get("overflow", "") or style.get("overflow") == "clip"
    sizes = ("width", "height", "max-width", "max-height")
    if cuts and any(_pixels(style.get(name), SMALL + 1) <= SMALL for name in sizes):
        return True
    return _is_moved(style) or _is_cut(style)


def _is_tiny(style: Mapping[str, str]) -> bool:
    size = style.get("font-size")
    if size is None:
        # `italic 0/0 a`: the first length
        found = LENGTH.search(style.get("font", ""))
        size = found[0] if found is not None and "font" in style else None
    return size is not None and _pixels(size, FAR) <= SMALL


def _is_moved(style: Mapping[str, str]) -> bool:
    """Return whether it is moved out of what is seen."""
    is_placed = style.get("position", "static") != "static"
    names = SHIFTS if is_placed else SHIFTS[4:]
    if any(_pixels(style.get(name), 0.0) <= -FAR for name in names):
        return True
    changed = style.get("transform", "").replace(" ", "")
    if re.search(r"scale[xy]?\((?:0(?:\.0\d*)?|\.0\d*)[,)]", changed):
        return True
    moved = f"{changed} {style.get('translate', '')}"
    shifts = [*re.findall(r"translate[xy3d]*\(([^)]*)\)", moved), style.get("translate", "")]
    return any(
        _pixels(part, 0.0) <= -FAR for shift in shifts for part in shift.replace(",", " ").split()
    )


def _is_cut(style: Mapping[str, str]) -> bool:
    """Return whether nothing is left of it."""
    clips = style.get("position") in ("absolute", "fixed")
    if clips and style.get("clip", "auto") not in NO_CLIP:
        return True
    path = style.get("clip-path", "").replace(" ", "")
    if path.startswith(("circle(0", "ellipse(0")):
        return True
    inset = re.match(r"inset\((\d+)(%|px)", path)
    return inset is not None and int(inset[1]) >= (FAR if inset[2] == "px" else 50)


def _number(value: str) -> float:
    """Return a number, or a part in percent; without one: 1."""
    found = LENGTH.match(value)
    if found is None:
        return 1.0
    return float(found[1]) / 100 if found[2] == "%" else float(found[1])


def _pixels(value: str | None, without: float) -> float:
    """Return a length in pixels, about; `without`: of a value that has none."""
    found = LENGTH.match(value) if value else None
    return without if found is None else float(found[1]) * UNITS[found[2] or ""]


def is_faint(text: str) -> bool:
    """Return whether a color lets all through."""
    text = text.strip().lower()
    if text == "transparent":
        return True
    if (found := HEX.fullmatch(text)) is not None and len(found[1]) in (4, 8):
        digits = found[1][3] * 2 if len(found[1]) == 4 else found[1][6:]
        return int(digits, 16) <= FAINT * 255
    if (found := FUNCTION.search(text)) is not None:
        parts = found[2].replace(",", " ").replace("/", " ").split()
        return len(parts) > 3 and _number(parts[3]) <= FAINT
    return False


def color_in(text: str) -> Color | None:
    """Return the color that a value names; None for none."""
    text = text.strip().lower()
    if (found := HEX.search(text)) is not None:
        digits = found[1]
        if len(digits) in (3, 4):
            digits = "".join(one * 2 for one in digits)
        return tuple(bytes.fromhex(digits[:6])) if len(digits) >= 6 else None
    if (found := FUNCTION.search(text)) is not None:
        parts = found[2].replace(",", " ").replace("/", " ").split()
        return _computed(found[1], parts) if len(parts) >= 3 else None
    for word in text.replace(",", " ").split():
        if word in NAMED:
            return NAMED[word]
    if text.isalpha() and text not in KEYWORDS:
        # not known, and the same as itself
        return (1000 + zlib.crc32(text.encode()) % 1_000_000,) * 3
    return None


def _computed(kind: str, parts: list[str]) -> Color | None:
    values = [LENGTH.match(part) for part in parts[:3]]
    numbers = [float(one[1]) for one in values if one is not None]
    if len(numbers) < 3:
        return None
    if kind == "hsl":
        hue, saturation, light = numbers[0] % 360 / 360, numbers[1] / 100, numbers[2] / 100
        found = colorsys.hls_to_rgb(hue, min(1.0, light), min(1.0, saturation))
        return tuple(round(255 * one) for one in found)
    of = [2.55 if part.endswith("%") else 1.0 for part in parts[:3]]
    return tuple(min(255, round(a * b)) for a, b in zip(numbers, of, strict=True))
