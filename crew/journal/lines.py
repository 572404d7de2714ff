"""JSON on one line for every client: some take other characters for the end of a line."""

# U+0085, U+2028 and U+2029 as JSON escapes them; in JSON they stand only in texts
ENDS = ((b"\xc2\x85", b"\\u0085"), (b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029"))


def on_one_line(encoded: bytes) -> bytes:
    """Return JSON in UTF-8 without characters that end a line for some readers of streams."""
    if not encoded.isascii():
        for sign, escape in ENDS:
            encoded = encoded.replace(sign, escape)
    return encoded
