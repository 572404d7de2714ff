"""`make mutants`: takes each defence away, and says whether its test has seen it."""

import sys
from concurrent.futures import ThreadPoolExecutor

from tests.defences.mutant import Mutant
from tests.defences.mutants import MUTANTS

AT_ONCE = 2


def main() -> None:
    """Ends with 1 where one was not seen."""
    wanted = [one for one in MUTANTS if not sys.argv[1:] or sys.argv[1] in one.name]

    def look(mutant: Mutant) -> bool:
        is_seen = mutant.is_seen()
        print("seen     " if is_seen else "NOT SEEN ", mutant.name, flush=True)
        return is_seen

    with ThreadPoolExecutor(AT_ONCE) as pool:
        seen = list(pool.map(look, wanted))
    print(f"{sum(seen)} of {len(seen)} are seen")
    sys.exit(not all(seen))


if __name__ == "__main__":
    main()
