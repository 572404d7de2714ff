"""Lengths of time as people write them, such as 7d."""

import re
from datetime import timedelta

LENGTH = re.compile(r"(\d{1,5})([mhd])")
UNITS = {"m": "minutes", "h": "hours", "d": "days"}


def length_of(text: str) -> timedelta | None:
    """Parse a length of time, such as 7d; None: it is none."""
    found = LENGTH.fullmatch(text)
    return None if found is None else timedelta(**{UNITS[found[2]]: int(found[1])})
