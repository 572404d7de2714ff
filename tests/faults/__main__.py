"""Faults at random: python -m tests.faults --postgres --kills 500."""

import argparse
import sys
import tempfile
from pathlib import Path

from tests.faults.harness import play
from tests.faults.hazards import Hazards
from tests.faults.mutants import MUTANTS, mutated

# until a mistake of ours is seen, at most; most are after ten
MUTANT_FAULTS = 200


def main() -> None:
    """Print the report, and what the mutants come to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--postgres",
        action="store_true",
        help="a server and two workers around a database, not one on SQLite",
    )
    parser.add_argument(
        "--kills", type=int, default=0, help="faults of processes: killed, stopped, frozen"
    )
    parser.add_argument("--restarts", type=int, default=0, help="of the database; with --postgres")
    parser.add_argument("--runs", type=int, default=0, help="at least so many")
    parser.add_argument(
        "--poison", type=int, default=0, help="one run in so many ends each process that plays it"
    )
    parser.add_argument(
        "--stalls", type=int, default=0, help="one run in so many holds up its process for 7 s"
    )
    parser.add_argument(
        "--skewed", action="store_true", help="a worker's clock is three days ahead"
    )
    parser.add_argument(
        "--network",
        action="store_true",
        help="connections to the database are delayed, stalled and cut",
    )
    parser.add_argument(
        "--forgetful",
        action="store_true",
        help="a database that crashes comes back without its last commits; with --restarts",
    )
    parser.add_argument(
        "--slow-disk", action="store_true", help="SQLite's disk is slow now and then; needs cc"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mutants", action="store_true", help="see that mistakes of ours are seen")
    given = parser.parse_args()
    if given.slow_disk and given.postgres:
        parser.error("--slow-disk: of a server on SQLite, not of a database")
    failed = False
    for restarts in (False, True):
        faults = given.restarts if restarts else given.kills
        if faults:
            report = play(
                faults,
                given.seed,
                postgres=given.postgres,
                restarts=restarts,
                runs=given.runs,
                hazards=Hazards(
                    given.poison,
                    given.stalls,
                    given.skewed,
                    given.network,
                    given.forgetful,
                    given.slow_disk,
                ),
            )
            name = "PostgreSQL" if given.postgres else "SQLite"
            print(
                f"{name}, seed {given.seed}: {report}", *report.wrong[:20], sep="\n  ", flush=True
            )
            failed |= bool(report.wrong)
    for number, mutant in enumerate(MUTANTS if given.mutants else ()):
        with tempfile.TemporaryDirectory() as folder:
            seen = mutant.seen_by_suite(mutated(mutant, Path(folder)))
            if seen is None:
                report = play(
                    MUTANT_FAULTS, given.seed + number, Path(folder), postgres=mutant.postgres
                )
                seen = (
                    f"{report.wrong[0]} (after {report.faults.total()} faults)"
                    if report.wrong
                    else None
                )
        print(f"mutant: {mutant.name}: {seen or 'NOT SEEN'}", flush=True)
        failed |= seen is None
    sys.exit(failed)


if __name__ == "__main__":
    main()
