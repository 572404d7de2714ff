"""Serves the page of a shop, and the crew that its visitors speak with: open http://127.0.0.1:8000.

With CREW_URL it starts no crew of its own; CREW_TOKEN is a token of that server with the scopes
run, answer and act_as.
"""

import http.server
import json
import os
import secrets
import subprocess
import sys
import threading
import urllib.request
from http.cookies import SimpleCookie
from pathlib import Path

HERE = Path(__file__).parent
PORT = int(sys.argv[1]) if len(sys.argv) > 1 else 8000
PAGE = f"http://127.0.0.1:{PORT}"
FILES = {"/": "index.html", "/shop.js": "shop.js", "/shop.css": "shop.css"}
KINDS = {".html": "text/html", ".js": "text/javascript", ".css": "text/css"}
CREW = os.environ.get("CREW_URL", "http://127.0.0.1:8080")


class Shop(http.server.BaseHTTPRequestHandler):
    """The pages of the shop."""

    def do_GET(self) -> None:
        """Answer with a file, or with where the crew is."""
        if self.path == "/crew":
            self.answer(json.dumps({"url": CREW}), "application/json")
        elif self.path in FILES:
            file = HERE / FILES[self.path]
            self.answer(file.read_text(), KINDS[file.suffix])
        else:
            self.send_error(404)

    def do_POST(self) -> None:
        """Answer with a ticket of this visitor, for runs of their own."""
        known = SimpleCookie(self.headers.get("Cookie", "")).get("visitor")
        visitor = known.value if known is not None else secrets.token_hex(16)
        wanted = {"user_id": visitor, "scopes": ["read", "run", "answer"], "seconds": 3600}
        headers = {"Content-Type": "application/json"}
        if token := os.environ.get("CREW_TOKEN"):
            headers["Authorization"] = f"Bearer {token}"
        body = json.dumps(wanted).encode()
        request = urllib.request.Request(f"{CREW}/api/crew/tickets", body, headers)  # noqa: S310 # ours
        with urllib.request.urlopen(request) as answer:  # noqa: S310 # ours
            ticket = json.load(answer)["ticket"]
        self.answer(ticket, "text/plain", f"visitor={visitor}; HttpOnly; SameSite=Strict; Path=/")

    def answer(self, text: str, kind: str, cookie: str | None = None) -> None:
        """Send a text."""
        data = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        if cookie is not None:
            self.send_header("Set-Cookie", cookie)
        self.end_headers()
        self.wfile.write(data)


def main() -> None:
    """Serve the page, and the crew unless it is served elsewhere; Ctrl-C ends both."""
    pages = http.server.ThreadingHTTPServer(("127.0.0.1", PORT), Shop)
    print(f"Open {PAGE}", flush=True)
    if "CREW_URL" in os.environ:
        pages.serve_forever()
        return
    threading.Thread(target=pages.serve_forever, daemon=True).start()
    crew = [Path(sys.executable).with_name("crew"), "serve", HERE]
    # the page comes from another origin, which the crew has to allow
    serving = subprocess.Popen(crew, env={**os.environ, "CREW_CORS_ORIGINS": PAGE})
    try:
        sys.exit(serving.wait())
    except KeyboardInterrupt:
        serving.terminate()
        serving.wait()


if __name__ == "__main__":
    main()
