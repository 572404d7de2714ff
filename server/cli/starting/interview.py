"""Three questions -> a crew: what it is for, which tools it has, and which model speaks."""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, TypeVar
from urllib.parse import urlsplit

import yaml
from pydantic import ValidationError

from server.cli.starting.starter import Made, SampleCall, operator_crew, without_variables
from server.cli.starting.starter_from import PROMPT, crew_from
from tools.errors import ToolDefinitionError
from tools.text.texts import visible
from tools.text.yaml_text import to_yaml

Answer = TypeVar("Answer")

AGENT_FILE, CREW_FILE = "agents/operator.yaml", "crew.yaml"
READINGS = ("GetSystemInfo", "GetCPUUsage", "GetMemoryUsage", "GetDiskSpace")
PURPOSE = "look at this machine when somebody says that it is slow"
TOOLS = """\
Which tools does it have?
  1  readings of this machine: CPU, memory, disk
  2  an HTTP API that has an OpenAPI document
  3  an MCP server
  4  the commands of a runbook (Markdown)
  5  none
Choose"""
MODELS = """\
Which model speaks?
  1  a script that comes with it: no key, no network
  2  OpenAI (OPENAI_API_KEY)
  3  Ollama on this machine
  4  another OpenAI-compatible address (OWN_API_KEY)
Choose"""
SOURCES = {"2": "The document's file", "3": "The server's command, or its URL", "4": "Its file"}
KINDS = {"2": "openapi", "3": "mcp"}
# by the choice: the provider, and what its model is unless given
PROVIDERS = {
    "2": ("openai", "gpt-4o-mini"),
    "3": ("ollama", "llama3.2"),
    "4": ("own", "gpt-4o-mini"),
}


class Ask(Protocol):
    """Asks the person, and gives the answer."""

    def __call__(self, text: str, *, default: str | None = None) -> Any:
        """`default`: what an empty answer is."""
        ...


def crew_of_answers(ask: Ask) -> Made:
    """Return the crew of what a person answers.

    After an answer that cannot be used it asks again.
    """
    purpose = str(ask("What is the crew for?", default=PURPOSE)).strip().rstrip(".")
    made = _with_tools(ask)
    files = dict(made.files)
    agent = yaml.safe_load(files[AGENT_FILE])
    agent["system_prompt"] = f"Your task: {without_variables(purpose)}.\n{agent['system_prompt']}"
    choice = _choice(ask, MODELS, "1234")
    if choice in PROVIDERS:
        # the script stays, for rehearsals (`--provider scripted`)
        agent["provider"], model = PROVIDERS[choice]
        agent["model"] = str(ask("The model's name", default=model)).strip()
    if choice == "4":
        address = _until_valid(ask, "Its base URL", _url)
        own = {"own": {"base_url": address, "api_key": "${OWN_API_KEY:-none}"}}
        files[CREW_FILE] += to_yaml({"providers": own})
    files[AGENT_FILE] = to_yaml(agent)
    return replace(made, files=files)


def _with_tools(ask: Ask) -> Made:
    choice = _choice(ask, TOOLS, "12345")
    if choice not in SOURCES:
        tools = READINGS if choice == "1" else ()
        files = operator_crew(PROMPT, {}, [SampleCall(tool) for tool in tools], tools=list(tools))
        return Made(files, "How is this machine?" if tools else "What can you do?")

    def made(source: str) -> Made:
        if choice in KINDS:
            return crew_from(KINDS[choice], source)
        return crew_from(str(Path(source).expanduser()), None)

    return _until_valid(ask, SOURCES[choice], made)


def _choice(ask: Ask, text: str, known: str) -> str:
    def one(answer: str) -> str:
        if answer not in tuple(known):
            raise ToolDefinitionError(f"{answer!r} is none of 1 to {known[-1]}")
        return answer

    return _until_valid(ask, text, one, default="1")


def _url(answer: str) -> str:
    parts = urlsplit(answer)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ToolDefinitionError(f"{answer!r} is no http or https URL")
    return answer


def _until_valid(
    ask: Ask, text: str, read: Callable[[str], Answer], *, default: str | None = None
) -> Answer:
    """Put a question until its answer can be used; Ctrl-C ends it."""
    while True:
        try:
            return read(str(ask(text, default=default)).strip())
        except (ToolDefinitionError, ValidationError) as error:
            print(visible(f"{error}; please answer again, or end with Ctrl-C"), file=sys.stderr)
