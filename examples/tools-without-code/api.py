"""The API of the example: three hosts, kept in memory, on http://127.0.0.1:9123."""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PORT = 9123
hosts = {"web-1": "slow", "web-2": "good", "test": "good"}


class Api(BaseHTTPRequestHandler):
    """GET /hosts/NAME, POST /hosts/NAME/restart."""

    def do_GET(self) -> None:
        """The status of a host."""
        _, _, name = self.path.rpartition("/hosts/")
        if name in hosts:
            self._answer(200, {"host": name, "status": hosts[name]})
        else:
            self._answer(404, {"error": f"there is no host {name}"})

    def do_POST(self) -> None:
        """Restart a host."""
        name = self.path.removeprefix("/hosts/").removesuffix("/restart")
        given = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if name not in hosts:
            self._answer(404, {"error": f"there is no host {name}"})
            return
        hosts[name] = "good"
        self._answer(200, {"restarted": name, "in_seconds": given["delay_seconds"]})

    def _answer(self, status: int, document: dict[str, Any]) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else PORT
    server = ThreadingHTTPServer(("127.0.0.1", port), Api)
    print(f"http://127.0.0.1:{server.server_port}/hosts/web-1", flush=True)
    server.serve_forever()
