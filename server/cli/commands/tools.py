"""The commands about tools: tools (what can they do), tools import, call (one call by hand)."""

import asyncio
import json
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml
from pydantic_core import to_json
from typer.core import TyperGroup

from crew.crew import Crew
from crew.journal.call_text import call_text
from server.cli.exits import HERE, Exit, fail, say_none
from server.cli.opening import load
from server.cli.served.api import opened_api
from server.cli.served.options import GivenFolder, Profile, Server, chosen_target
from server.cli.starting.api_file import ApiFile
from server.cli.starting.lock import write_lock
from server.http.endpoints.description import describe_tool, tools_of
from tools.abandoned import leave_abandoned
from tools.calls import CallEvent, CallProgressed, QuestionRaised, ToolCall, ToolResult
from tools.context import CallOrigin
from tools.definition import Tool
from tools.errors import ToolDefinitionError, ToolError
from tools.executor import ToolExecutor
from tools.text.suggest import nearest
from tools.text.texts import visible, visible_json

# who makes a call by hand
BY_HAND = "crew call"


class _ToolsGroup(TyperGroup):
    """`crew tools DIR` is `crew tools show DIR`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments with the command that is meant."""
        if not args or (args[0] not in self.commands and args[0] != "--help"):
            args = ["show", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    help="What the crew's tools may do: `crew tools DIR`; and entries for new ones.",
    cls=_ToolsGroup,
)


@app.command("show")
def print_tools(
    folder: GivenFolder = None,
    as_document: Annotated[
        bool, typer.Option("--json", help="Print JSON, one tool a line.")
    ] = False,
    lock: Annotated[
        bool,
        typer.Option("--lock", help="Write down what the MCP servers say of their tools now."),
    ] = False,
    server: Server = None,
    profile: Profile = None,
) -> None:
    """Show what the crew's tools may do: where they reach, what they run, read and write.

    Example: [bold]crew tools examples/it-support[/]
    """
    if (target := chosen_target(server, profile, folder)) is not None:
        if lock:
            raise typer.BadParameter("it writes into a folder", param_hint="--lock")
        with opened_api(target, HERE) as api:
            found = api.read("/tools")["tools"]
    else:
        home = folder or HERE
        if lock:
            write_lock(home)
        crew = load(home, None, asks=False, needs_variables=False)
        found = [describe_tool(tool, agents) for tool, agents in tools_of(crew)]
    if not found:
        say_none("the crew has no tools; tools.yaml describes them", as_document=as_document)
    for document in found:
        if as_document:
            print(visible_json(to_json(document).decode()))
        else:
            print(visible(render(document)))


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="OpenAPI 3.0 or 3.1.")],
    operations: Annotated[
        str,
        typer.Option(
            metavar="A,B,...",
            help="The operations: an operationId each, or a method and path such as "
            "`GET /pets/{id}`; all unless given.",
        ),
    ] = "",
    server: Annotated[
        str, typer.Option(help="The URL that the paths are appended to.")
    ] = "https://api.example.com",
    prefix: Annotated[str, typer.Option(help="Of the tools' names.")] = "",
) -> None:
    """Print entries of kind http for operations of an OpenAPI document, to paste in tools.yaml.

    Example: [bold]crew tools import pets.json --operations listPets[/]
    """
    wanted = [one.strip() for one in operations.split(",") if one.strip()]
    tools: dict[str, Any] = {}
    try:
        document = ApiFile.read(file)
        for _, made in document.tools(wanted or document.operations, server, prefix):
            if not isinstance(made, ToolDefinitionError):
                name, entry = made
                tools[name] = entry.model_dump(mode="json", exclude_unset=True)
            elif wanted:
                raise made
            else:
                # of all operations, those are printed that can be tools
                print(visible(f"left out: {made}"), file=sys.stderr)
    except ToolDefinitionError as error:
        fail(visible(str(error)), Exit.USAGE)
    if not tools:
        fail(visible(f"{file}: no operation can be a tool"), Exit.USAGE)
    print(yaml.safe_dump({"tools": tools}, sort_keys=False, allow_unicode=True, width=100), end="")


def render(document: Mapping[str, Any]) -> str:
    """Render the same for people: a line of what it is, then one for each thing it may do."""
    words = [document["kind"], document["effect"]]
    if (approval := document["approval"]) is not None:
        words.append("asks a person")
        if approval["when"]:
            words.append(f"when {to_json(approval['when']).decode()}")
        if approval["deadline_seconds"] is not None:
            words.append(f"{approval['on_deadline']} after {approval['deadline_seconds']:g} s")
    agents = ", ".join(document["agents"]) or "no agent"
    lines = [f"{document['tool']}: {', '.join(words)}; for {agents}"]
    told = {key: ", ".join(document[key]) for key in ("reaches", "runs", "reads", "writes")}
    told |= {"sandbox": document["sandbox"], "pin": document["pin"]}
    told["schema"] = f"{document['schema_bytes']} bytes"
    lines += [f"  {key:<8} {text}" for key, text in told.items() if text]
    return "\n".join(lines)


def call(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The crew's folder.")],
    name: Annotated[str, typer.Argument(metavar="TOOL", help="A tool of the crew.")],
    given: Annotated[
        list[str] | None,
        typer.Option("--arg", metavar="NAME=VALUE", help="An argument; JSON for lists and so on."),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Approve the call where the tool asks a person.")
    ] = False,
    as_document: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Make one call of a tool by hand. Ends with 0 when it succeeds, else with 1.

    Example: [bold]crew call examples/it-support PingHost --arg host=localhost --arg count=1[/]
    """
    crew = load(folder, None, asks=False)
    known = {tool.name: tool for tool, _ in tools_of(crew)}
    tool = known.get(name)
    if tool is None:
        near = nearest(name, known)
        hint = f"did you mean {near!r}?" if near else f"the tools are: {', '.join(known)}"
        fail(f"there is no tool {name!r}; {hint}", Exit.USAGE)
    arguments = dict(_argument(text, tool) for text in given or ())
    if not yes and tool.needs_approval(arguments):
        _ask(crew, tool, arguments)
    result = asyncio.run(_call(crew, tool, arguments))
    if as_document:
        print(visible_json(to_json(_document(result)).decode()))
    else:
        stream = sys.stdout if result.status == "success" else sys.stderr
        print(visible(result.output), file=stream)
    raise typer.Exit(Exit.GOOD if result.status == "success" else Exit.FAILED)


def _argument(text: str, tool: Tool) -> tuple[str, Any]:
    """Return the name and value of `--arg`: text, unless the schema wants none and it is JSON."""
    name, equals, value = text.partition("=")
    if not equals:
        raise typer.BadParameter(f"{text!r} is not NAME=VALUE", param_hint="--arg")
    schema = tool.parameters.get("properties", {}).get(name, {})
    if schema.get("type") == "string":
        return name, value
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def _ask(crew: Crew, tool: Tool, arguments: dict[str, Any]) -> None:
    """Ask the one at the terminal; ends the command at a no."""
    shown = call_text(tool.name, arguments).removeprefix(tool.name).lstrip(" ")
    if tool.show is not None:
        # what the call itself will say is wrong is no question
        with suppress(ToolError):
            shown = tool.show(tool.check(arguments))
    text = visible(crew.secrets.mask(f"{tool.name} asks a person first: {shown}"))
    if not sys.stdin.isatty():
        fail(f"{text}; approve it with --yes")
    if not typer.confirm(f"{text}\nMake this call?", err=True):
        fail("not called")


async def _call(crew: Crew, tool: Tool, arguments: dict[str, Any]) -> ToolResult:
    executor = ToolExecutor(
        crew.tool_limits, crew.clock, crew.recipe.find_secret, crew.recipe.jitter
    )
    caller = CallOrigin(run_id=f"by-hand-{crew.clock.now():%Y%m%d%H%M%S%f}", user=BY_HAND)
    try:
        calls = [ToolCall("1", tool.name, arguments)]
        results = await executor.run(calls, {tool.name: tool}, _show_progress, caller)
    finally:
        await crew.aclose()
        await leave_abandoned()
    if not results:
        fail("not called: the tool asks a person first, which only a run can")
    return replace(results[0], output=crew.secrets.mask_cut(results[0].output))


async def _show_progress(event: CallEvent) -> None:
    if isinstance(event, QuestionRaised):
        for form in event.forms:
            print(visible(f"the tool asks: {form.message} {form.url}".rstrip()), file=sys.stderr)
    if isinstance(event, CallProgressed):
        told = event.progress
        total = f" of {told.total:g}" if told.total is not None else ""
        print(visible(f"{told.progress:g}{total} {told.message}".rstrip()), file=sys.stderr)


def _document(result: ToolResult) -> dict[str, Any]:
    return {
        "tool": result.tool,
        "status": result.status,
        "output": result.output,
        "attempts": result.attempts,
        "duration_seconds": round(result.duration_seconds, 6),
        **result.facts,
    }
