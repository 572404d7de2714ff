"""What clients saw of each run, held against what is promised."""

import json
import random
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

from tests.faults.acting_crew import MAX_RECOVERIES


@dataclass
class History:
    """What one client saw of one run, over all connections."""

    key: str
    query: str
    # it ends each process that plays it
    is_poison: bool = False
    run_id: str = ""
    events: dict[int, str] = field(default_factory=dict)
    # answers that were taken, by what they decided
    decided: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    ended: bool = False
    # when an event came last
    heard: float = 0.0

    @property
    def verdict(self) -> str:
        """What its person decides on the call that needs it, however often it is asked."""
        return ("approve", "edit", "deny")[crc32(self.key.encode()) % 3]

    def body(self, pause: dict[str, Any], chance: random.Random) -> dict[str, Any]:
        """The answer to a pause."""
        match pause["metadata"].get("question"):
            case None:
                return {"query": f"{self.key} go on"}
            case "approval" if self.verdict == "edit":
                (call,) = pause["metadata"]["calls"]
                edited = {"about": f"{call['arguments']['about']} edited"}
                decided = {"call_id": call["call_id"], "decision": "approve", "arguments": edited}
                return {"decisions": [decided]}
            case "approval":
                return {"decision": self.verdict}
            case _:
                decision = chance.choice(["retry", "skip", "done"])
                return {"decision": decision, "result": "x" if decision == "done" else ""}

    def received(self, seq: int, data: str) -> None:
        """An event; the same number is the same bytes."""
        if seq not in self.events:
            self.heard = time.monotonic()
        if self.events.setdefault(seq, data) != data:
            self.wrong.append(f"{self.key}: event {seq} was published in two ways")

    def begin_again(self) -> None:
        """The database has lost some of what was heard, or may have; all is told again."""
        self.events.clear()

    def of(self, kind: str) -> list[dict[str, Any]]:
        """The events of a type, in order."""
        parsed = [json.loads(data) for _, data in sorted(self.events.items())]
        return [event for event in parsed if event["type"] == kind]


@dataclass
class Report:
    """What came of it."""

    faults: Counter[str] = field(default_factory=Counter)
    runs: int = 0
    poison: int = 0
    # claims of one that ends its processes, at most
    poison_claims: int = 0
    lost: int = 0
    # whose beginning the database has lost, and that were told of later events that it has lost
    forgotten: int = 0
    cut_short: int = 0
    holes: int = 0
    unknown: int = 0
    effects: Counter[str] = field(default_factory=Counter)
    twice: Counter[str] = field(default_factory=Counter)
    # of a run, with a fault in it
    longest_silence: float = 0.0
    longest_drain: float = 0.0
    wrong: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        """One line."""
        received = ", ".join(f"{kind} {times}" for kind, times in self.faults.items())
        twice = ", ".join(
            f"{kind} {self.twice[kind]} of {self.effects[kind]}"
            for kind in ("read", "idempotent", "once", "keyed")
        )
        return (
            f"faults {self.faults.total()} ({received}), runs {self.runs} ({self.poison} that end their process, each claimed {self.poison_claims} times at most), lost {self.lost}, forgotten by the database {self.forgotten} and in part {self.cut_short}, holes {self.holes}, made again: {twice}; "
            f"unknown outcomes {self.unknown}, all asked about; longest silence of a run {self.longest_silence:.1f} s, "
            f"longest drain {self.longest_drain:.1f} s; broken promises {len(self.wrong)}"
        )


def wrong_in(history: History) -> list[str]:
    """What a whole history must not have."""
    events = [json.loads(data) for _, data in sorted(history.events.items())]
    kinds = Counter(event["type"] for event in events)
    wrong = []
    if kinds["start"] != kinds["done"] + kinds["error"]:
        wrong.append(f"{kinds['start']} starts, {kinds['done']} + {kinds['error']} ends")
    ends = [
        event
        for event in events
        if event["type"] == "error" or event["metadata"].get("reason", "paused") != "paused"
    ]
    if len(ends) != 1 or ends[0] is not events[-1] or ends[0]["type"] == "error":
        wrong.append(f"it ends with {[event['content'] for event in ends]}")
    steps = Counter(
        (e["metadata"]["agent_id"], e["metadata"].get("round"), e["type"])
        for e in events
        if e["type"] in ("agent_start", "agent_response")
    )
    # d speaks once before its pause, and once behind it, in rounds that count anew
    wrong += [
        f"{step} was published {times} times"
        for step, times in steps.items()
        if times > (2 if step[0] == "d" else 1)
    ]
    results = Counter(e["metadata"]["call_id"] for e in events if e["type"] == "tool_result")
    wrong += [f"call {call} has {times} results" for call, times in results.items() if times > 1]
    calls = [
        call["call_id"]
        for e in events
        if e["type"] == "agent_response"
        for call in e["metadata"]["tool_calls"]
    ]
    if set(calls) != set(results):
        wrong.append("not every call has its result")
    # a call that may have acted is asked about: a person alone leaves it without its own result
    failed = [
        e["metadata"]
        for e in events
        if e["type"] == "tool_result" and e["metadata"]["status"] != "success"
    ]
    # and one that is denied is not made
    if len(failed) > history.decided["skip"] + (history.verdict == "deny"):
        wrong.append(f"calls failed without a person's word: {failed}")
    starts = Counter(e["metadata"]["call_id"] for e in events if e["type"] == "tool_start")
    retried = history.decided["retry"]
    if sum(times - 1 for times in starts.values()) > retried:
        wrong.append("a tool_start was published again, unasked")
    if wrong:
        received = [
            (
                e["metadata"]["seq"],
                e["type"],
                e["metadata"]["agent_id"],
                e["metadata"].get("round"),
                e["content"][:40],
            )
            for e in events
        ]
        wrong.append(f"its history: {received}")
    return [f"{history.key}: {what}" for what in wrong]


def wrong_in_poison(history: History, claims: int) -> list[str]:
    """What the history of a run that ends its processes must not have."""
    if claims > MAX_RECOVERIES:
        return [f"{history.key}: it was claimed {claims} times"]
    last = json.loads(history.events[max(history.events)])
    if last["type"] == "error" and last["metadata"]["reason"] == "crashed":
        return []
    return [f"{history.key}: it ends its process, and itself with {last['content'][:80]}"]
