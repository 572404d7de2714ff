"""Whether a run has ended process after process, and at which step; pure."""

from crew.crew import Crew
from crew.engine.approvals import find_question
from crew.journal.branches import Branch
from crew.journal.state import RunState


def crash(state: RunState, crew: Crew, claims: int) -> str | None:
    """Return why a run must not go on; None if it may, or if a person decides on it.

    Args:
        state: of the run as stored.
        crew: its agents and limits.
        claims: how often the run was claimed since its newest event.
    """
    limit = crew.limits.max_recoveries
    if claims <= limit:
        return None
    branches = [one for one in state.branches if one.agent_id in crew.agents]
    found = find_question(branches, crew.agents, state, crew.secrets)
    if state.decided is None and found is not None and found[1].kind == "unknown_outcome":
        return None
    step = " and ".join(_step(branch, crew) for branch in _at_work(state.branches))
    text = f"the process of this run ended {limit} times while {step or 'no agent was at work'}"
    return f"{text}; settings.max_recoveries = {limit}"


def _at_work(branches: list[Branch]) -> list[Branch]:
    """Find the call that ends a process, if there is one."""
    calling = [branch for branch in branches if branch.started_calls]
    return calling or [branch for branch in branches if branch.speaking]


def _step(branch: Branch, crew: Crew) -> str:
    name = crew.name_of(branch.agent_id)
    tools = [call.tool for call in branch.open_calls if call.id in branch.started_calls]
    return (
        f"{name} called {', '.join(tools)}" if tools else f"{name} spoke in round {branch.rounds}"
    )
