"""The output of a tool as a component shows it to people."""

import json
from typing import Any

from tools.schemas.json_pointer import value_at

# of an output, as JSON
MAX_SHOWN_BYTES = 65_536


class UnshownError(Exception):
    """An output cannot be shown."""


def read_shown(output: str, pointer: str | None) -> tuple[Any, str]:
    """Return an output as JSON, and what of it models get: the part that a pointer names.

    Raises:
        UnshownError: it is no JSON, too large, or has no such part.
    """
    if len(output.encode()) > MAX_SHOWN_BYTES:
        raise UnshownError(f"the output has more than {MAX_SHOWN_BYTES:,} bytes")
    try:
        data = json.loads(output)
        part = data if pointer is None else value_at(data, pointer)
    except (ValueError, RecursionError):
        raise UnshownError("the output is no JSON") from None
    except KeyError:
        raise UnshownError(f"the output has nothing at {pointer}") from None
    if pointer is None:
        return data, output
    return data, part if isinstance(part, str) else json.dumps(part, ensure_ascii=False)
