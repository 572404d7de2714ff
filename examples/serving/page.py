"""Serves the page beside it, and a crew for it to talk to: open http://127.0.0.1:8000."""

import functools
import http.server
import os
import subprocess
import sys
import threading
from pathlib import Path

HERE = Path(__file__).parent
PAGE = "http://127.0.0.1:8000"


def main() -> None:
    """Start both; Ctrl-C ends both."""
    crew = [Path(sys.executable).with_name("crew"), "serve", HERE.parent / "it-support"]
    # the page comes from another origin, which the crew has to allow
    serving = subprocess.Popen(crew, env={**os.environ, "CREW_CORS_ORIGINS": PAGE})
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=HERE)
    pages = http.server.ThreadingHTTPServer(("127.0.0.1", 8000), handler)
    threading.Thread(target=pages.serve_forever, daemon=True).start()
    print(f"Open {PAGE}")
    try:
        # without its crew the page is of no use
        sys.exit(serving.wait())
    except KeyboardInterrupt:
        serving.terminate()
        serving.wait()


if __name__ == "__main__":
    main()
