"""The providers of the models that agents name, and of those in `models`."""

from collections.abc import Collection, Iterator

from agents.providers.catalog import BUILTIN_PROVIDERS
from crew.config.checks.references import unknown_name
from crew.config.costs.others import models_of_helpers
from crew.config.crew_files import CrewFiles
from crew.config.files.document import Document
from crew.config.files.sources import CREW_FILE
from crew.config.keys.crew_file import CrewConfig
from crew.config.keys.models import ChosenModel, client_models_of, models_of
from crew.config.problems import Problem


def _check_client_models(files: CrewFiles, crew: CrewConfig) -> Iterator[Problem]:
    """Yield models that a request may name and that are none of `models`."""
    for place, name in enumerate(crew.settings.client_models):
        if name not in crew.models:
            path = ("settings", "client_models", place)
            near = files.crew_document.near(name, crew.models)
            text = f"models has no {name!r}; a request names one of `models`"
            yield files.crew_document.problem(path, "client-model", text, suggestion=near)


def check_models(files: CrewFiles, crew: CrewConfig) -> Iterator[Problem]:
    """Yield providers that nothing has, and those without an address."""
    providers = files.names_in(CREW_FILE, ("providers",))
    if providers is None:
        return
    if files.is_whole(CREW_FILE, "models"):
        yield from _check_client_models(files, crew)
    known = {*BUILTIN_PROVIDERS, *providers}
    for name, named in crew.models.items():
        if named.provider is not None and named.provider not in known:
            path = ("models", name, "provider")
            yield unknown_name(files.crew_document, path, "provider", named.provider, known)
    for agent_id in crew.agents:
        if agent_id in files.agents:
            document, agent = files.agent_files[agent_id], files.agents[agent_id]
            for model in models_of(agent, crew.models):
                yield from _check_model(files, crew, document, model, known)
            for model in client_models_of(agent, crew.models, crew.settings.client_models):
                yield from _check_model(files, crew, files.crew_document, model, known)
    for model in models_of_helpers(files, crew):
        yield from _check_model(files, crew, files.crew_document, model, known)


def _check_model(
    files: CrewFiles,
    crew: CrewConfig,
    document: Document,
    model: ChosenModel,
    known: Collection[str],
) -> Iterator[Problem]:
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
