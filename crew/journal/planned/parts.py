"""The parts of a run: its own branch, members of a group, tasks of a plan, agents as tools."""

from collections.abc import Mapping

from agents.events import AgentResponded, AgentStarted, Compacted, ToolReturned, ToolStarted, Warned
from crew.journal.branches import Branch, GroupState
from crew.journal.planned.plans import PlanState

BranchEvent = AgentStarted | AgentResponded | ToolStarted | ToolReturned | Compacted


def open_branches(
    main: Branch, group: GroupState | None, plan: PlanState | None, inner: Mapping[str, Branch]
) -> list[Branch]:
    """Return the branches that may go on now.

    Args:
        main: the run's own.
        group: that was entered.
        plan: that was made.
        inner: agents as tools, by the calls of other branches.
    """
    if plan is not None and plan.is_working:
        out = plan.branches
    elif group is None or group.ended:
        out = [main]
    else:
        members = group.members.values()
        out = [branch for branch in members if branch.answer is None and branch.failed is None]
    if not inner:
        return out
    keys = [branch.key_of(call.id) for branch in out for call in branch.open_calls]
    working = [inner[key] for key in keys if key in inner]
    return [*out, *(one for one in working if one.answer is None and one.failed is None)]


def branch_of(
    event: BranchEvent | Warned,
    agent_id: str,
    main: Branch,
    group: GroupState | None,
    plan: PlanState | None,
    inner: Mapping[str, Branch],
) -> Branch:
    """Return the branch that an event of an agent belongs to; see `open_branches`."""
    if event.within:
        return inner[event.within]
    if event.task and plan is not None:
        return plan.members[event.task]
    if event.group is None or group is None:
        return main
    return group.members[agent_id]
