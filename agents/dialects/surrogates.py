"""Halves of surrogate pairs, which some servers send and UTF-8 does not have."""


def join_surrogates(text: str) -> str:
    """Join text without lone surrogates, which have no UTF-8 form; halves of a pair are joined."""
    try:
        text.encode()
        return text
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
