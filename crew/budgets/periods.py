"""When the periods of budgets begin and end."""

from datetime import UTC, datetime, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

from tools.clock import rfc3339

Per = Literal["hour", "day", "week", "month", "total"]


def period_of(per: Per, moment: datetime, zone: ZoneInfo) -> tuple[str, str]:
    """Return when a period begins and ends, as RFC 3339, UTC; "" for one without a beginning.

    Args:
        per: how long it is.
        moment: a time in it.
        zone: in which days begin. Where its clock is set, a day has 23 or 25 hours.
    """
    if per == "total":
        return "", ""
    local = moment.astimezone(zone)
    if per == "hour":
        # by UTC: an hour that is there twice has two beginnings
        start = moment.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
        offset = local.utcoffset() or timedelta()
        start -= timedelta(seconds=offset.total_seconds() % 3600)
        start += timedelta(hours=1) if start + timedelta(hours=1) <= moment else timedelta()
        return rfc3339(start), rfc3339(start + timedelta(hours=1))
    # an hour that is there twice may be a day's first: the first of both
    midnight = local.replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None, fold=0)
    match per:
        case "week":
            first = midnight - timedelta(days=midnight.weekday())
            after = first + timedelta(days=7)
        case "month":
            first = midnight.replace(day=1)
            after = (first + timedelta(days=32)).replace(day=1)
        case _:
            first, after = midnight, midnight + timedelta(days=1)
    return _utc(first, zone), _utc(after, zone)


def _utc(local: datetime, zone: ZoneInfo) -> str:
    return rfc3339(local.replace(tzinfo=zone).astimezone(UTC))
