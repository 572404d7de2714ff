"""Who speaks next, and what is remembered: the third floor.

Rooms, in reading order: `crew` (the front door: a folder becomes a crew), `starting` (runs begin
and go on), `runs` (they
are taken up, ended, left), `revisions` (the crew of each run), `run` (one of them), `following`
(what they tell), `mirror`
(what one tells that another process plays), `recall` (a stored run as it stands), `executor` (the
loop), `parallel` (a
group), `calls` (what a person decides on), `routing` and `signals` (where words lead), `state` (a
run between two steps),
`query`, `events`, `wire`, `journal`, `stores`, `upkeep` (what time asks for); `jobs`, `worker` and
`advancing` (a queue of
runs, who works at it, and what is done with one), `opening` (from a URL to a store and a queue);
`sources`, `loader`,
`reading`, `shaping` (files, their places, their shapes), `config`, `validator`, `inert` (what can
have no effect),
`allowing` (warnings that are meant), `repair`, `graph`, `pictures`, `plan`, `assembly`, `problems`,
`masking` (what may be
shown), `errors`.
"""

from crew.backends.memory import MemoryStore
from crew.backends.sqlite.store import SqliteStore
from crew.crew import Crew, check, load_crew
from crew.database import open_store
from crew.engine.executor import CrewExecutor
from crew.errors import ConfigurationError, CrewError
from crew.journal.query import Query, Said
from crew.runs.run import Line, Run
from crew.runs.runs import Runs

__all__ = [
    "ConfigurationError",
    "Crew",
    "CrewError",
    "CrewExecutor",
    "Line",
    "MemoryStore",
    "Query",
    "Run",
    "Runs",
    "Said",
    "SqliteStore",
    "check",
    "load_crew",
    "open_store",
]
