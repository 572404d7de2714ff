"""The agents of a crew."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

from pydantic_core import to_json

from agents.agent import Agent, KeptAnswers
from agents.config import AgentConfig, ModelConfig
from agents.dialects.chat.messages import tool_form
from agents.errors import ProviderError
from agents.helper import Helper
from agents.limits import AUTO, NO_LIMITS, NO_TOOLS, ToolChoice, TurnLimits
from agents.model import ToolDefinition
from agents.outputs.plans import PlanRules, plan_schema
from agents.outputs.typed import TypedOutput
from agents.providers.catalog import Catalog
from agents.tokenizing.tokens import Tokenizer
from crew.assembly.contexts import make_context, over_window
from crew.assembly.given import Given
from crew.assembly.models import ModelUse, make_model
from crew.assembly.prompts import make_prompt, text_call_hint
from crew.assembly.tokenizers import tokenizer_of
from crew.assembly.tools import tool_limits
from crew.config.costs.budgets import other_models
from crew.config.crew_files import CrewFiles
from crew.config.keys.crew_file import CrewConfig, CrewSettings
from crew.config.keys.models import models_of, primary_of
from crew.config.problems import Problem
from crew.config.routing_plan import is_terminal
from crew.config.untrusted import notes_untrusted
from crew.routing.rules import Routing
from crew.routing.signals import escape
from tools.definition import Tool
from tools.executor import ToolExecutor
from tools.limits.results import KeptResults
from tools.search import TOOL_SEARCH, search_tool
from tools.text.secrets import Secrets
from tools.text.texts import map_texts
from tools.toolbox import Toolbox

# of the tools of an agent, as JSON: with more it is given a tool that finds them
MAX_SHOWN_CHARS = 20_000


def make_agents(
    given: Given,
    files: CrewFiles,
    routing: Routing,
    tools: Toolbox,
    catalog: Catalog,
    helpers: Mapping[str, Helper],
    tokenizers: Mapping[str, Tokenizer],
) -> tuple[dict[str, Agent], list[Problem]]:
    """Make the crew's agents, and what is wrong with any.

    Args:
        given: what the program gives.
        files: a crew without errors.
        routing: its routing.
        tools: what `make_tools` made.
        catalog: makes the models, and owns their clients.
        helpers: by name.
        tokenizers: of the models that have one, by their names.
    """
    crew = files.crew
    assert crew is not None, "a crew with errors is not assembled"
    executor = ToolExecutor(
        tool_limits(crew.settings), given.clock, given.find_secret, given.jitter
    )
    maker = _Maker(
        *(given, files, crew, routing, tools, catalog, helpers, tokenizers, executor),
        ModelUse.of(files),
    )
    agents: dict[str, Agent] = {}
    problems: list[Problem] = []
    for agent_id in crew.agents:
        config = files.agents[agent_id]
        try:
            agents[agent_id] = maker.make_all(config)
        except ProviderError as error:
            text = f"agent {agent_id}: {error}"
            document = files.agent_files[agent_id]
            place = primary_of(config, crew.models).place
            problems.append(document.problem(place, "provider", text))
    return agents, problems


@dataclass(frozen=True, slots=True)
class _Maker:
    """What all agents of a crew are made of."""

    given: Given
    files: CrewFiles
    crew: CrewConfig
    routing: Routing
    tools: Toolbox
    catalog: Catalog
    helpers: Mapping[str, Helper]
    tokenizers: Mapping[str, Tokenizer]
    executor: ToolExecutor
    use: ModelUse

    def make_all(self, config: AgentConfig) -> Agent:
        """Make an agent, and the same with each model that a request may name.

        Raises:
            ProviderError: a provider cannot be used.
        """
        agent = self.make(config)
        if not (config.model_from_client or self.crew.budgets):
            return agent
        others = with_client_models(config, self.crew)
        return replace(agent, by_client_model={name: self.make(one) for name, one in others})

    def make(self, config: AgentConfig) -> Agent:
        """Make an agent; raises ProviderError."""
        given, crew = self.given, self.crew
        settings = crew.settings
        own_tools = self.tools.named(config.tool_names)
        chosen = list(models_of(config, crew.models))
        tokenizer = tokenizer_of(chosen[0], self.tokenizers)
        model = make_model(config.id, config, chosen, self.catalog, given, self.use)
        definitions = _tool_definitions(config, own_tools, given.secrets, tokenizer)
        finders = {}
        if _searches(settings, definitions):
            finders = {TOOL_SEARCH: search_tool(own_tools.values())}
            definitions |= _tool_definitions(config, finders, given.secrets, tokenizer)
        context, texts = make_context(config, crew, self.files.context_texts, tokenizer)
        is_inline = context.summary is not None and context.summary.is_inline
        routes = self.routing.routes.get(config.id, ())
        terminal = is_terminal(self.files, config.id)
        plan = _plan_rules(self.files, crew, config)
        return Agent(
            id=config.id,
            name=config.name,
            role=config.role,
            description=config.description,
            prompt=make_prompt(config, settings, own_tools, routes, terminal, given, texts),
            model=model,
            tools={**finders, **own_tools},
            tool_definitions=definitions,
            tool_call_mode=config.tool_call_mode,
            text_call_hint=text_call_hint(config, own_tools),
            max_calls=settings.max_calls_per_answer,
            escape_signals=partial(escape, [route.signal for route in routes]),
            executor=self.executor,
            temperature=config.temperature,
            top_p=config.top_p,
            max_tokens=config.max_tokens,
            context=context,
            compactor=self.helpers.get("summary") if is_inline else None,
            token_ratios=given.token_ratios,
            allow_client_system=settings.allow_client_system,
            clock=given.clock,
            limits=_turn_limits(config, settings),
            output=_typed_output(self.files, config, plan),
            plan=plan,
            agent_tools=frozenset(one.name for one in own_tools.values() if one.agent_id),
            kept=_kept_answers(config, given),
            documents=tuple(config.documents),
            after_untrusted=settings.after_untrusted if notes_untrusted(self.files) else None,
            prices=tuple(self.use.prices(config, one) for one in chosen),
        )


def with_client_models(config: AgentConfig, crew: CrewConfig) -> Iterator[tuple[str, AgentConfig]]:
    """Yield an agent with each model that a request or a budget may name, and that name."""
    named = crew.settings.client_models if config.model_from_client else ()
    for name in dict.fromkeys((*named, *other_models(crew, config))):
        yield name, config.model_copy(update={"primary": ModelConfig(model=name)})


def _kept_answers(config: AgentConfig, given: Given) -> KeptAnswers | None:
    if config.cache is None:
        return None
    return KeptAnswers(config.cache.seconds, KeptResults(given.clock, config.cache.entries))


def _turn_limits(config: AgentConfig, settings: CrewSettings) -> TurnLimits:
    given = config.tool_choice
    fixed = {"auto": AUTO, "none": NO_TOOLS, "required": ToolChoice("required")}
    choice = fixed[given] if isinstance(given, str) else ToolChoice("tool", given.tool)
    answers = config.on_limit == "answer"
    most = config.max_rounds
    if most is None and answers:
        # the run's own limit would end it before it has answered
        most = settings.max_rounds
    limits = TurnLimits(
        most,
        answers,
        choice,
        settings.max_failed_sequences,
        settings.max_same_calls,
    )
    # looked at with each call of a model
    return NO_LIMITS if limits == NO_LIMITS else limits


def _plan_rules(files: CrewFiles, crew: CrewConfig, config: AgentConfig) -> PlanRules | None:
    given = config.plan
    if given is None:
        return None
    workers = {name: files.agents[name] for name in given.workers}
    seconds = given.timeout_seconds or crew.settings.parallel_timeout_seconds
    return PlanRules(
        {name: one.description or one.role for name, one in workers.items()},
        given.max_tasks,
        given.at_once,
        seconds,
        given.replan,
        given.approve,
    )


def _typed_output(
    files: CrewFiles, config: AgentConfig, plan: PlanRules | None
) -> TypedOutput | None:
    if plan is not None:
        schema = plan_schema(plan)
        return TypedOutput(config.id, schema, {}, config.output_retries, plan=plan)
    own = files.outputs.get(config.id)
    if own is None:
        return None
    words = {name: files.vocabularies[name] for name in own.vocabularies}
    return TypedOutput(config.id, own, words, config.output_retries, config.output_text)


def check_windows(
    given: Given,
    files: CrewFiles,
    routing: Routing,
    tools: Toolbox,
    tokenizers: Mapping[str, Tokenizer],
) -> list[Problem]:
    """Return errors where what an agent is always shown is over its window.

    Of a crew without others.
    """
    crew = files.crew
    assert crew is not None, "only of a crew without errors"
    problems: list[Problem] = []
    configs = [files.agents[agent_id] for agent_id in crew.agents]
    others = [one for config in configs for _, one in with_client_models(config, crew)]
    for config in (*configs, *others):
        own_tools = tools.named(config.tool_names)
        tokenizer = tokenizer_of(primary_of(config, crew.models), tokenizers)
        _, texts = make_context(config, crew, files.context_texts, tokenizer)
        routes = routing.routes.get(config.id, ())
        terminal = is_terminal(files, config.id)
        prompt = make_prompt(config, crew.settings, own_tools, routes, terminal, given, texts)
        definitions = _tool_definitions(config, own_tools, given.secrets, tokenizer)
        if _searches(crew.settings, definitions):
            definitions = {}
        tools_tokens = sum(one.tokens for one in definitions.values())
        problems += over_window(files, config, tokenizer.count(prompt.text()), tools_tokens)
    return problems


def _tool_definitions(
    config: AgentConfig, tools: Mapping[str, Tool], secrets: Secrets, tokenizer: Tokenizer
) -> dict[str, ToolDefinition]:
    """Return the tools as models are shown them; none for calls in text."""
    if config.tool_call_mode == "text":
        return {}
    definitions = {}
    for tool in tools.values():
        texts = tool.name, tool.description, tool.parameters
        shown = ToolDefinition(*map_texts(list(texts), secrets.mask))
        shown.tokens = tokenizer.count(to_json(tool_form(shown)).decode())
        definitions[tool.name] = shown
    return definitions


def _searches(settings: CrewSettings, definitions: Mapping[str, ToolDefinition]) -> bool:
    """Return whether an agent is to find its tools, instead of being shown them all."""
    if settings.tool_search == "auto":
        chars = sum(len(to_json(tool_form(one)).decode()) for one in definitions.values())
        return chars > MAX_SHOWN_CHARS
    return settings.tool_search == "always" and bool(definitions)
