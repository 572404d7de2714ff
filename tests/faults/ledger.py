"""The outside witness: a process of its own that writes down every effect of a tool. Run: python ledger.py, which prints its port."""

import contextlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

effects: list[dict[str, Any]] = []
lock = threading.Lock()


class Ledger(BaseHTTPRequestHandler):
    """POST an effect; GET them all."""

    def do_POST(self) -> None:
        """Write one down."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if not body:
            # whoever began to say it was killed in the middle: nothing has happened
            return
        with lock:
            effects.append(json.loads(body))
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


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Ledger)
    print(server.server_address[1], flush=True)
    server.serve_forever()
