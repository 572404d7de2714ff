"""Streams of 20 tokens, 50 ms apart, beside the leanest server: CPU, memory and times of each.

Run: .venv/bin/python tests/bench/streams.py ../shared/bench [--streams 1000] [--rounds 3] [--agui]
with BENCH_VENVS as for the benchmark; its servers `floor_lean` and `floor` need their environments.
"""

import argparse
import os
import sys
from pathlib import Path
from typing import Any

OURS = Path(__file__).with_name("stream_server.py")
# over which the streams begin: who starts a thousand at once is refused some
SPREAD_SECONDS = 2.0
SHOWN = ("cpu_ms_per_stream", "rss_kb_per_stream", "ttfb_p99_ms", "token_p50_ms", "end_p99_ms")


def main(bench: Path, streams: int, rounds: int, others: list[str], *, with_agui: bool) -> None:
    """Each server in turn, in each round; ours by its own address, and by AG-UI's if wanted."""
    sys.path.insert(0, str(bench))
    import sse

    servers = bench / "servers"
    ours = os.path.relpath(OURS.with_suffix(""), servers)
    venv = os.path.relpath(Path(sys.executable).parent.parent, sse.R.VENVS)
    addresses = [("/api/crew/stream?q=hello&deltas=1", None), ("/agui", sse.AGUI)]

    def measure(name: str, label: str) -> None:
        found: dict[str, Any] = sse.measure(name, [streams], SPREAD_SECONDS)[-1]
        told = {key: found.get(key) for key in SHOWN}
        print(label, found.get("ok"), told, found.get("why") or found.get("error"), flush=True)

    for _ in range(rounds):
        for name in others:
            measure(name, name)
        for path, body in addresses[: 1 + with_agui]:
            sse.SERVERS[ours] = (venv, path, body)
            measure(ours, path.partition("?")[0])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bench", type=Path)
    parser.add_argument("--streams", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--others", nargs="*", default=["floor_lean"])
    parser.add_argument("--agui", action="store_true", help="the same crew by AG-UI, too")
    given = parser.parse_args()
    folder = given.bench.resolve()
    main(folder, given.streams, given.rounds, given.others, with_agui=given.agui)
