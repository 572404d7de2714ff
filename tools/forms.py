"""What a tool asks a person before it goes on, and what the person says."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Form:
    """One form for a person."""

    # the tool's own name for it
    key: str
    message: str
    # JSON schema of what is filled in, which is an object's
    schema: dict[str, Any]
    # where the person does it, instead of filling in anything; "" where it is filled in
    url: str = ""
    # of what the tool asked, before secrets were masked in it
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Filled:
    """What a person has said to one."""

    form: Form
    # None: no
    content: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class FormReply:
    """The answers that a tool gets when it is called again with the same arguments."""

    filled: tuple[Filled, ...]
    # as it gave it
    state: str | None


class FormsNeeded(Exception):
    """Raised by a tool that has done nothing yet, and asks a person first."""

    def __init__(self, forms: tuple[Form, ...], state: str | None) -> None:
        """Of a call.

        Args:
            forms: one at least.
            state: what the tool wants back.
        """
        super().__init__(forms[0].message)
        self.forms, self.state = forms, state
