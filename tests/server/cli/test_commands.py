"""Which commands there are, and what is imported for them."""

import subprocess
import sys

import pytest
from typer.main import get_command

from server.cli.main import COMMANDS, build
from tests.support.processes import PROCESS_SECONDS

# heavy, and needed by few commands
# nothing listens there
NOWHERE = ["--server", "http://127.0.0.1:9"]
HEAVY = {"aiohttp", "mcp", "networkx", "openai", "pydantic", "starlette", "uvicorn", "yaml"}


def test_the_list_says_what_each_command_says_of_itself():
    """`crew --help` does not import them, and has a line of each all the same."""
    listed = {name: summary for name, (_, summary) in COMMANDS.items()}
    group = get_command(build(COMMANDS))
    own = {name: command.help or "" for name, command in group.commands.items()}  # type: ignore[attr-defined]
    assert {name: text.partition("\n")[0] for name, text in own.items()} == listed


@pytest.mark.parametrize(
    ("arguments", "needed"),
    [
        (["--help"], set()),
        (["--version"], set()),
        (["run", "examples/hello", "hi", "--json"], {"networkx", "pydantic", "starlette", "yaml"}),
        *((one.split() + NOWHERE, {"pydantic", "yaml"}) for one in ("why last", "costs", "inbox")),
    ],
    ids=["help", "version", "run", "why", "costs", "inbox"],
)
def test_what_a_command_does_not_need_is_not_imported(arguments: list[str], needed: set[str]):
    """It would take its time: nobody should wait for it."""
    program = (
        "import sys\nfrom server.cli.main import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        timeout=PROCESS_SECONDS,
        check=True,
        env={"PYTHONPATH": ".", "CREW_DATABASE_URL": "memory:"},
    )
    assert HEAVY & set(ended.stderr.split()) <= needed
