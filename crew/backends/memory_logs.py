"""Audit, grants, outbox, schedules and viewers of a store that ends with its process."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from itertools import islice

from crew.journal.records.audit import ALL_ENTRIES, AuditEntry, AuditFilter
from crew.journal.records.grants import Grant
from crew.journal.records.notices import ChannelNews, ChannelState
from crew.journal.records.rows import Notice, RunRow
from crew.journal.records.schedules import ScheduleState
from crew.journal.records.viewers import Viewer


class MemoryAudit:
    """See AuditLog."""

    def __init__(self, rows: Mapping[str, RunRow]) -> None:
        """`rows`: the store's runs, by their ids."""
        self._rows = rows
        self._entries: list[AuditEntry] = []

    def add(self, entry: AuditEntry) -> None:
        """Keep one; what is done to a run is about its person."""
        row = self._rows.get(entry.run_id or "")
        if not entry.user_id and row is not None:
            entry = replace(entry, user_id=row.user_id)
        self._entries.append(entry)

    async def record(self, entry: AuditEntry) -> None:
        """See AuditLog."""
        self.add(entry)

    async def entries(
        self, limit: int = 100, wanted: AuditFilter = ALL_ENTRIES
    ) -> list[AuditEntry]:
        """See AuditLog."""
        return list(islice(filter(wanted.fits, reversed(self._entries)), limit))

    def about(self, user_id: str, run_ids: AbstractSet[str]) -> list[AuditEntry]:
        """Return the entries about a user and about some runs."""
        return [
            entry
            for entry in self._entries
            if (user_id and entry.user_id == user_id) or entry.run_id in run_ids
        ]

    def forget(self, entries: Sequence[AuditEntry]) -> None:
        """Forget some entries."""
        self._entries = [entry for entry in self._entries if entry not in entries]

    async def purge(self, before: str, limit: int = 1000) -> int:
        """See AuditLog."""
        old = [entry for entry in self._entries if entry.at < before][:limit]
        self._entries = [entry for entry in self._entries if entry not in old]
        return len(old)


class MemoryGrants:
    """See GrantLog."""

    def __init__(self) -> None:
        self._grants: dict[str, Grant] = {}

    async def add(self, grants: Sequence[Grant]) -> None:
        """See GrantLog."""
        for one in grants:
            self._grants.setdefault(one.id, one)

    async def find(self, now: str, definitions: Sequence[str] | None = None) -> list[Grant]:
        """See GrantLog."""
        found = [
            one
            for one in self._grants.values()
            if one.until > now and (definitions is None or one.definition in definitions)
        ]
        by_id = sorted(found, key=lambda one: one.id)
        return sorted(by_id, key=lambda one: one.given_at, reverse=True)

    async def of_user(self, user_id: str) -> list[Grant]:
        """See GrantLog."""
        found = [one for one in self._grants.values() if user_id and one.user_id == user_id]
        return sorted(found, key=lambda one: (one.given_at, one.id))

    def forget(self, run_ids: AbstractSet[str], user_id: str = "") -> int:
        """Forget what was given in some runs, or by a user; return how many there were."""
        given = [
            one.id
            for one in self._grants.values()
            if one.run_id in run_ids or (user_id and one.user_id == user_id)
        ]
        for grant_id in given:
            del self._grants[grant_id]
        return len(given)

    async def revoke(self, grant_id: str) -> bool:
        """See GrantLog."""
        return self._grants.pop(grant_id, None) is not None

    async def purge(self, now: str) -> int:
        """See GrantLog."""
        ended = [one for one in self._grants.values() if one.until <= now]
        for one in ended:
            del self._grants[one.id]
        return len(ended)


class MemoryOutbox:
    """See Outbox."""

    def __init__(self) -> None:
        self._notices: dict[str, Notice] = {}
        self._channels: dict[str, ChannelState] = {}
        # when each is due, and how often it was taken
        self._due: dict[str, tuple[str, int]] = {}

    async def add(self, notices: Sequence[Notice]) -> None:
        """See Outbox."""
        self.insert(notices)

    def insert(self, notices: Sequence[Notice]) -> None:
        """Keep some, with the write that they belong to."""
        for one in notices:
            self._notices.setdefault(one.id, one)
            self._due.setdefault(one.id, (one.at, 0))

    def forget(self, run_id: str) -> None:
        """Delete the entries of a run."""
        for key in [key for key, one in self._notices.items() if one.run_id == run_id]:
            del self._notices[key], self._due[key]

    async def take(
        self, channel: str, now: str, until: str, limit: int
    ) -> list[tuple[Notice, int]]:
        """See Outbox."""
        due = sorted((self._due[one.id], one.id) for one in self._notices.values())
        found = [key for (at, _), key in due if at <= now and self._notices[key].channel == channel]
        for key in found[:limit]:
            self._due[key] = (until, self._due[key][1] + 1)
        return [(self._notices[key], self._due[key][1]) for key in found[:limit]]

    async def postpone(self, notice_id: str, until: str, news: ChannelNews) -> None:
        """See Outbox."""
        self._note(news)
        if notice_id in self._due:
            self._due[notice_id] = (until, self._due[notice_id][1])

    async def finish(self, notice_id: str, news: ChannelNews) -> None:
        """See Outbox."""
        self._note(news)
        self._drop(notice_id)

    async def channels(self) -> dict[str, ChannelState]:
        """See Outbox."""
        found = dict(self._channels)
        for one in sorted(self._notices.values(), key=lambda one: one.at):
            state = found.get(one.channel, ChannelState())
            since = state.waiting_since or one.at
            found[one.channel] = replace(state, waiting=state.waiting + 1, waiting_since=since)
        return found

    async def purge(self, before: str) -> int:
        """See Outbox."""
        old = [one.id for one in self._notices.values() if one.at < before]
        for key in old:
            self._drop(key)
        return len(old)

    def _note(self, news: ChannelNews) -> None:
        self._channels[news.channel] = self._channels.get(news.channel, ChannelState()).after(news)

    def _drop(self, notice_id: str) -> None:
        self._notices.pop(notice_id, None)
        self._due.pop(notice_id, None)


class MemorySchedules:
    """See ScheduleLog."""

    def __init__(self) -> None:
        self._states: dict[str, tuple[ScheduleState, int]] = {}

    async def states(self) -> dict[str, tuple[ScheduleState, int]]:
        """See ScheduleLog."""
        return dict(self._states)

    async def move(self, name: str, state: ScheduleState, version: int | None) -> bool:
        """See ScheduleLog."""
        _, current = self._states.get(name, (None, None))
        if current != version:
            return False
        self._states[name] = (state, (version or 0) + 1)
        return True

    async def forget(self, name: str) -> None:
        """See ScheduleLog."""
        self._states.pop(name, None)


class MemoryViewers:
    """See ViewerLog."""

    def __init__(self) -> None:
        self._viewers: dict[tuple[str, str], Viewer] = {}

    async def announce(self, one: Viewer) -> None:
        """See ViewerLog."""
        for key, known in list(self._viewers.items()):
            if known.until <= one.since:
                del self._viewers[key]
        key = one.run_id, one.viewer
        since = self._viewers[key].since if key in self._viewers else one.since
        self._viewers[key] = replace(one, since=since)

    async def find(self, run_ids: Sequence[str], now: str) -> list[Viewer]:
        """See ViewerLog."""
        found = [one for one in self._viewers.values() if one.run_id in run_ids]
        there = [one for one in found if one.until > now]
        return sorted(there, key=lambda one: (one.since, one.viewer))
