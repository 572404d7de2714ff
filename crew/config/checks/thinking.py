"""Whether each model takes what the files say of its thinking, and what they add to requests."""

from collections.abc import Iterator
from dataclasses import dataclass

from agents.config import AgentConfig, ThinkingBudgetConfig, ThinkingSetting
from agents.dialects.by_name import DIALECTS
from agents.endpoint import DialectName, ProviderConfig, dialect_of
from agents.quirks import known_of
from crew.config.crew_files import CrewFiles
from crew.config.files.document import Document, YamlPath
from crew.config.files.sources import CREW_FILE
from crew.config.keys.crew_file import CrewConfig
from crew.config.keys.models import ChosenModel, backup_of, client_models_of, primary_of
from crew.config.problems import Problem

# where a body of dialect `chat` has a budget, for Google
BUDGET_KEY = "extra_body"


@dataclass(frozen=True, slots=True)
class _Use:
    """A model as one agent has it."""

    chosen: ChosenModel
    # how much it thinks, and where that is said
    thinking: ThinkingSetting | None
    document: Document
    path: YamlPath


def check_thinking(files: CrewFiles, crew: CrewConfig) -> Iterator[Problem]:
    """Yield what a model's provider would refuse."""
    if not files.is_whole(CREW_FILE, "models", "providers"):
        return
    for agent_id in crew.agents:
        if agent_id not in files.agents:
            continue
        document, agent = files.agent_files[agent_id], files.agents[agent_id]
        if files.is_whole(document.file):
            for use in _uses(files, crew, agent, document):
                yield from _check_use(crew, agent, document, use)
                yield from _check_body(files, crew, use)


def _uses(
    files: CrewFiles, crew: CrewConfig, agent: AgentConfig, document: Document
) -> Iterator[_Use]:
    own = [primary_of(agent, crew.models)]
    own += client_models_of(agent, crew.models, crew.settings.client_models)
    backup = backup_of(agent, crew.models)
    for chosen in (*own, *([] if backup is None else [backup])):
        if agent.thinking is not None and chosen is not backup:
            yield _Use(chosen, agent.thinking, document, ("thinking",))
        else:
            path = ("models", chosen.name, "thinking")
            yield _Use(chosen, chosen.named.thinking, files.crew_document, path)


def _check_use(
    crew: CrewConfig, agent: AgentConfig, document: Document, use: _Use
) -> Iterator[Problem]:
    thinking, dialect = use.thinking, _dialect(crew, use.chosen)
    if use.chosen.config.provider == "scripted":
        # a script takes all
        return
    if isinstance(thinking, ThinkingBudgetConfig):
        if dialect != "anthropic" and not (dialect == "chat" and _is_google(crew, use.chosen)):
            name = use.chosen.config.provider
            text = f"budget_tokens is for dialect anthropic and provider google, not for {name}"
            remedy = "say none, low, medium, high or max"
            yield use.document.problem(use.path, "thinking-budget", f"{text}; {remedy}")
        elif agent.max_tokens is not None and agent.max_tokens <= thinking.budget_tokens:
            text = f"max_tokens = {agent.max_tokens} is for thinking and answer together"
            remedy = f"it must be more than budget_tokens = {thinking.budget_tokens}"
            yield document.problem(("max_tokens",), "thinking-budget", f"{text}; {remedy}")
        if dialect == "anthropic" and agent.tool_choice not in ("auto", "none"):
            text = "a model of dialect anthropic that thinks with budget_tokens cannot be made to"
            remedy = "call a tool: say auto or none, or thinking in words"
            yield document.problem(("tool_choice",), "thinking-tool-choice", f"{text} {remedy}")
    if dialect == "anthropic" and thinking not in (None, "none"):
        for key in ("temperature", "top_p"):
            if getattr(agent, key) is not None:
                text = f"a model of dialect anthropic that thinks takes no {key}"
                remedy = f"leave {key} out, or say thinking: none"
                yield document.problem((key,), "thinking-sampling", f"{text}; {remedy}")


def _check_body(files: CrewFiles, crew: CrewConfig, use: _Use) -> Iterator[Problem]:
    """Yield keys of `body` that the requests to a model have anyway."""
    written = DIALECTS[_dialect(crew, use.chosen)].written
    if isinstance(use.thinking, ThinkingBudgetConfig):
        written |= {BUDGET_KEY}
    for key in use.chosen.named.body:
        if key in written:
            text = f"{key} is written by the runtime; the agent's file and `models` say it"
            path = ("models", use.chosen.name, "body", key)
            yield files.crew_document.problem(path, "body-key", text, key=True)


def _dialect(crew: CrewConfig, chosen: ChosenModel) -> DialectName:
    name = chosen.config.provider
    return dialect_of(name, crew.providers.get(name))


def _is_google(crew: CrewConfig, chosen: ChosenModel) -> bool:
    name = chosen.config.provider
    given = crew.providers.get(name, ProviderConfig())
    url = chosen.config.provider_url or given.base_url or ""
    declared = given.quirks.declared() if given.quirks is not None else {}
    return bool({**known_of(name, url), **declared}.get("google"))
