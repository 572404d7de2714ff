"""Kills in streams of other protocols: python -m tests.faults.languages --kills 200.

Of each language so many servers are killed, each behind another frame; the client comes back in its
own way, and must have each event once.
"""

import argparse
import random
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.support.coming_back import LANGUAGES, told_over_a_kill
from tests.support.paying_crew import crew_at

# of the longest stream, about
MOST_FRAMES = 40


def kill(folder: Path, language: str, kills: int, seed: int) -> Counter[tuple[str, ...]]:
    """Return how often a client had what in the end."""
    crew = crew_at(folder, settings={"disconnect_grace_seconds": -1})
    chance = random.Random(f"{seed} {language}")
    found: Counter[tuple[str, ...]] = Counter()
    for number in range(kills):
        cut = chance.randint(1, MOST_FRAMES)
        found[tuple(told_over_a_kill(crew, language, cut, f"r{number}"))] += 1
    return found


def main() -> None:
    """Print what clients had; ends with 1 if a promise was broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200, help="of each language")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--languages", nargs="*", default=LANGUAGES, choices=LANGUAGES)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor() as pool:
        wanted = [(Path(name) / one, one) for one in given.languages]
        for folder, _ in wanted:
            folder.mkdir()
        works = [pool.submit(kill, *one, given.kills, given.seed) for one in wanted]
        all_found = [one.result() for one in works]
    is_wrong = False
    for language, found in zip(given.languages, all_found, strict=True):
        # who has lost its run's stream, as the AI SDK says, loads its messages
        kinds = [one for one in found if one]
        is_wrong |= len(kinds) != 1
        counts = ", ".join(f"{count} with {len(one)} frames" for one, count in found.items())
        print(f"{language}: {given.kills} kills: {counts}")
    sys.exit(is_wrong)


if __name__ == "__main__":
    main()
