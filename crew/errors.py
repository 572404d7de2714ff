"""The root of all errors of a crew; each sub-package has its own below it.

CrewError
├── ConfigurationError, LostConfiguration                          crew.config.errors
├── StoreError, StoreUnavailable, LostRun                          crew.journal.errors
└── UnknownRun, UnknownAgent, UnknownModel, NotPaused, RunEnded, Draining,
    AlreadyStarted, KeyReused                                      crew.runs.errors
"""


class CrewError(Exception):
    """Something is wrong with the crew, a run or the store."""
