"""What makes vectors of texts: its provider, and what compares them."""

import importlib.util
from collections.abc import Iterator

from agents.endpoint import BUILTINS, dialect_of
from agents.providers.catalog import BUILTIN_PROVIDERS
from crew.config.checks.references import unknown_name
from crew.config.crew_files import CrewFiles
from crew.config.files.sources import CREW_FILE
from crew.config.keys.crew_file import CrewConfig
from crew.config.memory import embeddings_of
from crew.config.problems import Problem


def check_embeddings(files: CrewFiles, crew: CrewConfig) -> Iterator[Problem]:
    """Yield providers that cannot make vectors, and that they are compared slowly."""
    document = files.crew_document
    known = {*BUILTIN_PROVIDERS, *crew.providers}
    for config, path in embeddings_of(crew).values():
        place, name = (*path, "provider"), config.provider
        if name not in known:
            if files.is_whole(CREW_FILE, "providers"):
                yield unknown_name(document, place, "provider", name, known)
        elif name == "scripted" or dialect_of(name, crew.providers.get(name)) == "anthropic":
            text = f"provider {name} makes no vectors: it has no /embeddings in the form of OpenAI"
            yield document.problem(place, "embeddings-provider", text)
        elif not _has_address(crew, name):
            text = f"provider {name} has no address: give it a base_url in crew.yaml"
            yield document.problem(place, "provider", text)
        if importlib.util.find_spec("numpy") is None:
            text = (
                "without numpy SQLite needs some 50 times as long to compare vectors: "
                "pip install 'crewline[embeddings]'"
            )
            yield document.problem(path, "embeddings-extra", text, key=True)


def _has_address(crew: CrewConfig, name: str) -> bool:
    given = crew.providers.get(name)
    return name in BUILTINS or (given is not None and given.base_url is not None)
