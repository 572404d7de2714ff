"""The shape of a schedule: what the crew is asked at set times."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Annotated, Literal
from zoneinfo import ZoneInfo, available_timezones

from cronsim import CronSim, CronSimError
from pydantic import AfterValidator, Field

from crew.journal.query import MAX_PRIORITY
from tools.schemas.yaml_shape import Name, Shape
from tools.text.suggest import nearest

FIELDS = 5
# a time from which each expression is tried once; it has to come within 50 years
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


def _check_cron(value: str) -> str:
    expected = "expected minute, hour, day, month and day of the week, such as '30 7 * * 1-5'"
    if len(value.split()) != FIELDS:
        raise ValueError(expected)
    try:
        next(CronSim(value, BEGIN))
    except CronSimError as error:
        raise ValueError(f"{str(error).lower()}; {expected}") from error
    except StopIteration as error:
        raise ValueError("that time never comes") from error
    return value


def _check_time_zone(value: str) -> str:
    try:
        ZoneInfo(value)
    except (KeyError, ValueError, OSError) as error:
        near = nearest(value, available_timezones())
        hint = f"did you mean {near}?" if near else "expected a name such as Europe/Berlin, or UTC"
        raise ValueError(f"there is no such time zone; {hint}") from error
    return value


TimeZone = Annotated[str, AfterValidator(_check_time_zone)]


def _check_query(value: str) -> str:
    if not value.strip():
        raise ValueError("a schedule needs a query: what the crew is asked")
    return value


class ScheduleConfig(Shape):
    """A question that starts a run at set times."""

    cron: Annotated[str, Field(max_length=100), AfterValidator(_check_cron)]
    """When, as crontab(5) says: minute, hour, day, month, day of the week."""
    time_zone: TimeZone = "UTC"
    """Whose clock that is: Europe/Berlin, Asia/Ho_Chi_Minh."""
    query: Annotated[str, AfterValidator(_check_query)]
    """What is asked."""
    overlap: Literal["skip", "queue"] = "skip"
    """While its previous run has not ended: leave this time out, or start once it has."""
    agent: Name | None = None
    """Who starts; the entry point unless given."""
    priority: Annotated[int, Field(ge=0, le=MAX_PRIORITY)] | None = None
    """Where its runs wait, higher ones go first; 5 unless given."""

    def times(self, after: datetime) -> Iterator[datetime]:
        """Yield the times after another one, UTC; endless.

        When clocks go forward, what is due in the missing hour is due right after it; when they
        go back, what is due in the repeated hour is due once. What names no hour is due each time.
        """
        for time in CronSim(self.cron, after.astimezone(ZoneInfo(self.time_zone))):
            # in a repeated hour, the first result is that of the hour's first time
            if time > after:
                yield time.astimezone(UTC)
