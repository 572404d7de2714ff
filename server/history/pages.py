"""An exported run as Markdown, and as one HTML file without scripts; pure."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from server.history.steps import RunStep

# nothing is loaded, nothing runs
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: light-dark(#f4f4f5, #27272a);
  padding: .6rem; border-radius: .4rem; }
dt { font-weight: 600; } dd { margin: 0 0 .4rem; } li { margin-bottom: .8rem; }
"""


def to_markdown(document: Mapping[str, Any], steps: Sequence[RunStep]) -> str:
    """Return a run as Markdown."""
    lines = [f"# Run {document['run']['run_id']}", ""]
    lines += [f"- **{name}**: {_line(value)}" for name, value in _facts(document)]
    for title, text in _texts(document):
        lines += ["", f"## {title}", "", *_fenced(text)]
    lines += ["", "## Steps", ""]
    for step in steps:
        source = f" ({step.source})" if step.source else ""
        lines += [f"{step.seq}. {_line(step.what)}{source}"]
        if step.text:
            lines += ["", *(f"   {line}" for line in _fenced(step.text)), ""]
    return "\n".join(lines) + "\n"


def to_html(document: Mapping[str, Any], steps: Sequence[RunStep]) -> str:
    """Return a run as one HTML file; what was said in it is text, whatever it looks like."""
    title = escape(f"Run {document['run']['run_id']}")
    facts = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(str(value))}</dd>" for name, value in _facts(document)
    )
    texts = "".join(
        f"<h2>{escape(name)}</h2><pre>{escape(text)}</pre>" for name, text in _texts(document)
    )
    items = "".join(_item(step) for step in steps)
    return (
        '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(POLICY)}">\n'
        f"<title>{title}</title>\n<style>{STYLE}</style>\n"
        f"<h1>{title}</h1><dl>{facts}</dl>{texts}<h2>Steps</h2><ol>{items}</ol>\n</html>\n"
    )


def _item(step: RunStep) -> str:
    source = f" <small>{escape(step.source)}</small>" if step.source else ""
    text = f"<pre>{escape(step.text)}</pre>" if step.text else ""
    return f'<li value="{step.seq}" id="{step.seq}">{escape(step.what)}{source}{text}</li>'


def _facts(document: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    run = document["run"]
    yield "crew", run["crew"]
    yield "status", " ".join(str(run[key]) for key in ("status", "reason") if run[key])
    yield "started", run["started_at"]
    if run["ended_at"]:
        yield "ended", run["ended_at"]
    yield "duration", f"{run['duration_seconds']:.3f} s"
    yield "tokens", run["usage"]["total_tokens"]
    cost = run["cost"]
    yield "cost", f"{'≥ ' if cost['unpriced'] else ''}{cost['usd']:.6f} USD"
    yield "revision", document["revision"]
    for one in document["decisions"]:
        said = one.get("decision") or one["text"]
        yield "decided", f"{one['at']} {one['by'] or '-'}: {said}"


def _texts(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "Question", document["run"]["query"]
    if document["run"]["answer"]:
        yield "Answer", document["run"]["answer"]


def _line(value: Any) -> str:
    return " ".join(str(value).split())


def _fenced(text: str) -> list[str]:
    """Return a text as a block of code, with a fence that does not stand in it."""
    fence = "```"
    while fence in text:
        fence += "`"
    return [f"{fence}text", *text.splitlines(), fence]
