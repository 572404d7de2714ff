"""Serves the page beside it, and a crew for it to talk to: open http://127.0.0.1:8000."""

import functools
import http.server
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
PAGE = "http://127.0.0.1:8000"


def main() -> None:
    """Start both; Ctrl-C ends both."""
    crew = [Path(sys.executable).with_name("crew"), "serve", HERE.parent / "it-support"]
    # the page comes from another origin, which the crew has to allow
    serving = subprocess.Popen(crew, env={**os.environ, "CREW_CORS_ORIGINS": PAGE})
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=HERE)
    print(f"Open {PAGE}")
    try:
        http.server.ThreadingHTTPServer(("127.0.0.1", 8000), handler).serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        serving.terminate()
        serving.wait()


if __name__ == "__main__":
    main()
