"""Lengths of time as people write them: `16m`, `1.5 s`, or a number of seconds."""

import re
from typing import Annotated, Any

from pydantic import BeforeValidator

UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
WRITTEN = re.compile(r"(\d+(?:\.\d+)?) ?(ms|s|m|h|d)?")
# a year: what lasts longer is a mistake
LONGEST_SECONDS = 31_536_000.0


def _seconds(value: Any) -> float:
    found = WRITTEN.fullmatch(str(value)) if isinstance(value, str | int | float) else None
    if found is None:
        raise ValueError("expected a length of time, such as 30s, 16m, 2h or 1d")
    seconds = float(found[1]) * UNITS[found[2] or "s"]
    if seconds > LONGEST_SECONDS:
        raise ValueError("is longer than a year")
    return seconds


Duration = Annotated[float, BeforeValidator(_seconds, json_schema_input_type=str | float)]
