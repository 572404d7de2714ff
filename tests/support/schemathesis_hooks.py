"""For schemathesis: each request comes from another client, so that wrong tokens slow none."""

from itertools import count
from typing import Any

import schemathesis

CLIENTS = count(1)


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: dict[str, Any]) -> None:
    """The server trusts this proxy."""
    number = next(CLIENTS)
    address = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
    # in place: they know which headers the case is to lack
    case.headers["X-Forwarded-For"] = address
