"""Small YAML files that only their owner may read: of tokens, of servers by name."""

import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

M = TypeVar("M", bound=BaseModel)


def parse_file(path: Path, content: bytes, kind: type[M]) -> M:
    """Parse what a file has; raises ValueError with what is wrong, and where.

    A wrong value may be a token that was put there by mistake: it is not shown.
    """
    try:
        return kind.model_validate(yaml.safe_load(content.decode()) or {})
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{path}:{mark.line + 1}" if mark is not None else str(path)
        raise ValueError(f"{place}: is not YAML") from None
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        raise ValueError(f"{path}: {field}: {first['msg']}") from None


def replace_file(path: Path, document: Mapping[str, Any]) -> None:
    """Replace a file as a whole, for its owner only; raises OSError."""
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    beside.touch(mode=0o600)
    beside.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
    beside.replace(path)
