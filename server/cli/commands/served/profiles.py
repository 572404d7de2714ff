"""The commands about servers: profile (by name), answer (a paused run), open (its page)."""

import importlib
import os
import shlex
import sys
import webbrowser
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError

from crew.config.files.sources import CREW_FILE
from crew.journal.query import Decision
from server.cli.exits import HERE, Exit, fail, say_none
from server.cli.playing.answers import answer_of, parse_call_decision
from server.cli.served.api import opened_api, run_path, say_target
from server.cli.served.following import answer_served
from server.cli.served.options import GivenFolder, Profile, Server, chosen_target
from server.client.profiles import Profiles, profiles_path, read_profiles, write_profiles
from server.client.targets import named_target, require_address
from tools.text.texts import visible

app = typer.Typer(help="Servers by name: for --profile, in a file that no other user may read.")


def _known() -> Profiles:
    return read_profiles(profiles_path(os.environ))


@app.command("list")
def list_profiles() -> None:
    """List the servers that have a name.

    Example: [bold]crew profile list[/]
    """
    known = _known().profiles
    if not known:
        say_none("no profile yet; crew profile add NAME URL makes one", as_document=False)
    for name, one in sorted(known.items()):
        token = one.token_env or (one.token_command or ["no token"])[0]
        print(visible(f"{name}  {one.url}  ({token})"))


@app.command("add")
def add_profile(
    name: Annotated[str, typer.Argument(metavar="NAME")],
    url: Annotated[str, typer.Argument(metavar="URL")],
    token_env: Annotated[
        str | None, typer.Option(metavar="VARIABLE", help="The variable that has the token.")
    ] = None,
    token_command: Annotated[
        str | None,
        typer.Option(metavar="COMMAND", help="A program that prints the token, with arguments."),
    ] = None,
    ca: Annotated[
        str | None, typer.Option(metavar="FILE", help="Certificates that are trusted, too.")
    ] = None,
) -> None:
    """Give a server a name; a token itself is never written down.

    Example: [bold]crew profile add prod https://crew.example.com --token-env PROD_TOKEN[/]
    """
    require_address(url, "URL")
    document = {
        "url": url,
        "token_env": token_env,
        "token_command": shlex.split(token_command) if token_command else None,
        "ca": ca,
    }
    known = _known().model_dump()["profiles"]
    try:
        profiles = Profiles.model_validate({"profiles": {**known, name: document}})
    except ValidationError as error:
        fail(error.errors(include_input=False, include_url=False)[0]["msg"], Exit.USAGE)
    write_profiles(profiles_path(os.environ), profiles)
    print(visible(f"{name}  {url}"))


@app.command("remove")
def remove_profile(name: Annotated[str, typer.Argument(metavar="NAME")]) -> None:
    """Forget the name of a server.

    Example: [bold]crew profile remove prod[/]
    """
    known = _known()
    if known.profiles.pop(name, None) is None:
        fail(f"there is no profile {name!r}", Exit.USAGE)
    write_profiles(profiles_path(os.environ), known)
    print(visible(f"removed {name}"))


@app.command("check")
def check_profile(name: Annotated[str, typer.Argument(metavar="NAME")]) -> None:
    """Ask a server by its name who we are there; ends with 1 where it does not answer.

    Example: [bold]crew profile check prod[/]
    """
    target = named_target(os.environ, name)
    with opened_api(target, HERE) as api:
        found = api.read("")
    caller = found["caller"]
    who, scopes = caller["name"] or "without a name", ", ".join(caller["scopes"])
    print(visible(f"{target.url}: {found['name']}, version {found['version']}; {who}: {scopes}"))


def answer(
    run_id: Annotated[
        str, typer.Argument(metavar="RUN", help="The run: its id, the beginning of it, or last.")
    ],
    text: Annotated[
        str | None, typer.Argument(metavar="TEXT", help="The answer.", show_default=False)
    ] = None,
    folder: GivenFolder = None,
    decision: Annotated[
        Decision | None, typer.Option(help="On its tool calls; with done, TEXT is the result.")
    ] = None,
    calls: Annotated[
        list[str] | None,
        typer.Option(
            "--call",
            metavar="CALL=DECISION[=TEXT]",
            help="On one of several calls, as with crew run --answer.",
        ),
    ] = None,
    server: Server = None,
    profile: Profile = None,
    as_lines: Annotated[
        bool, typer.Option("--json", help="Print the events as JSON, one a line.")
    ] = False,
) -> None:
    """Answer a paused run, and show what follows; ends as `crew run` does.

    Example: [bold]crew answer last "two people, at eight" examples/pausing[/]
    """
    if text and _has_crew(text) and not (folder and _has_crew(folder)):
        words = f"{text} is a crew's folder, which comes behind the text"
        remedy = f'crew answer {run_id} "" {text} --decision approve'
        raise typer.BadParameter(f"{words}: {remedy}", param_hint="TEXT")
    decisions = tuple(parse_call_decision(one) for one in calls or ())
    if text is None and decision is None and not decisions:
        raise typer.BadParameter("give it in words, or a --decision", param_hint="TEXT")
    said = answer_of(text or "", decision, decisions)
    target = chosen_target(server, profile, folder)
    if target is not None:
        answer_served(target, run_id, said, as_lines=as_lines)
    local = importlib.import_module("server.cli.playing.local_runs")
    local.answer_here(folder or HERE, run_id, said, as_lines=as_lines)


def _has_crew(folder: str | Path) -> bool:
    # an answer may be longer than any name
    return os.path.isfile(os.path.join(folder, CREW_FILE))  # noqa: PTH113, PTH118


def open(  # the name of the command
    run_id: Annotated[
        str | None, typer.Argument(metavar="RUN", help="Of this run.", show_default=False)
    ] = None,
    server: Server = None,
    profile: Profile = None,
) -> None:
    """Print the address of a server's console, or of a run in it; on a terminal, open it.

    Example: [bold]crew open last --server http://127.0.0.1:8080[/]
    """
    target = chosen_target(server, profile)
    if target is None:
        fail("open: give --server or --profile; crew serve DIR serves a folder", Exit.USAGE)
    address = f"{target.url}/"
    if run_id is None:
        say_target(target)
    else:
        with opened_api(target, HERE) as api:
            address = f"{target.url}{run_path(api.find_run(run_id))}"
    print(visible(address))
    if sys.stdout.isatty():
        webbrowser.open(address)
