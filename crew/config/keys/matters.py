"""What the POST of another program asks, and by what it is the same matter again; pure."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic_core import to_json

from crew.config.keys.hooks import HookConfig
from crew.journal.query import CONTROL
from tools.schemas.json_pointer import value_at

PLACE = re.compile(r"\{(/[^{}]*)\}")
# what cannot be taken now: Alertmanager tries again after a 503, but not after a 429
TRY_AGAIN = 503
# alerts that are written out
MAX_ALERTS = 20
CUT = "…"


class NotUnderstood(ValueError):
    """What was sent is not what the hook takes; says what is missing."""


@dataclass(frozen=True, slots=True)
class Matter:
    """What a hook was sent."""

    query: str
    # the same for the same matter
    fingerprint: str


def matter_of(hook: HookConfig, sent: Mapping[str, Any], max_chars: int) -> Matter | None:
    """Return the query; None: nothing is wrong any more, so no run is started.

    Args:
        hook: as crew.yaml has it.
        sent: the JSON object.
        max_chars: of the query; what is longer is cut.

    Raises:
        NotUnderstood: it lacks what the hook needs.
    """
    if hook.kind == "json":
        text, same = "", [_needed(sent, pointer) for pointer in hook.fingerprint or [""]]
    else:
        firing = _firing(sent)
        if not firing:
            return None
        text, same = "\n".join(_lines(sent, firing)), _group(sent, firing)
    if hook.query:
        text = PLACE.sub(lambda found: _part(sent, found[1]), hook.query)
    text = CONTROL.sub(" ", text).strip()
    if not text:
        raise NotUnderstood("the query is empty: its pointers name nothing in what was sent")
    if len(text) > max_chars:
        text = text[: max_chars - len(CUT)] + CUT
    # programs do not keep the keys of an object in one order
    in_order = json.dumps(same, sort_keys=True).encode()
    return Matter(text, hashlib.sha256(in_order).hexdigest())


def _needed(sent: Mapping[str, Any], pointer: str) -> Any:
    try:
        return value_at(sent, pointer)
    except KeyError:
        raise NotUnderstood(f"fingerprint: what was sent has no part {pointer}") from None


def _part(sent: Mapping[str, Any], pointer: str) -> str:
    """Return a part as text; one that is not there is empty: not every alert has every label."""
    try:
        value = value_at(sent, pointer)
    except KeyError:
        return ""
    return value if isinstance(value, str) else to_json(value).decode()


def _firing(sent: Mapping[str, Any]) -> list[dict[str, Any]]:
    alerts = sent.get("alerts")
    if not isinstance(alerts, list) or not all(isinstance(one, dict) for one in alerts):
        raise NotUnderstood("alerts: is a list of alerts, as Alertmanager and Grafana send it")
    return [one for one in alerts if one.get("status") != "resolved"]


def _group(sent: Mapping[str, Any], firing: list[dict[str, Any]]) -> list[Any]:
    """Return the group: an alert that joins or leaves it changes nothing."""
    key = sent.get("groupKey") or [_texts(one.get("labels")) for one in firing]
    return [key]


def _lines(sent: Mapping[str, Any], firing: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the alerts as a person would write them down."""
    name = _texts(sent.get("commonLabels")).get("alertname") or sent.get("title") or "Alert"
    yield f"{name}: {len(firing)} firing"
    for one in firing[:MAX_ALERTS]:
        labels = ", ".join(f"{key}={value}" for key, value in _texts(one.get("labels")).items())
        since = f" since {one['startsAt']}" if one.get("startsAt") else ""
        yield f"- {labels}{since}"
        for key, value in _texts(one.get("annotations")).items():
            yield f"  {key}: {value}"
    if len(firing) > MAX_ALERTS:
        yield f"and {len(firing) - MAX_ALERTS} more"


def _texts(value: Any) -> dict[str, str]:
    """Return labels or annotations, in their order; nothing where it is none of them."""
    return {str(key): str(one) for key, one in value.items()} if isinstance(value, dict) else {}
