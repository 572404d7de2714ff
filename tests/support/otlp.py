"""A receiver of OpenTelemetry's traces that others wrote (`oteltap`), as a process."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.processes import BIN, free_port, until


@dataclass
class Receiver:
    """What it has received."""

    url: str
    log: Path

    @property
    def spans(self) -> list[dict[str, Any]]:
        """All spans so far, with their attributes as a mapping."""
        lines = self.log.read_text().splitlines()
        # the last line may still be written
        whole = [line for line in lines if line.startswith("{") and line.endswith("}")]
        return [_plain(json.loads(line)) for line in whole]

    def of(self, trace_id: str) -> dict[str, dict[str, Any]]:
        """The spans of a trace by their ids; none has come twice."""
        found = [one for one in self.spans if one["traceId"] == trace_id]
        by_id = {one["spanId"]: one for one in found}
        assert len(by_id) == len(found)
        return by_id


def _plain(span: dict[str, Any]) -> dict[str, Any]:
    values = {one["key"]: next(iter(one["value"].values())) for one in span["attributes"]}
    return {**span, "attributes": values}


@contextmanager
def receiving(folder: Path) -> Iterator[Receiver]:
    """A receiver for a `with` block."""
    port, log = free_port(), folder / "spans.jsonl"
    with log.open("w") as out:
        process = subprocess.Popen(
            [BIN / "python", "-u", "-m", "oteltap", "--port", str(port)], stdout=out, stderr=out
        )
    try:
        until(lambda: "Listening" in log.read_text())
        yield Receiver(f"http://127.0.0.1:{port}", log)
    finally:
        process.kill()
        process.wait()
