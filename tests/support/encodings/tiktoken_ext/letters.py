"""An encoding of tiktoken's that is here without a download: each byte is a token."""

from typing import Any


def letters() -> dict[str, Any]:
    """As tiktoken asks for it: github.com/openai/tiktoken, "Extending tiktoken"."""
    return {
        "name": "letters",
        # as o200k's, which fails on a million spaces at once
        "pat_str": r"\s+(?!\S)|\s+|\S+",
        "mergeable_ranks": {bytes([byte]): byte for byte in range(256)},
        "special_tokens": {},
    }


ENCODING_CONSTRUCTORS = {"letters": letters}
