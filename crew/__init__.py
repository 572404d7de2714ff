"""Who speaks next, and what is remembered: the third layer.

Sub-packages and modules, from the top: `database` (from a URL to a store and a queue), `rehearsal`
(a crew is played without a model), `runs` (all runs), `why` (a run went where it went), `engine`
(one run), `crew` (a crew that is ready to run), `assembly` (configuration to live objects),
`backends` (where runs are kept and queued), `config` (the YAML), `documents` (texts that are
searched), `memory` (what may be remembered), `budgets` (what bounds costs), `routing` (where words
lead), `journal` (what a run says, and how it is written down), `errors`.
"""

from typing import TYPE_CHECKING

from tools.lazy import lazily

if TYPE_CHECKING:
    from crew.backends.memory import MemoryStore
    from crew.backends.sqlite.store import SqliteStore
    from crew.config.errors import ConfigurationError
    from crew.crew import Crew, check, load_crew
    from crew.database import open_store
    from crew.engine.executor import CrewExecutor
    from crew.errors import CrewError
    from crew.journal.query import Answer, HistoryMessage, Query
    from crew.journal.wire import RunEvent
    from crew.runs.run import Run
    from crew.runs.runs import Runs

__all__ = [
    "Answer",
    "ConfigurationError",
    "Crew",
    "CrewError",
    "CrewExecutor",
    "HistoryMessage",
    "MemoryStore",
    "Query",
    "Run",
    "RunEvent",
    "Runs",
    "SqliteStore",
    "check",
    "load_crew",
    "open_store",
]

__getattr__ = lazily(
    __name__,
    {
        "Answer": "crew.journal.query",
        "check": "crew.crew",
        "ConfigurationError": "crew.config.errors",
        "Crew": "crew.crew",
        "CrewError": "crew.errors",
        "CrewExecutor": "crew.engine.executor",
        "HistoryMessage": "crew.journal.query",
        "load_crew": "crew.crew",
        "MemoryStore": "crew.backends.memory",
        "open_store": "crew.database",
        "Query": "crew.journal.query",
        "Run": "crew.runs.run",
        "RunEvent": "crew.journal.wire",
        "Runs": "crew.runs.runs",
        "SqliteStore": "crew.backends.sqlite.store",
    },
)
