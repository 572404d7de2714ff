"""The address of a database as people are shown it."""

from urllib.parse import urlsplit


def without_secrets(url: str) -> str:
    """Return a URL without what may be secret in it."""
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
        place = f"{parts.hostname or ''}{port}{parts.path}"
    except ValueError:
        place = "@"
    # a password with special characters may end up in any part
    if "@" in place or url.count("@") > 1 or "@" in url.partition("?")[2]:
        return "postgresql://…"
    return f"postgresql://{place}"
