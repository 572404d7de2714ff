"""What the environment has for built-in providers: their keys, and the address of OpenAI."""

from collections.abc import Iterator, Mapping

from agents.endpoint import BUILTINS, openai_address
from crew.config.crew_files import CrewFiles
from crew.config.files.document import Document
from crew.config.files.sources import CREW_FILE
from crew.config.keys.crew_file import CrewConfig
from crew.config.keys.models import ChosenModel, client_models_of, models_of
from crew.config.problems import Problem


def check_keys(
    files: CrewFiles, crew: CrewConfig, environment: Mapping[str, str]
) -> Iterator[Problem]:
    """Find agents of built-in providers without a usable address or key.

    Args:
        files: what was read.
        crew: of crew.yaml.
        environment: has `OPENAI_BASE_URL`, and the keys of providers.
    """
    for agent_id in crew.agents:
        if agent_id not in files.agents:
            continue
        agent, document = files.agents[agent_id], files.agent_files[agent_id]
        if not (files.is_whole(document.file) and files.is_whole(CREW_FILE, "models", "providers")):
            # a key that is misspelt may be the one that names another provider
            continue
        for model in models_of(agent, crew.models):
            yield from _check_key(crew, document, model, environment)
        for model in client_models_of(agent, crew.models, crew.settings.client_models):
            yield from _check_key(crew, files.crew_document, model, environment)


def _check_key(
    crew: CrewConfig, document: Document, model: ChosenModel, environment: Mapping[str, str]
) -> Iterator[Problem]:
    name = model.config.provider
    builtin = BUILTINS.get(name)
    if builtin is None or not builtin.key:
        return
    given = crew.providers.get(name)
    declared = given.base_url if given is not None else None
    url = model.config.provider_url or declared
    if not url and name == "openai":
        try:
            url = openai_address(environment)
        except ValueError as error:
            yield document.problem(model.place, "provider", str(error))
            return
    has_key = bool(environment.get(builtin.key)) or (
        given is not None and given.api_key is not None
    )
    if (url or builtin.url) == builtin.url and not has_key:
        text = f"provider {name} needs a key, and {builtin.key} is not set here"
        yield document.problem(model.place, "no-key", text)
