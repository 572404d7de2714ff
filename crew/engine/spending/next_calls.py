"""What the next call of a run takes at least, before the run begins or goes on."""

from dataclasses import dataclass

from agents.agent import Agent
from crew.budgets.estimates import (
    KNOWN_ANSWERS,
    AnswerLengths,
    Estimate,
    estimate,
    input_tokens,
    output_tokens,
)
from crew.budgets.room import LEAST_OUTPUT
from crew.budgets.rules import Budget
from crew.crew import Crew
from crew.journal.records.spent.budgets import NO_BUDGET
from crew.journal.state import RunState
from crew.journal.store import RunStore


@dataclass(frozen=True, slots=True)
class NextCall:
    """The call of a model that a run begins or goes on with."""

    agent_id: str
    # the question of the run
    text: str
    # in place of the agent's own; "" for none
    model: str = ""

    @classmethod
    def of(cls, state: RunState, crew: Crew) -> "NextCall | None":
        """Return it for a run that goes on; None: another step comes first, or others work."""
        main = state.main
        is_other = main.agent_id not in crew.agents or state.plan is not None or state.expired
        if is_other or main.calls or main.invalid or main.answer is not None:
            return None
        if state.budget != NO_BUDGET:
            return None
        return cls(main.agent_id, state.query.text, state.query.model)


async def know_lengths(store: RunStore, lengths: AnswerLengths, key: tuple[str, str, str]) -> None:
    """Read once how long answers were; raises StoreError.

    Args:
        store: has the answers.
        lengths: gets them.
        key: the agent, the provider and the model.
    """
    if key not in lengths.filled:
        lengths.fill(key, await store.costs.answer_tokens(*key, KNOWN_ANSWERS))


def least_of_call(agent: Agent, text: str, budget: Budget, lengths: AnswerLengths) -> Estimate:
    """Return what a call for a question takes at least: no call that a budget allows takes less.

    Its prompt, its tools and the question go in. What is said before, and what is remembered, may
    come to that.

    Args:
        agent: makes the call.
        text: the question.
        budget: reserves for it.
        lengths: of answers, as far as they are known.
    """
    tokenizer = agent.context.tokenizer
    counted = tokenizer.count_message(agent.prompt.text()) + tokenizer.count_message(text)
    counted += sum(one.tokens for one in agent.shown_tools(()))
    # more than the window is left out
    counted = min(counted, agent.context.window_tokens)
    come_in = input_tokens(counted, is_exact=tokenizer.is_exact)
    made = []
    for endpoint, prices in zip(agent.model.endpoints, agent.prices, strict=False):
        likely = lengths.likely((agent.id, *endpoint))
        output = min(LEAST_OUTPUT, output_tokens(budget.reserve, agent.max_tokens, likely))
        made.append(estimate(come_in, output, prices))
    # of a model and its backup either may answer
    output = min((one.output for one in made), default=0)
    return Estimate(come_in, output, min((one.nanos or 0 for one in made), default=0))
