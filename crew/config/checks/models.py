"""The providers of the models that agents name, and of those in `models`."""

from collections.abc import Collection, Iterator

from agents.config import AgentConfig
from agents.providers.catalog import BUILTIN_PROVIDERS
from crew.config.checks.references import unknown_name
from crew.config.crew_file import CrewConfig
from crew.config.loader import CrewFiles
from crew.config.models import models_of
from crew.config.problems import Problem
from crew.config.sources import CREW_FILE


def check_models(files: CrewFiles, crew: CrewConfig) -> Iterator[Problem]:
    """Providers that nothing has, and those without an address."""
    named = files.names_in(CREW_FILE, ("providers",))
    if named is None:
        return
    known = {*BUILTIN_PROVIDERS, *named}
    for name, model in crew.models.items():
        if model.provider is not None and model.provider not in known:
            path = ("models", name, "provider")
            yield unknown_name(files.crew_document, path, "provider", model.provider, known)
    for agent_id in crew.agents:
        if agent_id in files.agents:
            yield from _check_agent(files, files.agents[agent_id], crew, known)


def _check_agent(
    files: CrewFiles, agent: AgentConfig, crew: CrewConfig, known: Collection[str]
) -> Iterator[Problem]:
    document = files.agent_files[agent.id]
    for model in models_of(agent, crew.models):
        name = model.config.provider
        if name not in known:
            if model.says_provider:
                yield unknown_name(document, model.place, "provider", name, known)
        elif _lacks_address(files, crew, name) and model.config.provider_url is None:
            text = f"provider {name} has no address: give it a base_url in crew.yaml"
            yield document.problem(model.place, "provider", f"{text}, or a provider_url here")


def _lacks_address(files: CrewFiles, crew: CrewConfig, name: str) -> bool:
    if name not in crew.providers or name in BUILTIN_PROVIDERS:
        return False
    return files.is_whole(CREW_FILE, "providers") and crew.providers[name].base_url is None
