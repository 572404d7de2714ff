"""What an alert, or any JSON, comes to: the query, and by what it is the same again."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crew.config.keys.hooks import HookConfig
from crew.config.keys.matters import NotUnderstood, matter_of
from crew.journal.query import text_error

ALERTS = HookConfig(kind="alertmanager")


def alert(name: str, since: str = "2026-01-01T00:00:00Z", **more: Any) -> dict[str, Any]:
    return {
        "status": "firing",
        "labels": {"alertname": name, "instance": "web-1"},
        "annotations": {"summary": f"{name} on web-1"},
        "startsAt": since,
        **more,
    }


def sent(*alerts: dict[str, Any], **more: Any) -> dict[str, Any]:
    group = {"groupKey": '{}:{alertname="x"}', "commonLabels": {"alertname": "x"}}
    return {**group, "alerts": list(alerts), **more}


def asked(hook: HookConfig, document: dict[str, Any], limit: int = 10_000) -> str:
    matter = matter_of(hook, document, limit)
    assert matter is not None
    return matter.query


def same(hook: HookConfig, one: dict[str, Any], two: dict[str, Any]) -> bool:
    first, second = matter_of(hook, one, 10_000), matter_of(hook, two, 10_000)
    assert first is not None
    assert second is not None
    return first.fingerprint == second.fingerprint


def test_alerts_are_written_out():
    """Those that fire, with labels, annotations and since when; the rest is counted."""
    resolved = alert("old", status="resolved")
    text = asked(ALERTS, sent(alert("slow"), resolved, alert("down")))
    assert text.splitlines() == [
        "x: 2 firing",
        "- alertname=slow, instance=web-1 since 2026-01-01T00:00:00Z",
        "  summary: slow on web-1",
        "- alertname=down, instance=web-1 since 2026-01-01T00:00:00Z",
        "  summary: down on web-1",
    ]
    assert "and 5 more" in asked(ALERTS, sent(*[alert(f"a{n}") for n in range(25)]))
    assert matter_of(ALERTS, sent(resolved), 10_000) is None


def test_the_same_trouble_is_the_same_matter():
    """An alert that joins its group, is repeated or resolved, is; another group is not."""
    first = sent(alert("slow"))
    joined = sent(alert("slow"), alert("down", "2026-01-01T00:05:00Z"))
    assert same(ALERTS, first, joined)
    left = sent(alert("slow", status="resolved"), alert("down", "2026-01-01T00:05:00Z"))
    assert same(ALERTS, first, left)
    assert not same(ALERTS, first, sent(alert("slow"), groupKey="another"))


def test_parts_of_json():
    """By pointer; what is not there is empty, what is no text is JSON."""
    hook = HookConfig(
        kind="json", query="{/t/id} {/t/a~1b} {/none}{/t/l/0}!", fingerprint=["/t/id"]
    )
    document = {"t": {"id": 7, "a/b": "x\u0007y", "l": [{"k": None}]}}
    assert asked(hook, document) == '7 x y {"k":null}!'
    assert same(hook, document, {"t": {"id": 7}})
    by_all = HookConfig(kind="json", query="x")
    assert same(by_all, {"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"d": 3, "c": 2}, "a": 1})
    assert not same(hook, document, {"t": {"id": 8}})
    with pytest.raises(NotUnderstood, match="no part /t/id"):
        matter_of(hook, {"t": {}}, 100)
    with pytest.raises(NotUnderstood, match="empty"):
        matter_of(HookConfig(kind="json", query="{/x}"), {"y": 1}, 100)


def test_what_is_replaced_is_not_read_again():
    """What was sent has places of its own: they are text."""
    hook = HookConfig(kind="json", query="{/a}")
    assert asked(hook, {"a": "{/b}", "b": "secret"}) == "{/b}"


@pytest.mark.parametrize("wrong", [{}, {"alerts": {}}, {"alerts": ["x"]}, {"alerts": None}])
def test_what_is_no_alert_is_told(wrong: dict[str, Any]):
    """And never a failure of the server."""
    with pytest.raises(NotUnderstood, match="alerts"):
        matter_of(ALERTS, wrong, 100)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(st.sampled_from(["alerts", "groupKey", "commonLabels", "title", "x"]), JSON))
def test_any_json_is_a_matter_or_told(document: dict[str, Any]):
    """The query is always one that a run may be asked."""
    loose = HookConfig(kind="json", query="{/alerts} {/x/0} {/title}", fingerprint=["/x"])
    for hook in (ALERTS, loose):
        try:
            matter = matter_of(hook, document, 50)
        except NotUnderstood:
            continue
        if matter is not None:
            assert 0 < len(matter.query) <= 50
            assert text_error(matter.query) is None


@given(
    st.lists(st.dictionaries(st.sampled_from(["status", "labels", "startsAt"]), JSON), max_size=4)
)
def test_any_alerts_are_a_matter_or_told(alerts: list[dict[str, Any]]):
    """Also with labels that are none."""
    matter = matter_of(ALERTS, {"alerts": alerts}, 200)
    assert (matter is None) == all(one.get("status") == "resolved" for one in alerts)
