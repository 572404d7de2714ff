"""The commands about a crew's files over time: revisions, rollback, reload."""

import importlib
import json
import sys
from typing import Annotated, Any
from urllib.parse import quote

import typer

from server.cli.exits import HERE, Exit, fail, say_none
from server.cli.served.api import Api, opened_api
from server.cli.served.options import GivenFolder, Profile, Server, chosen_target, place_arguments
from server.cli.view.differences import document_lines
from tools.text.texts import visible, visible_json


def revisions(
    folder: GivenFolder = None,
    revision: Annotated[
        str | None,
        typer.Argument(
            metavar="REV",
            help="Show what differs from this one to the present: its number, or the beginning "
            "of its hash.",
            show_default="list the newest",
        ),
    ] = None,
    server: Server = None,
    profile: Profile = None,
    as_document: Annotated[
        bool, typer.Option("--json", help="Print JSON, one object a line.")
    ] = False,
) -> None:
    """List what was served since when, and who wanted it; or what differs since one of them.

    Example: [bold]crew revisions examples/it-support[/]
    """
    target, home, (revision,) = place_arguments(server, profile, folder, revision)
    with opened_api(target, home) as api:
        if revision is not None:
            _show_diff(api, revision, as_document=as_document)
            return
        found = api.read("/revisions", limit=100)["revisions"]
    if not found:
        say_none(
            "no revision is kept yet; crew serve and crew run keep them", as_document=as_document
        )
    for one in found:
        if as_document:
            print(visible_json(json.dumps(one, ensure_ascii=False)))
        else:
            print(visible(_line(one)))


def _show_diff(
    api: Api, revision: str, to: str | None = None, *, as_document: bool = False
) -> None:
    """Print what differs from a revision to another one; None: to what is served."""
    wanted = {"to": to} if to is not None else {}
    found = api.read(f"/revisions/{quote(revision, safe='')}/diff", **wanted)
    if as_document:
        print(visible_json(json.dumps(found, ensure_ascii=False)))
        return
    print("\n".join(document_lines(found["diff"])) or "nothing differs")
    for one in found["files"]:
        print(visible(one["diff"]))


def _line(one: dict[str, Any]) -> str:
    mark = "*" if one["current"] else " "
    runs = one["runs"]
    live = f", {runs['live']} at work or paused" if runs["live"] else ""
    by = f" by {one['by']}" if one["by"] else ""
    why = f": {one['why']}" if one["why"] else ""
    return (
        f"{mark} {one['number']:>4}  {one['hash']}  {one['loaded_at']}  "
        f"{runs['total']} runs{live}  {one['source']}{by}{why}"
    )


def rollback(
    revision: Annotated[
        str, typer.Argument(metavar="REV", help="Its number, or the beginning of its hash.")
    ],
    folder: GivenFolder = None,
    why: Annotated[
        str, typer.Option("--why", metavar="TEXT", help="For those who look at it later.")
    ] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    server: Server = None,
    profile: Profile = None,
) -> None:
    """Write the files of an earlier revision, as a new one; shows the difference, and asks.

    Example: [bold]crew rollback 3 examples/it-support --why "the new prompt was worse"[/]
    """
    if not why.strip():
        raise typer.BadParameter("say why, for those who look at it later", param_hint="--why")
    target = chosen_target(server, profile, folder)
    if target is not None:
        with opened_api(target, HERE) as api:
            loads = api.read("/revisions", limit=100)["revisions"]
            current = next((one for one in loads if one["current"]), loads[0])
            _show_diff(api, str(current["number"]), revision)
            if not yes and not _agrees():
                return
            path = f"/revisions/{quote(revision, safe='')}/rollback"
            # what was saved meanwhile was not in the difference
            saved = api.send("POST", path, {"reason": why, "base": current["hash"]})
        others = saved["others"]
        print(f"revision {saved['revision']} is served, number {saved['number']}")
    else:
        # the folder may be one that no longer loads
        rolling = importlib.import_module("server.cli.served.rolling")
        for one in rolling.changes_of(folder or HERE, revision):
            print(visible(one))
        if not yes and not _agrees():
            return
        others = rolling.roll_back_folder(folder or HERE, revision, why)
        print("written; a server takes it at its next reload")
    if others:
        print(visible(f"no part of a revision, and other than then: {', '.join(others)}"))


def _agrees() -> bool:
    """Return whether a person at a terminal wants it to be written."""
    if not sys.stdin.isatty():
        fail("nothing was written: give --yes to write it without being asked", Exit.USAGE)
    return input("Write this? [y/N] ").strip().lower() in ("y", "yes")


def reload(
    server: Server = None,
    profile: Profile = None,
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing: say what it would come to.")
    ] = False,
    as_document: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Have a server read its files again; ends with 1 where they have errors.

    Example: [bold]crew reload --server http://127.0.0.1:8080 --check[/]
    """
    target = chosen_target(server, profile)
    if target is None:
        fail("reload: give --server or --profile; a folder has nothing to reload", Exit.USAGE)
    with opened_api(target, HERE) as api:
        found = api.send("POST", "/reload", parameters={"check": 1} if check else None)
    if as_document:
        print(visible_json(json.dumps(found, ensure_ascii=False)))
    elif check:
        for one in found["problems"]:
            place = f"{one['file']}:{one['line']}:{one['column']}"
            print(visible(f"{place}: {one['severity']}[{one['code']}]: {one['message']}"))
        print("\n".join(document_lines(found["diff"])) or "nothing differs")
    else:
        change = "new runs get it" if found["changed"] else "as before"
        print(f"revision {found['revision']}: {change}, {len(found['warnings'])} warnings")
    if check and any(one["severity"] == "error" for one in found["problems"]):
        raise typer.Exit(Exit.FAILED)
