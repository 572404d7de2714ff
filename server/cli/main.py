"""The command `crew`: which commands there are, and how each ends.

The module of a command is imported when it is called: most need a small part of the program.
"""

import gc
import importlib
import importlib.metadata
import io
import os
import sys
import traceback
from collections.abc import Container
from pathlib import Path
from typing import Annotated

import typer

from crew.config.errors import ConfigurationError
from crew.errors import CrewError
from server.cli.exits import Exit, fail, print_problems
from server.cli.parsing import OnceCommand
from server.errors import SettingsError

# of what is said of a mistake
MAX_MISTAKE = 300
# each with its module, which has a function of its name, or a group `app`, and with the first
# sentence of its help
COMMANDS = {
    "init": (
        "commands.init",
        "Write a crew that runs at once, without a key; in a terminal, after three questions.",
    ),
    "validate": (
        "commands.files",
        "Check crews and print every problem of their files, each with its line and its remedy.",
    ),
    "test": (
        "rehearsed.command",
        "Play the rehearsals of a crew (`tests/**/*.yaml`): no model is called, no time passes.",
    ),
    "replay": (
        "replayed.replaying",
        "Play stored runs again on other files: models, tools and people say what they have said.",
    ),
    "record": (
        "replayed.record",
        "Keep stored runs as files: what models, tools and people have said.",
    ),
    "diff": (
        "replayed.differing",
        "Say what differs between two versions of a crew, in its own words, with both lines.",
    ),
    "fork": (
        "replayed.forking",
        "Begin a run as a copy of another one's first events, and go on another way.",
    ),
    "run": (
        "commands.runs",
        "Run a crew in the terminal and show its events as they come; asks you at a pause.",
    ),
    "talk": (
        "commands.talk",
        "Talk with a crew: each line is a query of one conversation, which it knows.",
    ),
    "mcp": (
        "mcp",
        "Serve a crew as an MCP server on stdin and stdout, for a program that starts it.",
    ),
    "serve": (
        "commands.serving",
        "Serve a crew over HTTP: SSE streams, JSON, metrics and a web console.",
    ),
    "worker": (
        "commands.serving",
        "Play the runs that any number of `crew serve` accept; all share one PostgreSQL database.",
    ),
    "runs": ("commands.runs", "List the runs of a crew, or show one."),
    "retry": (
        "commands.runs",
        "Go on with a failed run at the step that failed; ends as `crew run` does.",
    ),
    "cancel": (
        "commands.runs",
        "End a run, whether or not a server is at work: it ends as cancelled, and is not resumed.",
    ),
    "inbox": (
        "commands.inbox",
        "Show every run that waits for a person, oldest first, and how each is answered.",
    ),
    "conversations": (
        "commands.remembered.conversations",
        "List the conversations of a crew, or show, export or delete one.",
    ),
    "memory": (
        "commands.remembered.conversations",
        "Show what a crew remembers of a user: blocks of core memory, and items of recall memory.",
    ),
    "documents": (
        "commands.remembered.documents",
        "Add documents to a crew, list, search or remove them.",
    ),
    "forget": (
        "commands.remembered.conversations",
        "Erase all that is kept of a user: runs, conversations, memory, audit.",
    ),
    "tools": (
        "commands.tools",
        "What the crew's tools may do: `crew tools DIR`; and entries for new ones.",
    ),
    "call": (
        "commands.tools",
        "Make one call of a tool by hand. Ends with 0 when it succeeds, else with 1.",
    ),
    "doctor": (
        "commands.doctor",
        "Look at a crew's files, providers, script and database; say what may lose or refuse runs.",
    ),
    "graph": ("commands.files", "Draw the routing of a crew."),
    "explain": (
        "commands.files",
        "Explain a code of `crew validate`: what it means and what to do, with an example.",
    ),
    "schema": (
        "commands.files",
        "Print the JSON Schema of a kind of file, for editors; or the API as OpenAPI 3.1.",
    ),
    "why": (
        "commands.why",
        "Say why a run went where it went: each rule, the words that decided, and their lines.",
    ),
    "costs": (
        "commands.spent.costs",
        "Show what calls of models have cost, the dearest first.",
    ),
    "budgets": (
        "commands.spent.budgets",
        "Show what is used of each budget in its present period, the fullest pot first.",
    ),
    "prices": (
        "commands.spent.prices",
        "Show what the models of a crew cost, where that is said, and how old it is.",
    ),
    "hooks": (
        "commands.schedules",
        "Show where each of `hooks` takes its posts, and the run that it has started last.",
    ),
    "schedules": (
        "commands.schedules",
        "Show when each of `schedules` is due next, and the run that it has started last.",
    ),
    "notify": (
        "commands.notify",
        "Send a test message to the channels of `notify`; ends with 1 if one cannot be told.",
    ),
    "grants": (
        "commands.grants",
        "Show which calls a person has approved for all runs (`remember: always`), newest first.",
    ),
    "audit": (
        "commands.audit",
        "Show who did what, newest first: starts, answers, cancels, reloads, refusals and so on.",
    ),
    "leakcheck": (
        "leaks.command",
        "Plant secrets, serve a copy of the crew, and search all that it says, stores and logs.",
    ),
    "backup": (
        "commands.backup",
        "Copy the database of a crew's runs to a file, also while a server writes, and check it.",
    ),
    "restore": (
        "commands.backup",
        "Put a backup in the place of a crew's database, which is kept under another name.",
    ),
    "show": (
        "commands.served.history",
        "Show a run with its events; one that goes on is followed to its end.",
    ),
    "search": (
        "commands.served.history",
        "Find where words were said: by people, agents and tools, the newest runs first.",
    ),
    "compare": (
        "commands.served.history",
        "Put two runs side by side, step by step, and say where they part.",
    ),
    "export": (
        "commands.served.history",
        "Print a run with all that is kept of it: events, decisions, costs, and who did what.",
    ),
    "delete": (
        "commands.served.history",
        "Delete runs that have ended, with their events; their bytes are overwritten.",
    ),
    "answer": (
        "commands.served.profiles",
        "Answer a paused run, and show what follows; ends as `crew run` does.",
    ),
    "revisions": (
        "commands.served.revisions",
        "List what was served since when, and who wanted it; or what differs since one of them.",
    ),
    "rollback": (
        "commands.served.revisions",
        "Write the files of an earlier revision, as a new one; shows the difference, and asks.",
    ),
    "reload": (
        "commands.served.revisions",
        "Have a server read its files again; ends with 1 where they have errors.",
    ),
    "open": (
        "commands.served.profiles",
        "Print the address of a server's console, or of a run in it; on a terminal, open it.",
    ),
    "profile": (
        "commands.served.profiles",
        "Servers by name: for --profile, in a file that no other user may read.",
    ),
    "lsp": (
        "lsp",
        "Serve an editor: problems while you type, completion, hover, definitions, fixes.",
    ),
    "token": ("commands.tokens", "The tokens of a file that CREW_TOKEN_FILE names."),
}


def build(called: Container[str]) -> typer.Typer:
    """Build the command, with the commands that are called.

    Of others it has only the help.

    Args:
        called: names of commands, among whatever else.
    """
    app = typer.Typer(
        name="crew",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        add_completion=False,
        rich_markup_mode="rich",
    )
    app.callback()(_crew)
    for name, (module, summary) in COMMANDS.items():
        if name not in called:
            app.command(name, help=summary)(_not_called)
            continue
        found = importlib.import_module(f"server.cli.{module}")
        if hasattr(found, name):
            app.command(name, cls=OnceCommand)(getattr(found, name))
            continue
        for one in found.app.registered_commands:
            one.cls = OnceCommand
        app.add_typer(found.app, name=name)
    return app


def _not_called() -> None:
    raise AssertionError("whatever is called is among the words of the command line")


def _print_version(wanted: bool) -> None:
    if wanted:
        print(importlib.metadata.version("crewline"))
        raise typer.Exit


def _crew(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Run crews of AI agents that are described in YAML."""


def main() -> None:
    """Run the command `crew`."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # a terminal that knows fewer characters must not end a command
            stream.reconfigure(errors="backslashreplace")
    for word in sys.argv[1:]:
        if any("\ud800" <= one <= "\udfff" for one in word):
            fail(f"an argument is not UTF-8: {word!a}", Exit.USAGE)
    try:
        command = build(sys.argv)
        gc.freeze()
        gc.enable()
        command()
    except ConfigurationError as error:
        print_problems(error.problems, error.texts)
        raise SystemExit(Exit.FAILED) from None
    except SettingsError as error:
        fail(str(error), Exit.USAGE)
    except CrewError as error:
        fail(str(error))
    except KeyboardInterrupt:
        raise SystemExit(Exit.INTERRUPTED) from None
    except OSError as error:
        if error.filename is not None:
            fail(f"{error.filename}: {error.strerror}")
        # the reader of the output (head, say) has gone, or the disk that takes it is full
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        fail(f"the output cannot be written: {error.strerror}")
    except Exception as error:  # noqa: BLE001 # a person is shown no traceback
        *_, (frame, line) = traceback.walk_tb(error.__traceback__)
        where = f"{Path(frame.f_code.co_filename).name}:{line}"
        text = f"{type(error).__name__}: {error}"[:MAX_MISTAKE]
        fail(f"the command, or the server that it asks, has made a mistake: {text} ({where})")
