"""Which step a run was in when its process ended: what the error of a crashed run names; pure."""

from collections.abc import Callable

from crew.journal.state import Branch, RunState


def step_under_way(state: RunState, name_of: Callable[[str], str]) -> str:
    """The step in words, such as "Ops called restart".

    Args:
        state: of the run as stored.
        name_of: an agent's display name.
    """
    branches = state.branches
    calling = [branch for branch in branches if branch.started_calls]
    speaking = [branch for branch in branches if branch.speaking]
    # a call is what ends a process, if there is one
    found = calling or speaking or branches[:1]
    if not found:
        return "no agent was at work"
    return " and ".join(f"{name_of(one.agent_id)} {_does(one)}" for one in found)


def _does(branch: Branch) -> str:
    if branch.started_calls:
        tools = [call.tool for call in branch.open_calls if call.id in branch.started_calls]
        return f"called {', '.join(tools)}"
    return f"spoke in round {branch.rounds}" if branch.speaking else "was at work"
