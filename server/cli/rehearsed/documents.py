"""Results of rehearsals as programs read them: JSON, JUnit's XML, annotations of GitHub."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from crew.rehearsal.covering.counts import CoverageCounts
from crew.rehearsal.playing.suite import Result

# what XML 1.0 cannot have
NOT_IN_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def result_document(result: Result) -> dict[str, Any]:
    """Return what became of a rehearsal."""
    document = {
        "id": result.id,
        "status": result.status,
        "source": result.source,
        "wall_millis": round(result.wall_millis, 1),
        "virtual_seconds": round(result.virtual_seconds, 3),
        "path": list(result.path),
        "problems": [
            {"kind": one.kind, "text": one.text, "source": one.source} for one in result.mismatches
        ],
    }
    return {**document, **({"reason": result.reason} if result.reason else {})}


def summary_document(results: Sequence[Result], coverage: CoverageCounts) -> dict[str, Any]:
    """Return how many passed."""
    counts = Counter("failed" if one.status == "error" else one.status for one in results)
    named = {status: counts[status] for status in ("passed", "failed", "skipped")}
    return {"summary": {**named, "coverage": coverage.document()}}


def write_junit(path: Path, results: Sequence[Result], seconds: float) -> None:
    """Write results as JUnit's XML; raises OSError."""
    counts = Counter(one.status for one in results)
    suite = ElementTree.Element(
        "testsuite",
        {
            "name": "crew test",
            "tests": str(len(results)),
            "failures": str(counts["failed"]),
            "errors": str(counts["error"]),
            "skipped": str(counts["skipped"]),
            "time": f"{seconds:.3f}",
        },
    )
    for result in results:
        file, _, name = result.id.partition("::")
        attributes = {"classname": file, "name": name, "time": f"{result.wall_millis / 1000:.3f}"}
        case = ElementTree.SubElement(suite, "testcase", _clean(attributes))
        if result.status == "skipped":
            ElementTree.SubElement(case, "skipped", _clean({"message": result.reason}))
        elif result.status != "passed":
            tag = "error" if result.status == "error" else "failure"
            first = result.mismatches[0].text if result.mismatches else ""
            text = "\n".join(f"{one.source}: {one.kind}: {one.text}" for one in result.mismatches)
            failure = ElementTree.SubElement(case, tag, _clean({"message": first.split("\n")[0]}))
            failure.text = NOT_IN_XML.sub("", text)
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def _clean(attributes: dict[str, str]) -> dict[str, str]:
    return {key: NOT_IN_XML.sub("", value) for key, value in attributes.items()}


def annotations(results: Sequence[Result], folder: Path) -> Iterator[str]:
    """Yield what is wrong as annotations of GitHub's workflows, each at its line."""
    for result in results:
        for one in result.mismatches:
            file, _, line = one.source.rpartition(":")
            place = f"file={_escape(str(folder / file), ',:')},line={line}"
            title = _escape(result.id, ",:")
            yield f"::error {place},title={title}::{_escape(one.text)}"


def _escape(text: str, more: str = "") -> str:
    """Return a text as a workflow command may have it."""
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    for char in more:
        text = text.replace(char, f"%{ord(char):02X}")
    return text
