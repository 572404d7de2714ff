"""What a call needs before it is paid from a pot, and the question where it is not."""

from collections.abc import Sequence
from dataclasses import replace

from agents.agent import Agent
from agents.costs.prices import nanos_of
from agents.costs.refusal import BudgetRefusal
from agents.costs.usage import NANOS
from agents.errors import BudgetExceeded
from agents.model import PaidAttempt
from crew.budgets.estimates import EXPECTED_TOKENS
from crew.budgets.rules import OF_REQUEST, Budget, BudgetLimits, Pot
from crew.journal.query import BUDGET_CALL, Query
from crew.journal.questions import BudgetQuestion, PendingCall
from tools.calls import ToolCall

# that a person may give a pot at once
MOST_USD, MOST_TOKENS = 1e6, 10**12
# of an approval that gives nothing more
AGAIN = "again"


def bound_of_request(query: Query) -> Budget | None:
    """Return the bound that a request has set for its run, if it has."""
    if query.max_usd is None:
        return None
    limits = BudgetLimits(nanos_of(query.max_usd))
    return Budget(OF_REQUEST, "run", "total", limits, "the request", warn=(), reserve="worst")


def with_bound(attempt: PaidAttempt, pots: Sequence[Pot]) -> PaidAttempt:
    """Return a call with the longest answer that it may have, where a budget needs one."""
    is_worst = any(one.budget.reserve == "worst" for one in pots)
    if is_worst and attempt.max_tokens is None:
        return replace(attempt, max_tokens=EXPECTED_TOKENS + attempt.thinking_tokens)
    return attempt


def require_price(attempt: PaidAttempt, pots: Sequence[Pot]) -> None:
    """Refuse a call the price of which is not known, where USD are bounded."""
    for one in pots:
        budget = one.budget
        if attempt.prices is not None or budget.limits.nanos is None or budget.then == "warn":
            continue
        text = f"budget {budget.name}: no file says what {attempt.provider}/{attempt.model} costs"
        key, limit = one.key, budget.limits.nanos / NANOS
        where = (budget.source, one.resets_at)
        raise BudgetExceeded(
            BudgetRefusal(*key, "block", f"{text} ({budget.source})", "USD", 0, limit, 0, *where)
        )


def models_offered(agent: Agent, refusal: BudgetRefusal, budgets: Sequence[Budget]) -> list[str]:
    """Return the models that may answer in place of an agent's own where a budget has no room.

    Of a limit of calls those alone that it does not count: the call of any other is one, too.
    """
    full = [one for one in budgets if one.name == refusal.budget and refusal.unit == "calls"]
    names = list(agent.by_client_model)
    return [name for name in names if not any(one.counts(agent.id, name) for one in full)]


def budget_question(agent_id: str, refusal: BudgetRefusal, models: Sequence[str]) -> BudgetQuestion:
    """Return the question to a person where a budget has no room.

    Args:
        agent_id: who would have called its model.
        refusal: why that was not done.
        models: that may answer in place of its own.
    """
    shown = {
        "budget": refusal.budget,
        "pot": refusal.value,
        "used": round(refusal.used, 9),
        "limit": round(refusal.limit, 9),
        "wants": round(refusal.wants, 9),
        "unit": refusal.unit,
    }
    names = sorted(models)
    amount = {"type": "number", "exclusiveMinimum": 0, "maximum": MOST_USD}
    properties: dict[str, object] = {
        "usd": {**amount, "description": "USD more for this pot."},
        "tokens": {
            "type": "integer",
            "minimum": 1,
            "maximum": MOST_TOKENS,
            "description": "Tokens more for it.",
        },
        AGAIN: {"type": "boolean", "description": "It has room by now: try the call again."},
        "for": {
            "enum": ["this", "all"],
            "description": "This run, or all that wait at the same pot.",
        },
    }
    # more of another kind makes no room; nor does any of calls
    for unit, key in (("USD", "usd"), ("tokens", "tokens")):
        if refusal.unit != unit:
            del properties[key]
    if names:
        text = "Answers in place of the agents' own, for the rest of the run."
        properties["model"] = {"type": "string", "enum": names, "description": text}
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    schema["minProperties"] = 1
    call = ToolCall(BUDGET_CALL, BUDGET_CALL, shown)
    asked = PendingCall(agent_id, call, source=BUDGET_CALL, schema=schema, may=BudgetQuestion.usual)
    return BudgetQuestion((asked,), refusal)
