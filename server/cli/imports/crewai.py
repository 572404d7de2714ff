"""crewAI's agents.yaml and tasks.yaml: one agent for each task, in the order of the tasks."""

import itertools
from pathlib import Path
from typing import Any

from server.cli.imports.draft import Draft
from server.cli.imports.foreign import Foreign, line_of, mapping
from server.cli.imports.models import meant_by
from server.cli.imports.texts import filled_in, id_of, is_filled_in, prompt_of
from server.cli.starting.starter import Made

AGENTS, TASKS = "agents.yaml", "tasks.yaml"
PYTHON = "it stands in that program's Python"
REVIEW = (
    "Show the person what you have, and change it as they say. When they are content, say [DONE]."
)


def crew_of_tasks(path: Path, foreign: Foreign) -> Made:
    """Return a crew of the tasks, each with the agent that does it.

    Of the agents alone without tasks.
    """
    own_tasks = _are_tasks(foreign)
    beside = path.with_name(AGENTS if own_tasks else TASKS)
    other = Foreign.at(beside) if beside.is_file() else None
    agents, tasks = (other, foreign) if own_tasks else (foreign, other)
    draft = Draft(id_of(path.absolute().parent.name), path.parent)
    people = agents.data if agents is not None else {}
    work = tasks.data if tasks is not None else {name: {"agent": name} for name in people}
    done = [_add(draft, agents, tasks, *one) for one in enumerate(work.items())]
    ids = list(draft.agents)
    for before, after in itertools.pairwise(ids):
        if draft.behaviors.get(before):
            draft.lead(before, "[DONE]", after, "the person is content")
        else:
            draft.defaults[before] = after
    last = ids[-1] if ids else ""
    if draft.behaviors.get(last):
        draft.lead(last, "[DONE]", None, "the person is content")
    elif last:
        draft.agents[last]["is_terminal"] = True
    for name in people:
        if agents is not None and name not in done:
            agents.left_out(name, why="no task is given to it in the files")
    return draft.made(*(one for one in (agents, tasks) if one is not None))


def _are_tasks(foreign: Foreign) -> bool:
    return any(isinstance(one, dict) and "expected_output" in one for one in foreign.data.values())


def _add(
    draft: Draft, agents: Foreign | None, tasks: Foreign | None, place: int, named: tuple[str, Any]
) -> str:
    """Add the agent of a task; the name of the agent that does it."""
    name, task = named
    task = mapping(task)
    people = agents.data if agents is not None else {}
    doer = str(task.get("agent") or "")
    if doer not in people and people:
        doer = list(people)[min(place, len(people) - 1)]
        if tasks is not None:
            why = f"no agent stands there: {doer} by its place; see the @task in that program"
            tasks.changed(name, why=why)
    person = mapping(people.get(doer))
    goal = f"Your goal: {person['goal']}" if person.get("goal") else ""
    asked = f"Your task: {task['description']}" if task.get("description") else ""
    wanted = f"Your answer: {task['expected_output']}" if task.get("expected_output") else ""
    reviewed = task.get("human_input") is True
    review = REVIEW if reviewed else ""
    prompt = prompt_of(person.get("backstory"), goal, asked, wanted, review)
    id_ = id_of(name, draft.agents)
    keys: dict[str, Any] = {
        "name": doer or name,
        "role": line_of(filled_in(person.get("role") or name)),
    }
    if agents is not None and person:
        keys |= _model(draft, agents, doer, person)
        for key in ("role", "goal", "backstory"):
            if key in person:
                agents.taken(doer, key)
        for key in ("tools", "function_calling_llm", "step_callback"):
            if key in person:
                agents.left_out(doer, key, why=PYTHON)
    foreign, own = (tasks, name) if tasks is not None else (agents, doer)
    assert foreign is not None, "one of both was read"
    draft.add(id_, {**keys, "system_prompt": prompt}, foreign, own)
    if reviewed:
        draft.behaviors[id_] = {"wait_for_signal": True}
    if tasks is not None:
        _say(tasks, name, task)
    return doer


def _say(tasks: Foreign, name: str, task: dict[str, Any]) -> None:
    for key in task:
        match key:
            case "description" | "expected_output" if is_filled_in(task[key]):
                tasks.changed(name, key, why="what is filled in there, the person says here")
            case "description" | "expected_output" | "agent":
                tasks.taken(name, key)
            case "human_input":
                tasks.changed(name, key, why="the run waits until the person is content")
            case "context":
                tasks.changed(name, key, why="each agent is shown all that was said before it")
            case "async_execution":
                tasks.left_out(name, key, why="done in order; see routing.parallel_groups")
            case "tools" | "callback" | "output_json" | "output_pydantic" | "guardrail":
                tasks.left_out(name, key, why=PYTHON)
            case _:
                # named as a whole with what is unknown
                pass


def _model(draft: Draft, agents: Foreign, name: str, person: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(person.get("llm"), str):
        return {}
    model = meant_by(person["llm"])
    if model.why:
        agents.changed(name, "llm", why=model.why)
    else:
        agents.taken(name, "llm")
    return draft.use(model)
