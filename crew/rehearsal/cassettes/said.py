"""A cassette as the keys of a rehearsal: its query, and what the world has said."""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Any

from agents.errors import RETRYABLE
from crew.rehearsal.cassettes.lines import (
    AnsweredLine,
    Cassette,
    FailedLine,
    PersonLine,
    ReturnedLine,
    SaidDecision,
    SegmentLine,
)
from crew.rehearsal.keys.results import KEYS

# longer than any deadline of a run
NEVER_SECONDS = 604_800
UNKNOWN = "what it returned is not recorded"


def said_in(cassette: Cassette, *, exact: bool) -> dict[str, Any]:
    """Return the keys of a rehearsal: query, at, says, returns, answers, faults.

    Args:
        cassette: the run.
        exact: with tokens, and the time that each answer took; else what people want to read.
    """
    found: dict[str, Any] = {"at": cassette.header.at}
    says: dict[str, list[Any]] = defaultdict(list)
    # by tool, with the place of the call: they are used in the order in which calls begin
    returned: dict[str, list[tuple[int, ReturnedLine]]] = defaultdict(list)
    places: dict[tuple[str, str], int] = {}
    arguments: dict[tuple[str, str], dict[str, Any]] = {}
    answers: list[Any] = []
    faults: list[dict[str, Any]] = []
    for place, line in enumerate(cassette.lines):
        match line:
            case SegmentLine(query=query, killed=killed):
                if query is not None:
                    keys = query.model_dump(exclude_defaults=True)
                    found["query"] = query.text if set(keys) == {"text"} else keys
                if killed is not None:
                    tool, nth = killed
                    fault = {"kill": "during", "event": "tool_start", "tool": tool}
                    faults.append({**fault, "nth": nth} if nth > 1 else fault)
            case AnsweredLine():
                says[line.agent].append(_answer(line, exact=exact))
            case FailedLine():
                says[line.agent].append(_failure(line, exact=exact))
            case ReturnedLine(by="tool", tool=tool):
                returned[tool].append((places.get((line.agent, line.id), place), line))
            case PersonLine():
                answers += _persons(line, exact=exact)
            case other:
                if other.type == "called":
                    arguments[other.agent, other.id] = other.arguments
                    places[other.agent, other.id] = place
    found["says"] = dict(says)
    found["returns"] = {}
    for tool, placed in returned.items():
        lines = [line for _, line in sorted(placed, key=itemgetter(0))]
        given = [arguments.get((one.agent, one.id), {}) for one in lines]
        found["returns"][tool] = _results(lines, given, exact=exact)
    for fault in faults:
        # it was called, and what it has returned is not known
        found["returns"].setdefault(fault["tool"], UNKNOWN)
    found["answers"], found["faults"] = answers, faults
    return {key: value for key, value in found.items() if value or key == "query"}


def _answer(line: AnsweredLine, *, exact: bool) -> Any:
    keys: dict[str, Any] = {"say": line.say} if line.say or not line.calls else {}
    if line.calls:
        keys["calls"] = [
            {"tool": one.tool, "arguments": one.arguments} if one.arguments else one.tool
            for one in line.calls
        ]
    if exact:
        keys |= {"seconds": line.seconds} if line.seconds else {}
        keys |= {"usage": line.usage.model_dump()} if line.usage else {}
    return line.say if set(keys) == {"say"} else keys


def _failure(line: FailedLine, *, exact: bool) -> dict[str, Any]:
    if line.code is None:
        return {"say": "It comes too late.", "seconds": NEVER_SECONDS}
    keys: dict[str, Any] = {"fail": line.code}
    if exact and line.seconds:
        keys["seconds"] = line.seconds
    if line.is_last and line.code in RETRYABLE:
        # the retries after it fail, too
        keys["times"] = "any"
    return keys


def _results(
    lines: Sequence[ReturnedLine], arguments: Sequence[dict[str, Any]], *, exact: bool
) -> Any:
    """Return the results of a tool: one for all its calls, where each has the same."""
    every = [list(_attempts(one, exact=exact)) for one in lines]
    if all(one == every[0] for one in every) and len(every[0]) == 1:
        (only,) = every[0]
        return only
    is_mixed = len({str(one) for one in arguments}) > 1
    found = []
    for given, attempts in zip(arguments, every, strict=True):
        for one in attempts:
            keys = one if isinstance(one, dict) and set(one) <= KEYS and one else {"output": one}
            # calls of one answer, and of a group, may be made in another order
            found.append({**keys, "with": given} if is_mixed and given else one)
    return found


def _attempts(line: ReturnedLine, *, exact: bool) -> Iterator[Any]:
    keys: dict[str, Any] = {"seconds": line.seconds} if exact and line.seconds else {}
    unsent = {"sent": False} if line.failed_unsent else {}
    for error in line.failed:
        yield {"temporary": error, **unsent, **keys}
    if line.form is not None:
        keys["form"] = line.form.model_dump(exclude_defaults=True)
    if line.status == "timeout":
        yield {**keys, "hang": True}
    elif line.status == "error":
        sent = {} if line.sent is None else {"sent": line.sent}
        yield {**keys, "error": line.output, **sent}
    elif keys or isinstance(line.output, dict | list):
        yield {"output": line.output, **keys}
    else:
        yield line.output


def _persons(line: PersonLine, *, exact: bool) -> Iterator[Any]:
    if line.expired:
        yield {"nobody": math.ceil(line.waited) + 1}
        return
    rest: dict[str, Any] = {"by": line.by} if line.by else {}
    if exact and line.waited >= 1:
        rest["after"] = round(line.waited, 3)
    if not line.decisions:
        yield {"say": line.text, **rest} if rest else line.text
        return
    every = [_deed(one) for one in line.decisions]
    if all(one == every[0] for one in every):
        yield {**every[0], **rest}
        return
    for number, (one, deed) in enumerate(zip(line.decisions, every, strict=True)):
        yield {**deed, "call": one.tool, **(rest if number == 0 else {})}


def _deed(one: SaidDecision) -> dict[str, Any]:
    match one.decision:
        case "approve" if one.arguments is not None:
            return {"form" if one.is_form else "edit": one.arguments}
        case "approve":
            return {"approve": True, **({"remember": one.remember} if one.remember else {})}
        case "deny":
            return {"deny": one.reason or True}
        case "done":
            return {"done": one.result}
        case other:
            return {other: True}
