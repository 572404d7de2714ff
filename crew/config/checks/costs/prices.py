"""Models without a known price, and prices that are old."""

from collections.abc import Iterator
from datetime import date

from agents.costs.shape import PRICES_FILE
from crew.config.costs.prices import knows_prices, listed_name, prices_of
from crew.config.crew_files import CrewFiles
from crew.config.files.sources import CREW_FILE
from crew.config.keys.crew_file import CrewConfig
from crew.config.keys.models import client_models_of, models_of
from crew.config.problems import Problem

# prices that are older may have changed
OLD_DAYS = 90


def check_prices(files: CrewFiles, crew: CrewConfig) -> Iterator[Problem]:
    """Yield models without a known price, in a crew that knows some: its sums would lack them."""
    if not files.is_whole(CREW_FILE, "models", "settings") or not knows_prices(files):
        return
    named: set[str] = set()
    for agent_id in crew.agents:
        agent = files.agents.get(agent_id)
        if agent is None:
            continue
        wanted = crew.settings.client_models
        chosen = [*models_of(agent, crew.models), *client_models_of(agent, crew.models, wanted)]
        for model in chosen:
            name = listed_name(model.config.provider, model.config.model)
            if name in named or prices_of(files, agent, model) is not None:
                continue
            named.add(name)
            is_of_crew = model.path[:1] == ("models",)
            document = files.crew_document if is_of_crew else files.agent_files[agent_id]
            text = f"no file says what {name} costs, so costs are told without it"
            path = model.path if is_of_crew else (*model.path, "model")
            yield document.problem(path, "unpriced-model", text, key=is_of_crew)


def check_age(files: CrewFiles, today: date) -> Iterator[Problem]:
    """Yield that prices.json is old."""
    if files.prices is None:
        return
    taken = files.prices.date
    if (today - taken).days > OLD_DAYS:
        text = f"the prices are of {taken}, more than {OLD_DAYS} days ago"
        text = f"{text}; `crew prices --update` takes new ones"
        yield files.documents[PRICES_FILE].problem(("date",), "old-price", text)
