"""All of them."""

from tests.defences import of_runs, of_server

MUTANTS = (*of_server.MUTANTS, *of_runs.MUTANTS)
