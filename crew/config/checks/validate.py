"""All checks between the files of a crew; each runs on whatever the files have right."""

from collections.abc import Mapping

from crew.config.checks.agents import check_agents
from crew.config.checks.costs.budgets import check_budgets
from crew.config.checks.costs.prices import check_prices
from crew.config.checks.models import check_models
from crew.config.checks.no_effect import find_no_effect
from crew.config.checks.outputs.fields import check_outputs
from crew.config.checks.outputs.plans import check_plans
from crew.config.checks.outputs.ways import check_output_use
from crew.config.checks.prompts import check_prompts
from crew.config.checks.references import check_references
from crew.config.checks.remembered.conversations import check_conversations
from crew.config.checks.remembered.documents import check_documents
from crew.config.checks.remembered.embeddings import check_embeddings
from crew.config.checks.remembered.memory import check_memory
from crew.config.checks.routing import check_graph, check_routes, is_routing_whole
from crew.config.checks.script import check_script
from crew.config.checks.signals import check_groups, check_signals
from crew.config.checks.thinking import check_thinking
from crew.config.checks.timeouts import check_timeouts
from crew.config.checks.tools import check_tools
from crew.config.checks.untrusted import check_untrusted
from crew.config.crew_files import CrewFiles
from crew.config.problems import Problem
from crew.config.routing_plan import entry_point, routing_of
from crew.routing.graph import RoutingGraph
from tools.toolbox import Toolbox


def validate_files(files: CrewFiles, tools: Toolbox) -> list[Problem]:
    """Return the problems between the files, beside those in each (`files.problems`).

    Args:
        files: what was read.
        tools: every tool that agents may name; built-in ones too.
    """
    crew = files.crew
    if crew is None:
        return []
    # a tool of the files that could not be made is known all the same
    known_tools: Mapping[str, object] = {**files.tools, **tools.names}
    problems = [
        *check_script(files, crew, tools),
        *check_references(files, crew),
        *check_agents(files, crew, known_tools, tools.sets),
        *check_models(files, crew),
        *check_prices(files, crew),
        *check_budgets(files, crew),
        *check_thinking(files, crew),
        *check_prompts(files, crew),
        *check_groups(files, crew),
        *check_signals(files, crew),
        *find_no_effect(files, crew, tools.sets),
        *check_tools(files, tools),
        *check_timeouts(files, crew),
        *check_conversations(files, crew),
        *check_memory(files, crew),
        *check_documents(files, crew),
        *check_embeddings(files, crew),
        *check_untrusted(files, crew, tools),
        *check_outputs(files, crew),
        *check_plans(files, crew, known_tools),
    ]
    if is_routing_whole(files, problems):
        graph = RoutingGraph.of(routing_of(files, known_tools), entry_point(files))
        problems += check_graph(files, crew, graph)
        problems += check_routes(files, crew, graph)
        problems += check_output_use(files, crew, graph)
    return problems
