"""The output of a tool as a component shows it to people."""

import json
from typing import Any

from tools.definition import Component
from tools.schemas.json_pointer import value_at

# of an output, as JSON
MAX_SHOWN_BYTES = 65_536


class UnshownError(Exception):
    """An output cannot be shown."""


def read_shown(component: Component, output: str) -> tuple[Any, str]:
    """Return an output as JSON, and what of it models get.

    Raises:
        UnshownError: it is no JSON, too large, or has no such part.
    """
    if len(output.encode()) > MAX_SHOWN_BYTES:
        raise UnshownError(f"the output has more than {MAX_SHOWN_BYTES:,} bytes")
    try:
        data = json.loads(output)
        part = data if component.text is None else value_at(data, component.text)
    except (ValueError, RecursionError):
        raise UnshownError("the output is no JSON") from None
    except KeyError:
        raise UnshownError(f"the output has nothing at {component.text}") from None
    if component.text is None:
        return data, output
    return data, part if isinstance(part, str) else json.dumps(part, ensure_ascii=False)
