"""The alert rules and the board ask for series that exist, with labels that they have."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.metrics import MetricWrapperBase

from crew import load_crew
from server.telemetry.metrics import Metrics
from server.telemetry.traces.counts import SpanCounts
from tests.end_to_end.test_promtool import PROMTOOL
from tests.server.telemetry.test_traces import Collected
from tests.support.crews import ROOT

RULES = yaml.safe_load((ROOT / "configs" / "alerts.yml").read_text())
BOARD = json.loads((ROOT / "configs" / "grafana.json").read_text())
# those that Prometheus sets, and those of histograms
LABELS = {"job", "instance", "le"}
SELECTOR = re.compile(r"\b((?:crew|process)_[a-z_]+)(?:\{([^}]*)\})?")
# of what Grafana fills in
FILLED = {"$__rate_interval": "5m", "$job": ".*"}


def series() -> dict[str, set[str]]:
    """By name of each series: its labels."""
    metrics = Metrics(load_crew(ROOT / "examples" / "hello"))
    metrics.set_workers(1)
    found: dict[str, set[str]] = {}
    own = [value for value in vars(metrics).values() if isinstance(value, MetricWrapperBase)]
    for one in own:
        labels = set(one._labelnames)  # of a series without a sample nothing else says it
        for family in one.describe():
            endings = {"counter": ["_total"], "histogram": ["_bucket", "_sum", "_count"]}
            for ending in endings.get(family.type, [""]):
                found[family.name + ending] = labels
    for family in (*SpanCounts(Collected()).collect(), *metrics.registry.collect()):
        for sample in family.samples:
            found.setdefault(sample.name, set(sample.labels))
    return found


def panels() -> list[dict[str, Any]]:
    return [one for one in BOARD["panels"] if one["type"] != "row"]


def expressions() -> list[str]:
    """All that is asked, as Prometheus gets it."""
    rules = [rule["expr"] for group in RULES["groups"] for rule in group["rules"]]
    asked = [target["expr"] for panel in panels() for target in panel["targets"]]
    for name, value in FILLED.items():
        asked = [one.replace(name, value) for one in asked]
    return rules + asked


def test_each_alert_says_what_to_do():
    """In a section of its own, by its address."""
    page = (ROOT / "docs" / "operations" / "alerts.md").read_text()
    for rule in (one for group in RULES["groups"] for one in group["rules"]):
        place = f"docs/operations/alerts.md#{rule['alert'].lower()}"
        assert rule["annotations"]["runbook_url"] == place
        assert f"\n## {rule['alert']}\n" in page


def test_what_is_asked_for_exists():
    """Each series, and each label by which it is chosen or summed."""
    known = series()
    for text in expressions():
        found = SELECTOR.findall(text)
        assert found or "up{" in text, text
        labels = set().union(*(known[name] for name, _ in found)) | LABELS
        for name, chosen in found:
            for label in re.findall(r"(\w+)\s*[=!]~?", chosen):
                assert label in known[name] | LABELS, (name, label)
        for names in re.findall(r"\bby \(([^)]*)\)", text):
            assert set(names.replace(" ", "").split(",")) <= labels, text


def test_what_is_shown_of_a_series_exists():
    """A legend and a summary name labels that the result has."""
    for panel in panels():
        for target in panel["targets"]:
            shown = set(re.findall(r"{{(\w+)}}", target["legendFormat"]))
            kept = {
                label
                for names in re.findall(r"\bby \(([^)]*)\)", target["expr"])
                for label in names.replace(" ", "").split(",")
            }
            assert shown <= kept or (not kept and shown <= LABELS), target


def test_panels_are_named_and_lie_beside_each_other():
    """Each says what it shows, and none covers another."""
    taken: set[tuple[int, int]] = set()
    assert len({one["id"] for one in BOARD["panels"]}) == len(BOARD["panels"])
    for panel in BOARD["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert place["x"] + place["w"] <= 24
        assert not cells & taken
        taken |= cells
        assert panel["title"]
    assert all(
        panel["description"].endswith(".") and panel["fieldConfig"]["defaults"]["unit"]
        for panel in panels()
    )


@pytest.mark.skipif(PROMTOOL is None, reason="there is no promtool on this machine")
def test_prometheus_understands_the_board(tmp_path: Path):
    """Each expression, as a rule."""
    rules = [{"record": f"x:{number}", "expr": text} for number, text in enumerate(expressions())]
    path = tmp_path / "rules.yml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "board", "rules": rules}]}))
    checked = subprocess.run(
        [str(PROMTOOL), "check", "rules", path], capture_output=True, text=True
    )
    assert checked.returncode == 0, checked.stderr + checked.stdout
