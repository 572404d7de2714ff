"""The events of a run, one after the other, each with why it came; pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from agents.costs.usage import Usage
from agents.events import (
    AgentResponded,
    ContextShown,
    FailedRequest,
    ToolReturned,
    ToolStarted,
    Warned,
)
from crew.engine.groups import group_answers
from crew.engine.masking import masked_data
from crew.engine.members import as_answer
from crew.journal.events import (
    HandedOff,
    ParallelStarted,
    Paused,
    RunDone,
    RunFailed,
    RunResumed,
    RunStarted,
    StoredEvent,
    usage_with,
)
from crew.journal.questions import BudgetQuestion, RestoredQuestion
from crew.journal.records.spent.costs import CallRow
from crew.journal.state import RunState
from crew.why.asking import asking_rule, decided_by, decisions_made
from crew.why.places import DEFAULT, FilePlaces
from crew.why.rulings import group_rulings, rulings_of
from crew.why.steps import MatchedText, Ruling, WhyStep
from tools.text.secrets import Secrets

# less than that is no wait, in seconds
LEAST_WAIT = 0.01
# by the code of a warning, or the reason of an end: the setting that it is about
SETTINGS = {
    "max_handoffs": "max_handoffs",
    "max_rounds": "max_rounds",
    "timeout": "timeout_seconds",
    "crashed": "max_recoveries",
    "unplayable": "unplayable_after_seconds",
    "failed_sequences": "max_failed_sequences",
}
NOT_KEPT = "the files of the run are no longer kept"
# ends that rules decide
DECIDED_ENDS = ("terminal", "signal", "output", "no_next_agent")
# of a result that failed, in characters
MAX_TEXT = 200


@dataclass(frozen=True, slots=True)
class WhyMoment:
    """A stored event, its number, and when it was."""

    seq: int
    event: StoredEvent
    at: datetime


class Explainer:
    """Explains the events of one run."""

    def __init__(
        self, places: FilePlaces | None, calls: Sequence[CallRow], secrets: Secrets
    ) -> None:
        """Of a run.

        Args:
            places: in the files of its revision; None: they are no longer kept.
            calls: what its requests to models have cost.
            secrets: that are taken out of all texts.
        """
        self.places, self.secrets, self.mask = places, secrets, secrets.mask
        self.prices = {(one.seq, one.provider, one.model): one.price for one in calls}
        # a provider may answer under a longer name than the one that was asked
        self.by_provider = {(one.seq, one.provider): one.price for one in calls}
        # by the ids of its agent and its own: why a person was asked about a call
        self.asking: dict[tuple[str, str], Ruling] = {}
        # when a person has answered last
        self.answered_at: datetime | None = None

    def explain(self, state: RunState, moments: Sequence[WhyMoment]) -> Iterator[WhyStep]:
        """Yield why each event came, of those that follow from something.

        Args:
            state: of the run before its first event; it is brought to its end.
            moments: its events.
        """
        before: datetime | None = None
        for one in moments:
            step = self._step(state, one.event, one.at)
            if step is not None:
                seconds = (one.at - (before or one.at)).total_seconds()
                yield self._masked(replace(step, event=one.seq, seconds=seconds))
            before = one.at
            state.apply(one.event)

    def _masked(self, step: WhyStep) -> WhyStep:
        decided = [replace(one, because=self.mask(one.because)) for one in step.decided]
        facts = masked_data(step.facts, self.secrets)
        return replace(step, step=self.mask(step.step), decided=decided, facts=facts)

    def _step(self, state: RunState, event: StoredEvent, at: datetime) -> WhyStep | None:
        match event:
            case RunStarted():
                return WhyStep(f"{event.agent_id} begins")
            case HandedOff():
                return self._handoff(state, event)
            case Paused():
                return self._pause(state, event)
            case RunResumed() if not (event.expired or event.answer.says_something):
                return WhyStep("goes on, only to end")
            case RunResumed():
                return self._resumed(state, event, at)
            case RunDone():
                return self._end(state, event)
            case RunFailed():
                return self._failure(state, event)
            case ContextShown():
                return _shown(event)
            case AgentResponded():
                return self._answer(state, event)
            case ToolStarted():
                return self._call(event)
            case ToolReturned():
                return self._result(event)
            case Warned():
                text = f"warning {event.code}"
                if event.source is not None:
                    budget = Ruling("budget", True, event.message, event.source)
                    return WhyStep(text, limits=[budget])
                limits = self._settings(event.limit or event.code, event.agent_id)
                return WhyStep(text, [Ruling(event.code, True, event.message)], limits=limits)
            case ParallelStarted():
                return WhyStep(f"{event.group} begins: {', '.join(event.agents)}")
            case _:
                return None

    def _decision(
        self, state: RunState, recorded: Ruling
    ) -> tuple[list[Ruling], MatchedText | None]:
        """Apply the rules of the run's revision again; `recorded`: what its event says."""
        places = self.places
        if places is None:
            return [replace(recorded, because=f"{recorded.because}; {NOT_KEPT}")], None
        routing, main = places.routing, state.main
        if state.group is not None and state.group.ended:
            answers = dict(group_answers(state.group))
            found, matched = group_rulings(routing, state.group.name, answers, self.mask)
            if any(one.applied for one in found):
                return found, matched
            rules = routing.rules_after_group(state.origin)
        else:
            found, rules = [], routing.rules.get(main.agent_id, ())
        if not rules:
            return found, None
        more, matched = rulings_of(rules, as_answer(main), state.visited, self.mask)
        return [*found, *more], matched

    def _handoff(self, state: RunState, event: HandedOff) -> WhyStep:
        text = f"{event.from_} → {event.to}"
        if event.why in ("no_answer", "invalid"):
            reason = "no answer came in time" if event.why == "no_answer" else "no right answer"
            return WhyStep(text, decided=[Ruling(event.why, True, reason, event.source)])
        recorded = Ruling(event.why, True, event.signal or event.why, event.source)
        decided, matched = self._decision(state, recorded)
        facts = {"why": event.why, "signal": event.signal, "from": state.main.agent_id}
        return WhyStep(text, decided, matched, facts=_known(facts))

    def _pause(self, state: RunState, event: Paused) -> WhyStep:
        question, facts = event.question, _known({"until": event.until})
        if question is None:
            recorded = Ruling("wait_for_signal", True, "wait for a person", event.source)
            decided, matched = self._decision(state, recorded)
            facts["from"] = state.main.agent_id
            return WhyStep(f"{event.agent_id} waits for a person", decided, matched, facts=facts)
        if isinstance(question, BudgetQuestion):
            full = question.full
            ruling = Ruling(f"budget {full.budget}", True, full.text, full.source)
            return WhyStep("waits for more money, or tokens", limits=[ruling], facts=facts)
        if isinstance(question, RestoredQuestion):
            return WhyStep("waits, since its database was restored", facts={"text": question.text})
        asking = {
            (one.agent_id, one.call.id): asking_rule(one, question.kind, self.places)
            for one in question.calls
        }
        self.asking |= asking
        facts["from"] = event.agent_id
        return WhyStep("waits for a person's decision", list(asking.values()), facts=facts)

    def _resumed(self, state: RunState, event: RunResumed, at: datetime) -> WhyStep:
        self.answered_at, facts = at, _known({"by": event.answer.by or None})
        if event.expired:
            return WhyStep("goes on: no answer came in time", facts=facts)
        question = state.question
        decided = list(decisions_made(question, event.answer, at)) if question is not None else []
        return WhyStep("goes on: a person has answered", decided, facts=facts)

    def _end(self, state: RunState, event: RunDone) -> WhyStep | None:
        if event.reason == "paused":
            return None
        text, cost = f"ends: {event.reason}", _cost(usage_with(Usage(), event.failed))
        if event.reason in DECIDED_ENDS:
            recorded = Ruling(event.reason, True, "end the run", event.source)
            decided, matched = self._decision(state, recorded)
            facts = {"from": state.main.agent_id}
            return WhyStep(text, decided, matched, facts=facts, cost_usd=cost)
        limits = self._settings(event.reason, event.agent_id)
        if event.reason == "budget" and event.source is not None:
            limits = [Ruling("budget", True, "no room for another call", event.source)]
        facts = _known({"source": event.source, "from": state.main.agent_id})
        return WhyStep(text, limits=limits, facts=facts, cost_usd=cost)

    def _failure(self, state: RunState, event: RunFailed) -> WhyStep:
        limits, decided = self._settings(event.reason), [Ruling(event.code, True, event.message)]
        if event.source is not None:
            limits, decided = [Ruling("budget", True, event.message, event.source)], []
        attempts = [_attempt(one) for one in event.failed] or None
        return WhyStep(
            f"fails: {event.reason} ({event.code})",
            decided,
            limits=limits,
            facts=_known({"attempts": attempts, "from": event.agent_id or state.main.agent_id}),
            cost_usd=_cost(usage_with(Usage(), event.failed)),
        )

    def _answer(self, state: RunState, event: AgentResponded) -> WhyStep:
        usage = event.usage
        tokens = {"input": usage.prompt_tokens, "output": usage.completion_tokens}
        tokens |= dict(usage.parts)
        price = None
        for branch in state.branches:
            if branch.agent_id == event.agent_id:
                place = branch.started_seq, event.provider
                price = self.prices.get((*place, event.model), self.by_provider.get(place))
        facts = {
            "model": event.model,
            "provider": event.provider,
            "seconds": round(event.duration_seconds, 6),
            "first_token_seconds": event.first_token_seconds,
            "waited_seconds": event.waited_seconds if event.waited_seconds >= LEAST_WAIT else None,
            "tokens": {name: value for name, value in tokens.items() if value},
            "attempts": [_attempt(one) for one in event.failed] or None,
            "cached": event.cached or None,
            "price": price or None,
            "price_at": self._prices_at(event) if price == "models" else None,
            "invalid": list(event.invalid) or None,
        }
        calls = f", calls {', '.join(one.tool for one in event.calls)}" if event.calls else ""
        return WhyStep(
            f"{event.agent_id} answers{calls}",
            limits=self._settings(event.limit) if event.limit is not None else (),
            facts=_known(facts),
            cost_usd=_cost(usage_with(usage, event.failed)),
        )

    def _prices_at(self, event: AgentResponded) -> str | None:
        """Return the line of the prices by which an answer was counted."""
        return self.places.prices(event.provider, event.model) if self.places is not None else None

    def _call(self, event: ToolStarted) -> WhyStep:
        tool = event.call.tool
        source = self._tool(tool)
        decided = [Ruling("tool", True, tool, source)] if source is not None else []
        if self.places is None:
            decided = [Ruling("tool", True, f"{tool}; {NOT_KEPT}")]
        if event.grant:
            text = f"by grant {event.grant} of {event.approved_by or 'a person'}"
            decided.append(Ruling("approval", True, text))
        elif event.approved_by is not None:
            changed = ", with other arguments" if event.edited else ""
            asking = self.asking.get((event.agent_id, event.call.id))
            # approved earlier, for the rest of the run, where it was not asked about
            since = f" (asked: {asking.because})" if asking is not None else ""
            text = f"{decided_by(event.approved_by, self.answered_at)}{changed}{since}"
            at = asking.source if asking is not None else None
            decided.append(Ruling("approval", True, text, at))
        facts = {"timeout_seconds": event.timeout_seconds, "once": event.once}
        return WhyStep(f"{event.agent_id} calls {tool}", decided, facts=facts)

    def _result(self, event: ToolReturned) -> WhyStep:
        result, decided = event.result, []
        failed = [{"error": one.error, "wait_seconds": one.wait_seconds} for one in result.failed]
        facts: dict[str, Any] = {
            "status": result.status,
            "attempts": result.attempts,
            "seconds": result.duration_seconds,
            "failed": failed or None,
            **{key: result.facts.get(key) for key in ("sent", "refused")},
        }
        if result.status != "success":
            became = "it failed" if result.attempts else "it was not made"
            text = f"{became}: {self.mask(result.output)[:MAX_TEXT]}"
            decided.append(Ruling(result.status, True, text, self._tool(result.tool)))
        return WhyStep(f"{result.tool} ends: {result.status}", decided, facts=_known(facts))

    def _tool(self, name: str) -> str | None:
        return self.places.tool(name) if self.places is not None else None

    def _settings(self, name: str, agent_id: str | None = None) -> list[Ruling]:
        """Return the setting that was met, if one: with its line, or that it is the default."""
        key = SETTINGS.get(name)
        if key is None:
            return []
        if self.places is None:
            return [Ruling(f"settings.{key}", True, NOT_KEPT)]
        if name == "max_rounds" and agent_id is not None:
            own = self.places.agent_key(agent_id, "max_rounds")
            if own != DEFAULT:
                return [Ruling("max_rounds", True, "of the agent", own)]
        crew = self.places.files.crew
        value = getattr(crew.settings, key) if crew is not None else None
        return [Ruling(f"settings.{key}", True, f"= {value}", self.places.setting(key))]


def _shown(event: ContextShown) -> WhyStep:
    blocks = [
        _known({"kind": one.kind, "name": one.name or None, "tokens": one.tokens})
        | ({"left_out": one.left_out} if one.left_out else {})
        for one in event.blocks
    ]
    text = f"{event.agent_id} is shown {event.tokens} of {event.window_tokens} tokens"
    return WhyStep(text, facts={"blocks": blocks, "load_seconds": event.load_seconds})


def _cost(usage: Usage) -> float | None:
    return None if usage.unpriced else usage.cost_usd


def _known(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in facts.items() if value is not None}


def _attempt(one: FailedRequest) -> dict[str, Any]:
    return {
        "provider": one.provider,
        "model": one.model,
        "code": one.code,
        "seconds": one.duration_seconds,
        "wait_seconds": one.wait_seconds,
    }
