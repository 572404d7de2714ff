"""Clients of AG-UI that come back behind each event of a run: what they get is whole and valid."""

from pathlib import Path
from typing import Any

import pytest

from server.protocols.agui.fold import AguiFold
from server.protocols.folds import FoldedForm, Frame, speech_of
from tests.server.protocols.test_folds import check_agui, log_named
from tests.support.logs_of_runs import Log


def sent_behind(log: Log, after: int) -> list[Frame]:
    """What a client gets that has the events up to `after`."""
    fold = AguiFold(log.row.run_id, "t1", speech_of(log.crew), after=after, hears=True)
    sent: list[Any] = []
    # the head is made behind the frames of an event, and goes before them
    written: list[Any] = []

    def write(frame: Frame, _: int | None) -> bytes:
        written.append(frame.document)
        return b"x"

    def head() -> bytes:
        sent.extend(fold.coming_back())
        return b"x"

    form = FoldedForm(fold, after, write, str.encode, head)
    for event in log.events:
        form.frame(event)
        sent += written
        written.clear()
    return [Frame(None, one) for one in sent]


@pytest.mark.parametrize("name", ["(group)", "(twice)", "(mixed)", "on-call", "pausing", "intents"])
async def test_behind_each_event(name: str, tmp_path: Path):
    """No step, member or text ends that has not begun; each ends once."""
    log = await log_named(name, tmp_path)
    for after in range(1, len(log.events)):
        frames = sent_behind(log, after)
        if frames:
            assert frames[0].document["type"] == "RUN_STARTED", after
            check_agui(frames)
