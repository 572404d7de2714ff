"""Agents that plan, and who works for them."""

from collections.abc import Iterator, Mapping

from agents.config import AgentConfig, PlanConfig
from crew.config.checks.references import known_agents, unknown_name
from crew.config.crew_files import CrewFiles
from crew.config.files.document import Document
from crew.config.keys.crew_file import CrewConfig
from crew.config.problems import Problem
from crew.config.routing_plan import agents_as_tools
from tools.config import AgentTool

# of an agent, what a plan stands in place of
IN_PLACE_OF = ("output", "output_text", "cache")


def check_plans(
    files: CrewFiles, crew: CrewConfig, tools: Mapping[str, object]
) -> Iterator[Problem]:
    """Yield what is wrong with plans.

    Args:
        files: what was read.
        crew: of crew.yaml.
        tools: by name; each says by `effect` what it does and by `approval` who decides.
    """
    for agent_id in crew.agents:
        agent = files.agents.get(agent_id)
        if agent is None or agent.plan is None:
            continue
        document = files.agent_files[agent_id]
        for key in IN_PLACE_OF:
            if key in agent.model_fields_set and getattr(agent, key) is not None:
                text = f"{agent_id} has a plan, which is its typed answer; remove {key}, or plan"
                yield document.problem((key,), "plan-output", text, key=True)
        yield from _check_workers(files, crew, agent, agent.plan, document)
        yield from _check_tools(files, agent.plan, document, tools)
    for group, config in crew.routing.parallel_groups.items():
        for place, name in enumerate(config.agents):
            if (one := files.agents.get(name)) is not None and one.plan is not None:
                text = f"{name} plans; a member of a group cannot"
                path = ("routing", "parallel_groups", group, "agents", place)
                yield files.crew_document.problem(path, "plan-worker", text)
    yield from _check_agent_tools(files, crew)


def _check_agent_tools(files: CrewFiles, crew: CrewConfig) -> Iterator[Problem]:
    """Yield agents as tools that are none, plan, or have agents as tools themselves."""
    workers = {
        name: one.id
        for one in files.agents.values()
        if one.plan is not None
        for name in one.plan.workers
    }
    for name, tool in files.tools.items():
        if not isinstance(tool, AgentTool):
            continue
        document, path = files.tool_files[name], ("tools", name, "agent")
        known, agent = known_agents(files, crew), files.agents.get(tool.agent)
        if tool.agent not in known:
            yield unknown_name(document, path, "agent", tool.agent, known)
        elif agent is not None and agent.plan is not None:
            text = f"{tool.agent} plans; an agent as a tool has no plan"
            yield document.problem(path, "agent-tool-nested", text)
        elif nested := agents_as_tools(files, tool.agent):
            text = f"{tool.agent} has agents as tools itself ({', '.join(nested)})"
            yield document.problem(path, "agent-tool-nested", text)
    for worker, planner in workers.items():
        if nested := agents_as_tools(files, worker):
            text = f"{worker} works for {planner}, and has agents as tools ({', '.join(nested)})"
            yield files.agent_files[worker].problem(("tools",), "agent-tool-nested", text)


def _check_workers(
    files: CrewFiles, crew: CrewConfig, agent: AgentConfig, plan: PlanConfig, document: Document
) -> Iterator[Problem]:
    known = known_agents(files, crew)
    for place, name in enumerate(plan.workers):
        path, near = ("plan", "workers", place), None
        worker = files.agents.get(name)
        if name == agent.id:
            text = f"{name} cannot work for its own plan"
        elif name not in known:
            near = document.near(name, known)
            text = f"there is no agent {name!r}"
        elif worker is not None and worker.plan is not None:
            text = f"{name} plans itself; a worker has no plan"
        elif name in plan.workers[:place]:
            text = f"{name} is named twice"
        else:
            continue
        yield document.problem(path, "plan-worker", text, suggestion=near)


def _check_tools(
    files: CrewFiles, plan: PlanConfig, document: Document, tools: Mapping[str, object]
) -> Iterator[Problem]:
    """Yield workers with tools that act once, on which no person decides."""
    for place, name in enumerate(plan.workers):
        worker = files.agents.get(name)
        for tool in worker.tools if worker is not None else ():
            made = tools.get(tool)
            if getattr(made, "effect", None) == "once" and not getattr(made, "approval", None):
                text = f"{name} may call {tool}, which acts once and asks no person; a model"
                text = f"{text} decides how many tasks call it: give it requires_approval"
                path = ("plan", "workers", place)
                yield document.problem(path, "unguarded-plan", text)
