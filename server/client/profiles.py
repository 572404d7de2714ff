"""Servers by name: a file of the user that no other user may read."""

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator

from server.client.errors import TargetError
from server.owned_files import parse_file, replace_file

NAME = r"^[A-Za-z0-9._-]{1,64}$"


class Profile(BaseModel):
    """A server, and where its token is found."""

    model_config = ConfigDict(extra="forbid")

    url: str
    # a program that prints the token, with its arguments
    token_command: Annotated[list[str], Field(min_length=1)] | None = None
    # a variable of the environment that has it
    token_env: Annotated[str, Field(pattern=r"^[A-Za-z_]\w*$")] | None = None
    # a file of certificates that are trusted, too
    ca: str | None = None
    timeout_seconds: Annotated[float, Field(gt=0, le=3600)] = 30

    @model_validator(mode="after")
    def _one_token(self) -> "Profile":
        if self.token_command is not None and self.token_env is not None:
            raise ValueError("give one of token_command and token_env")
        return self


class Profiles(BaseModel):
    """The file."""

    model_config = ConfigDict(extra="forbid")

    profiles: dict[Annotated[str, Field(pattern=NAME)], Profile] = {}


def profiles_path(environment: Mapping[str, str]) -> Path:
    """Return where the file is."""
    home = environment.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(home) / "crewline" / "profiles.yaml"


def read_profiles(path: Path) -> Profiles:
    """Read the file; an empty one where there is none. Raises TargetError."""
    try:
        with path.open("rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            if mode & 0o077:
                raise TargetError(f"{path}: other users may read it; chmod 600 {path}")
            return parse_file(path, file.read(), Profiles)
    except FileNotFoundError:
        return Profiles()
    except OSError as error:
        raise TargetError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise TargetError(str(error)) from None


def write_profiles(path: Path, profiles: Profiles) -> None:
    """Replace the file as a whole, for its owner only; raises TargetError."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(path, profiles.model_dump(exclude_defaults=True))
    except OSError as error:
        raise TargetError(f"{path}: {error.strerror}") from None
