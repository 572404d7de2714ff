"""The commands about tokens: token new, token list, token revoke."""

import secrets
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError

from crew.journal.query import DEFAULT_PRIORITY, MAX_PRIORITY
from server.errors import SettingsError
from server.tokens import OWN_SCOPES, SCOPES, TokenEntry, TokenError, TokenFile, digest_of

app = typer.Typer(help="The tokens of a file that CREW_TOKEN_FILE names.", no_args_is_help=True)

File = Annotated[
    Path,
    typer.Option(
        "--file", envvar="CREW_TOKEN_FILE", help="The file of tokens; CREW_TOKEN_FILE unless given."
    ),
]
HERE = Path("tokens.yaml")
Name = Annotated[str, typer.Argument(metavar="NAME", help="Whose token it is.")]


@app.command()
def new(
    name: Name,
    file: File = HERE,
    scopes: Annotated[
        list[str] | None,
        typer.Option(
            "--scope",
            help=f"What it may do, of {', '.join(SCOPES)}; read, run and answer unless given.",
        ),
    ] = None,
    owner: Annotated[
        str | None, typer.Option(help="Whose runs it starts and sees; NAME unless given.")
    ] = None,
    priority: Annotated[
        int, typer.Option(help="The highest priority of its runs.", min=0, max=MAX_PRIORITY)
    ] = DEFAULT_PRIORITY,
    days: Annotated[
        int | None, typer.Option(help="It is good for so many days; for ever unless given.", min=1)
    ] = None,
) -> None:
    """Make a token, keep its SHA-256 in the file, and print it: it cannot be shown again.

    Example: [bold]crew token new shop --scope run --scope read --days 90[/]
    """
    kept = _read(file)
    if any(entry.name == name for entry in kept.tokens):
        raise SettingsError(f"{file} has a token {name!r}; revoke it first, or take another name")
    secret = secrets.token_urlsafe(32)
    expires = datetime.now(UTC).replace(microsecond=0) + timedelta(days=days) if days else None
    try:
        entry = TokenEntry.model_validate(
            {
                "name": name,
                "sha256": digest_of(secret).hex(),
                "scopes": sorted(set(scopes or OWN_SCOPES)),
                "owner": owner,
                "priority": priority,
                "expires": expires,
            }
        )
    except ValidationError as error:
        key = str(error.errors()[0]["loc"][0])
        if key == "scopes":
            text = f"a scope is one of {', '.join(SCOPES)}"
            raise typer.BadParameter(text, param_hint="--scope") from None
        text = "1 to 64 letters, digits, dots, dashes or underscores"
        raise typer.BadParameter(text, param_hint="NAME" if key == "name" else "--owner") from None
    kept.tokens.append(entry)
    kept.write(file)
    print(secret)
    print(f"kept in {file}; this is the only time that it is shown", file=sys.stderr)


@app.command("list")
def list_(file: File = HERE) -> None:
    """List the tokens: their names, owners, scopes and ends.

    Example: [bold]crew token list --file tokens.yaml[/]
    """
    for entry in _read(file, must_exist=True).tokens:
        token = entry.token()
        until = f"until {entry.expires}" if entry.expires else ""
        if token.is_over:
            until = "over"
        scopes = ",".join(entry.scopes)
        print(f"{entry.name}  {entry.owner or entry.name}  {scopes}  {until}".rstrip())


@app.command()
def revoke(name: Name, file: File = HERE) -> None:
    """Take a token out of the file; a running server refuses it from the next request on.

    Example: [bold]crew token revoke shop[/]
    """
    kept = _read(file, must_exist=True)
    left = [entry for entry in kept.tokens if entry.name != name]
    if len(left) == len(kept.tokens):
        raise SettingsError(f"{file} has no token {name!r}; `crew token list` shows its tokens")
    kept.tokens = left
    kept.write(file)


def _read(file: Path, *, must_exist: bool = False) -> TokenFile:
    if not must_exist and not file.exists():
        return TokenFile()
    try:
        return TokenFile.read(file)
    except TokenError as error:
        raise SettingsError(str(error)) from None
