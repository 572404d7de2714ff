"""Options that several commands have."""

from typing import Annotated

import typer

from crew.journal.query import id_error, user_id_error

Provider = Annotated[
    str | None,
    typer.Option(
        help="Use this provider for every agent: scripted, openai, ollama, or one of crew.yaml's."
    ),
]


def checked_user(text: str) -> str:
    """Return the id of a user, as one can be; raises BadParameter."""
    if text and (error := user_id_error(text)) is not None:
        raise typer.BadParameter(error)
    return text


def checked_id(text: str | None) -> str | None:
    """Return the id of a conversation, as one can be; raises BadParameter."""
    if text is not None and (error := id_error(text)) is not None:
        raise typer.BadParameter(error)
    return text


User = Annotated[
    str,
    typer.Option(
        "--user",
        metavar="ID",
        help="Whose.",
        show_default="nobody in particular",
        callback=checked_user,
    ),
]
