"""The parts of a run: its own branch, members of a group, tasks of a plan, agents as tools."""

from typing import Protocol

from agents.events import AgentResponded, AgentStarted, Compacted, ToolReturned, ToolStarted, Warned
from agents.messages import AgentMessage, CompactedMessage
from crew.journal.branches import Branch, GroupState
from crew.journal.planned.plans import PlanState

BranchEvent = AgentStarted | AgentResponded | ToolStarted | ToolReturned | Compacted


class RunParts(Protocol):
    """What a run is made of."""

    # its own branch
    main: Branch
    # that was entered
    group: GroupState | None
    # that was made
    plan: PlanState | None
    # agents as tools, by the calls of other branches
    inner: dict[str, Branch]


def calls_of(plan: PlanState | None, group: GroupState | None) -> set[str]:
    """Return the ids of all calls that tasks of a plan, or members of a group, have made."""
    if plan is None and group is None:
        return set()
    parts = [part.members.values() for part in (plan, group) if part is not None]
    messages = [one for part in parts for branch in part for one in branch.history]
    ids = {call.id for one in messages if isinstance(one, AgentMessage) for call in one.calls}
    return ids.union(*(one.call_ids for one in messages if isinstance(one, CompactedMessage)))


def leading_branches(parts: RunParts) -> list[Branch]:
    """Return the branches that may go on now, without agents as tools."""
    group, plan = parts.group, parts.plan
    if plan is not None and plan.is_working:
        return plan.branches
    if group is None or group.ended:
        return [parts.main]
    members = group.members.values()
    return [branch for branch in members if branch.answer is None and branch.failed is None]


def works_in_parts(parts: RunParts) -> bool:
    """Return whether a group, or a plan, is at work."""
    group, plan = parts.group, parts.plan
    return (plan is not None and plan.is_working) or (group is not None and not group.ended)


def open_branches(parts: RunParts) -> list[Branch]:
    """Return the branches that may go on now."""
    out, inner = leading_branches(parts), parts.inner
    if not inner:
        return out
    keys = [branch.key_of(call.id) for branch in out for call in branch.open_calls]
    working = [inner[key] for key in keys if key in inner]
    return [*out, *(one for one in working if one.answer is None and one.failed is None)]


def branch_of(event: BranchEvent | Warned, agent_id: str, parts: RunParts) -> Branch:
    """Return the branch that an event of an agent belongs to."""
    if event.within:
        return parts.inner[event.within]
    if event.task and parts.plan is not None:
        return parts.plan.members[event.task]
    if event.group is None or parts.group is None:
        return parts.main
    return parts.group.members[agent_id]
