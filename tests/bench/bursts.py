"""What a run costs beside peers: all are kept alive and get a short burst in turn; ratios within a round.

A machine drifts by a tenth and more within minutes, so figures of whole measurements one after the other do not
compare; those of two bursts within a second do. It uses the model, the peers and the environments of the benchmark
beside the project; see there.

Run: BENCH_VENVS=... .venv/bin/python tests/bench/bursts.py ../shared/bench [--rounds 20] [--peers floor floor_fast agno]
"""

import argparse
import asyncio
import contextlib
import importlib
import importlib.util
import os
import resource
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

ADAPTER = Path(__file__).with_name("adapter.py")
OURS = "ours"
# ours, with a budget that all calls are paid from
BUDGETS = "budgets"
SCENARIOS = ("S1", "S2", "S3", "S4")
# runs of a burst, by how many are at once
BURSTS = {1: 20, 50: 100}
WARMUP = 50


class Peer:
    """A peer in a process of its own, which waits between its bursts."""

    def __init__(self, name: str, scenario: str, model: str, run: Any) -> None:
        """`run`: the benchmark's own module, which knows its environments."""
        self.name = name
        if name in (OURS, BUDGETS):
            python, place = Path(sys.executable), str(ADAPTER)
        else:
            python = Path(run.VENVS) / run.constants(name)["VENV"] / "bin" / "python"
            place = name
        self.process = subprocess.Popen(
            [python, __file__, "--worker", place, scenario, model, run.HERE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**run.ENV, **({"BENCH_BUDGETS": "1"} if name == BUDGETS else {})},
            preexec_fn=lambda: os.sched_setaffinity(0, run.WORK_CPUS),
        )
        self._answer()

    def burst(self, at_once: int) -> float:
        """Milliseconds of CPU a run."""
        assert self.process.stdin is not None, "it is a pipe"
        print(BURSTS[at_once], at_once, file=self.process.stdin, flush=True)
        return self._answer()

    def _answer(self) -> float:
        assert self.process.stdout is not None, "it is a pipe"
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.name} has ended")
        return float(line)

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


def worker(place: str, scenario: str, model: str, bench: str) -> None:
    """In the peer's own environment: bursts, as they are asked for."""
    answers = os.fdopen(os.dup(1), "w")
    # some peers print
    os.dup2(2, 1)
    sys.path[0] = bench
    os.environ.update(OPENAI_API_KEY="sk-bench", OPENAI_BASE_URL=f"{model}/v1")
    if place.endswith(".py"):
        spec = importlib.util.spec_from_file_location("adapter", place)
        assert spec is not None, "it is a file"
        assert spec.loader is not None, "it is a file"
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    else:
        module = importlib.import_module(f"peers.{place}")
    asyncio.run(_bursts(module.Peer(f"{model}/v1"), scenario, answers))


async def _bursts(peer: Any, scenario: str, answers: Any) -> None:
    if hasattr(peer, "start"):
        await peer.start(scenario)

    async def one() -> None:
        text = str(await peer.run(scenario))
        if f"{scenario}-DONE" not in text:
            raise RuntimeError(f"wrong answer: {text[:300]!r}")

    for _ in range(WARMUP):
        await one()
    print(0.0, file=answers, flush=True)
    for line in sys.stdin:
        runs, at_once = map(int, line.split())
        left = iter(range(runs))

        async def lane(left: Any = left) -> None:
            for _ in left:
                await one()

        before = resource.getrusage(resource.RUSAGE_SELF)
        await asyncio.gather(*(lane() for _ in range(at_once)))
        after = resource.getrusage(resource.RUSAGE_SELF)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        print(1000 * used / runs, file=answers, flush=True)


def compare(peers: list[Peer], scenario: str, at_once: int, rounds: int) -> None:
    """One line for each peer: its median, and the median of its ratios to the first one's."""
    found: dict[str, list[float]] = {peer.name: [] for peer in peers}
    for _ in range(rounds):
        for peer in peers:
            found[peer.name].append(peer.burst(at_once))
    floor = found[peers[0].name]
    for name, used in found.items():
        ratios = sorted(mine / least for mine, least in zip(used, floor, strict=True))
        spread = f"{ratios[len(ratios) // 4]:.2f} to {ratios[-len(ratios) // 4]:.2f}"
        print(
            f"{scenario} {at_once:>2} at once  {name:<16} {statistics.median(used):7.3f} ms a run  "
            f"{statistics.median(ratios):5.2f} of {peers[0].name} ({spread})",
            flush=True,
        )


def main(bench: Path, names: list[str], scenarios: list[str], rounds: int) -> None:
    """All scenarios, one at a time and 50 at once."""
    sys.path.insert(0, str(bench))
    run = importlib.import_module("run")
    with run.Fake() as model:
        for scenario in scenarios:
            with contextlib.ExitStack() as stack:
                peers = []
                for name in [*names, OURS]:
                    peers.append(Peer(name, scenario, model.url, run))
                    stack.callback(peers[-1].stop)
                for at_once in BURSTS:
                    compare(peers, scenario, at_once, rounds)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        worker(*sys.argv[2:])
    else:
        parser = argparse.ArgumentParser(description=__doc__)
        parser.add_argument("bench", type=Path)
        parser.add_argument("--peers", nargs="+", default=["floor"])
        parser.add_argument("--scenarios", nargs="+", default=list(SCENARIOS))
        parser.add_argument("--rounds", type=int, default=20)
        given = parser.parse_args()
        main(given.bench.resolve(), given.peers, given.scenarios, given.rounds)
