"""Secrets are found wherever they stand in a text, in each of the usual encodings."""

import base64
import json
import re
from collections.abc import Callable
from urllib.parse import quote, quote_plus

from hypothesis import assume, given
from hypothesis import strategies as st

from tools.text.secrets import MASK, MIN_CHARS, MaskedStream, Secrets

TEXTS = st.text(max_size=20)
SECRETS = st.text(min_size=MIN_CHARS, max_size=40).filter(
    # what is masked must not be a part of the mask
    lambda text: len(text.strip()) >= MIN_CHARS and not set(text) <= {"*"}
)
# how a program writes a value within other text
ENCODINGS: dict[str, Callable[[str, str, str], str]] = {
    "plain": lambda before, value, after: before + value + after,
    "json": lambda before, value, after: json.dumps([before + value + after]),
    "utf8-json": lambda before, value, after: json.dumps([before + value], ensure_ascii=False),
    "url": lambda before, value, after: quote(before + value + after, safe=""),
    "form": lambda before, value, after: quote_plus(before + value + after),
    "lower-url": lambda before, value, after: re.sub(
        "%..", lambda found: found[0].lower(), quote(value, safe="")
    ),
}


@given(SECRETS, TEXTS, TEXTS, st.sampled_from(sorted(ENCODINGS)))
def test_no_encoding_hides_a_secret(secret: str, before: str, after: str, encoding: str):
    """What is left has none of its forms."""
    value = secret.strip()
    assume(MASK not in value)
    text = ENCODINGS[encoding](before, value, after)
    alone = ENCODINGS[encoding]("", value, "")
    assert alone.strip('["]') in text
    assert alone.strip('["]') not in Secrets([secret]).mask(text)


@given(st.binary(max_size=7), st.binary(max_size=7), st.booleans())
def test_within_base64(before: bytes, after: bytes, url: bool):
    """Wherever its groups of three bytes begin, in both alphabets."""
    value = "hunter2/hunter2+hunter2?"
    encode = base64.urlsafe_b64encode if url else base64.b64encode
    masked = Secrets([value]).mask(encode(before + value.encode() + after).decode())
    assert MASK in masked
    left = masked.replace(MASK, "")
    # at most the characters that hold bits of what stands beside it
    assert len(left) <= len(encode(before)) + len(encode(after)) + 4


@given(
    st.text("abcdef0123456789/+", min_size=16, max_size=40),
    st.text("xyz \n", max_size=30),
    st.sampled_from(sorted(ENCODINGS)),
    st.data(),
)
def test_a_cut_leaves_no_larger_part(secret: str, beside: str, encoding: str, data: st.DataObject):
    """Wherever a text is cut: at its end, at its beginning, or within."""
    written = ENCODINGS[encoding]("", secret, "").strip('["]')
    at = data.draw(st.integers(len(written) // 2 + 1, len(written) - 1))
    note = "\n[… 12 characters left out …]\n"
    secrets = Secrets([secret])
    for cut in (written[:at], written[-at:]):
        at_end, at_start = f"{beside}{written[:at]}", f"{written[-at:]}{beside}"
        for text in (at_end, at_start, f"{at_end}{note}{at_start}", f"{beside}{note}{at_start}"):
            assert cut not in secrets.mask_cut(text)
    assert secrets.mask_cut(f"{beside}{note}{beside}") == f"{beside}{note}{beside}"


@given(
    SECRETS,
    st.lists(st.one_of(TEXTS, st.none()), max_size=8),
    st.lists(st.integers(1, 9), min_size=1, max_size=9),
)
def test_a_text_in_pieces(secret: str, parts: list[str | None], sizes: list[int]):
    """However it is cut, no secret is shown, and what is none is shown whole."""
    secrets = Secrets([secret])
    whole = "".join(secret.strip() if part is None else part for part in parts)
    stream, shown, at = MaskedStream(secrets), "", 0
    for n in range(len(whole)):
        size = sizes[n % len(sizes)]
        shown += stream.add(whole[at : at + size])
        at += size
    shown += stream.rest()
    assert secret.strip() not in shown.replace(MASK, "\0")
    if secrets.mask(whole) == whole:
        assert shown == whole


def test_what_is_no_secret():
    """Short values, of which texts are full; of addresses all but the password."""
    secrets = Secrets(["none", "short", " " * 20])
    secrets.add_address("http://[wrong")
    secrets.add_address("https://gateway.example.com/v1")
    secrets.add_address("postgresql://crew:hunter2-hunter2@db/crew")
    text = "none short https://gateway.example.com/v1 crew db hunter2-hunter2"
    assert secrets.mask(text) == "none short https://gateway.example.com/v1 crew db ***"


def test_a_secret_of_several_lines():
    """Each of its lines is one."""
    key = "-----BEGIN-----\nMIIEvQIBADANBgkqhkiG9w0\nshort\n-----END-----"
    secrets = Secrets([key])
    assert secrets.mask(f"x {key} y") == "x *** y"
    assert secrets.mask("MIIEvQIBADANBgkqhkiG9w0") == "***"
