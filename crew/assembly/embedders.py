"""What makes vectors of texts, as the configuration says."""

from collections.abc import Mapping
from dataclasses import dataclass

from agents.errors import ProviderError
from agents.model import VectorModel
from agents.providers.catalog import Catalog
from crew.config.costs.prices import listed_prices
from crew.config.crew_files import CrewFiles
from crew.config.memory import embeddings_of
from crew.config.problems import Problem

# in place of a collection
OF_RECALL = ""


@dataclass(frozen=True, slots=True)
class Embedding:
    """How the texts of recall memory or of a collection get vectors."""

    embedder: VectorModel
    # texts in one request
    batch: int


def make_embeddings(
    files: CrewFiles, catalog: Catalog, *, asks: bool
) -> tuple[Mapping[str, Embedding], list[Problem]]:
    """Return how texts get vectors, by collection, and what is wrong with others.

    `asks`: models are called as the files say; else words alone find.
    """
    crew = files.crew
    assert crew is not None, "only of a crew that can be read"
    if not asks:
        return {}, []
    made: dict[str, Embedding] = {}
    problems: list[Problem] = []
    for name, (config, path) in embeddings_of(crew).items():
        try:
            prices = listed_prices(files, config.provider, config.model)
            embedder = catalog.embedder(config.provider, config.model, config.dimensions, prices)
        except ProviderError as error:
            place = (*path, "provider")
            problems.append(files.crew_document.problem(place, "provider", str(error)))
            continue
        made[name] = Embedding(embedder, config.batch)
    return made, problems
