"""The shapes of answers about runs that wait for a person."""

from typing_extensions import TypedDict

from server.http.openapi.answers import Time, WaitingRun


class ViewerAnswer(TypedDict):
    """A page that shows a run now."""

    # what it calls itself
    viewer: str
    # of its token; "" where there are none
    name: str
    since: Time


class ViewersAnswer(TypedDict):
    """Who looks at a run now, oldest first."""

    viewers: list[ViewerAnswer]


class InboxRun(WaitingRun):
    """A run that waits for a person, and who looks at it now."""

    viewers: list[ViewerAnswer]


class InboxAnswer(TypedDict):
    """Runs that wait for a person, oldest first."""

    runs: list[InboxRun]
    next: str | None
