"""The outside witness: a process of its own that writes down every effect of a tool, and kills who calls it.

Run: python ledger.py SEED, which prints its port.
"""

import contextlib
import json
import os
import random
import re
import signal
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

# one effect in so many is the end of a process that makes calls
KILLS_ONE_IN = 40
effects: list[dict[str, Any]] = []
# of effects by servers that keep them
keys: set[str] = set()
# processes that may be killed
victims: list[int] = []
lock = threading.Lock()
chance = random.Random(int(sys.argv[1]))


class Ledger(BaseHTTPRequestHandler):
    """POST an effect; GET them all; PUT the numbers of the processes that may be killed."""

    def do_POST(self) -> None:
        """Write one down; now and then it is cut off before that, in between, or before the answer."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if not body:
            # whoever began to say it was killed in the middle: nothing has happened
            return
        told = json.loads(body)
        effect = {
            "kind": told["kind"],
            "key": re.findall(r"run-[0-9]+", told["about"])[0],
            "edited": "edited" in told["about"],
        }
        key = self.headers["Idempotency-Key"] if told["kind"] == "keyed" else None
        with lock:
            victim = chance.choice(victims) if victims else 0
            is_killed = bool(victim) and chance.random() * KILLS_ONE_IN < 1
            when = chance.choice(["instead", "before", "after"])
            if is_killed and when != "after":
                _kill(victim)
            if not (is_killed and when == "instead") and (key is None or key not in keys):
                effects.append(effect)
                keys.add(key or "")
            if is_killed and when == "after":
                _kill(victim)
        self._answer({})

    def do_PUT(self) -> None:
        """Who may be killed from now on."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with lock:
            victims[:] = json.loads(body)
        self._answer({})

    def do_GET(self) -> None:
        """Tell all."""
        with lock:
            self._answer(effects)

    def _answer(self, document: Any) -> None:
        body = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        # who asked may be gone
        with contextlib.suppress(OSError):
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


def _kill(victim: int) -> None:
    # one that has just ended by another fault
    with contextlib.suppress(ProcessLookupError):
        os.kill(victim, signal.SIGKILL)


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Ledger)
    print(server.server_address[1], flush=True)
    server.serve_forever()
