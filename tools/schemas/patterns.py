"""A regular expression, as a value of a file."""

import re
from typing import Annotated

from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

from tools.schemas.yaml_shape import BAD_PATTERN


def _require_pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        why = f"{text!r} is no regular expression: {error}"
        raise PydanticCustomError(BAD_PATTERN, "{why}", {"why": why}) from None
    return text


Pattern = Annotated[str, AfterValidator(_require_pattern)]
