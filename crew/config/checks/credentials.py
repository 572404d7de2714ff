"""What the environment has for the providers of a crew: the address and the key of OpenAI."""

from collections.abc import Iterator, Mapping

from agents.endpoint import OPENAI_KEY, OPENAI_URL, openai_address
from crew.config.files.sources import CREW_FILE
from crew.config.keys.crew_file import CrewConfig
from crew.config.keys.models import models_of
from crew.config.loader import CrewFiles
from crew.config.problems import Problem


def check_keys(
    files: CrewFiles, crew: CrewConfig, environment: Mapping[str, str]
) -> Iterator[Problem]:
    """Find agents of provider openai without a usable address or key.

    Args:
        files: what was read.
        crew: of crew.yaml.
        environment: has `OPENAI_BASE_URL` and `OPENAI_API_KEY`.
    """
    given = crew.providers.get("openai")
    base_url = given.base_url if given is not None else None
    for agent_id in crew.agents:
        if agent_id not in files.agents:
            continue
        document = files.agent_files[agent_id]
        if not (files.is_whole(document.file) and files.is_whole(CREW_FILE, "models", "providers")):
            # a key that is misspelt may be the one that names another provider
            continue
        for model in models_of(files.agents[agent_id], crew.models):
            config = model.config
            if config.provider != "openai":
                continue
            try:
                url = config.provider_url or base_url or openai_address(environment)
            except ValueError as error:
                yield document.problem(model.place, "provider", str(error))
                continue
            has_key = bool(environment.get(OPENAI_KEY)) or (
                given is not None and given.api_key is not None
            )
            if url == OPENAI_URL and not has_key:
                text = f"provider openai needs a key, and {OPENAI_KEY} is not set here"
                yield document.problem(model.place, "no-key", text)
