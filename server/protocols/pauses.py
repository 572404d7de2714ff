"""What a pause asks a person, as protocols say it, and what they may answer."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from crew.journal.query import Answer, CallDecision, Decision
from crew.journal.wire import RunEvent
from server.tokens import Caller

# "RUN:N:CALL": what a pause asks about a call; WORDS stands for the call where it asks for words
PLACE = re.compile(r"([A-Za-z0-9_-]{1,128}):([0-9]{1,15}):(.{1,200})", re.DOTALL)
WORDS = "words"

# what decides where words do, by what is asked
HOW = {
    "approval": "Answer `approve`, or say why not.",
    "plan": "Answer `approve`, or say what is to be planned otherwise.",
    "unknown_outcome": "It may have acted already. Answer `retry` or `skip`.",
    "restored": "Answer `approve` to go on, or `deny` to end the run.",
}
ELSEWHERE = "This is answered in the console, or by the crew's own API."
HEADS = {
    "unknown_outcome": "**Had started when its process died; has it acted?**",
    "plan": "**A plan waits for a decision:**",
    "budget": "**A budget has no room:**",
    "form": "**A tool asks:**",
    "restored": "**The database was restored from a backup:**",
}


@dataclass(frozen=True, slots=True)
class PauseCall:
    """What a pause asks about one call, or in words."""

    run_id: str
    seq: int
    # "" where it asks for words
    call_id: str
    # approval, unknown_outcome, form, plan, budget, restored; "words"
    question: str
    text: str
    agent_id: str | None = None
    tool: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)
    # what may be decided: approve, deny, edit, done, retry, skip
    may: Sequence[str] = ()
    remember: Sequence[str] = ()
    # of what is to be filled in; or of the call's arguments
    schema: dict[str, Any] = field(default_factory=dict)
    until: str | None = None
    # the call's own name within the pause: with its agent, where two have calls of one id
    key: str = WORDS
    # how often words may still make an agent plan anew
    words_left: int = 0
    # the run has read text of others before
    is_tainted: bool = False

    @property
    def id(self) -> str:
        """Its name, which no other has: "RUN:N:CALL"."""
        return f"{self.run_id}:{self.seq}:{self.key}"

    @property
    def is_about_call(self) -> bool:
        """Whether it asks about a call, and not for words."""
        return bool(self.call_id)

    @property
    def is_decided_by_yes(self) -> bool:
        """Whether a yes or a no is enough: a form and a budget need more."""
        return self.is_about_call and self.question not in ("form", "budget")

    @property
    def is_plain(self) -> bool:
        """Whether the call with its arguments says all that a person has to know."""
        return self.question == "approval" and not self.is_tainted

    def document(self) -> dict[str, Any]:
        """Return all of it, for metadata."""
        return {
            "question": self.question,
            "call_id": self.call_id or None,
            "agent_id": self.agent_id,
            "tool": self.tool or None,
            "arguments": self.arguments,
            "may": list(self.may),
            "remember": list(self.remember),
            "pause": self.seq,
        }


def pause_calls(run_id: str, pause: RunEvent, words: str) -> list[PauseCall]:
    """Return what a `pause` event asks.

    Args:
        run_id: the run.
        pause: the event.
        words: the agent's own, which are the question where it asks for words.
    """
    data, seq = pause.metadata, pause.seq or 0
    question, until = data.get("question"), data.get("answer_until")
    if question is None:
        return [PauseCall(run_id, seq, "", WORDS, words, until=until)]
    form = data.get("form") or {}
    found, ids = [], [one["call_id"] for one in data["calls"]]
    for one in data["calls"]:
        schema, id_ = one.get("schema") or {}, one["call_id"]
        text = f"{one['tool']}({', '.join(f'{k}={v!r}' for k, v in one['arguments'].items())})"
        if one.get("untrusted"):
            text = f"{text} (the run has read text of others: {', '.join(one['untrusted'])})"
        if question == "form":
            schema, text = form.get("schema") or {}, form.get("message") or text
        elif question == "budget":
            text = data["budget"]["text"]
        elif question == "restored":
            text = data["restored"]["text"]
        found.append(
            PauseCall(
                run_id,
                seq,
                id_,
                question,
                text,
                one["agent_id"],
                one["tool"],
                one["arguments"],
                one.get("may") or (),
                one.get("remember") or (),
                schema,
                until,
                id_ if ids.count(id_) == 1 else f"{id_}/{one['agent_id']}",
                data.get("words_left") or 0,
                bool(one.get("untrusted")),
            )
        )
    return found


def question_of(questions: Sequence[PauseCall], *, says_how: bool = False) -> str:
    """Return what a pause asks, as text; `says_how`: and how words answer it."""
    first = questions[0]
    if not first.is_about_call:
        return first.text
    head = HEADS.get(first.question, "**Waiting for a decision:**")
    lines = [head, *(f"- {one.text}" for one in questions)]
    how = HOW.get(first.question, ELSEWHERE)
    return "\n".join([*lines, "", how] if says_how else lines)


def say_question(text: str, questions: Sequence[PauseCall], *, says_how: bool = False) -> str:
    """Return what was said before a pause, and what that asks; see `question_of`."""
    asked = question_of(questions, says_how=says_how)
    # words of an agent are the question themselves
    return f"{text}\n\n{asked}" if text and questions[0].is_about_call else asked


def parse_place(text: str) -> tuple[str, int, str] | None:
    """Return run, number of the pause, and key of a name; None for others."""
    found = PLACE.fullmatch(text)
    if found is None:
        return None
    return found[1], int(found[2]), found[3]


@dataclass(frozen=True, slots=True)
class CallReply:
    """What a client says about one call."""

    call: PauseCall
    approved: bool
    # instead of the call's, or what is filled in
    arguments: dict[str, Any] | None = None
    reason: str = ""
    # what the call has returned, by hand
    result: str | None = None
    # once, run, always
    scope: str = "once"

    def decision(self) -> CallDecision:
        """Return it as the crew takes it."""
        call, decision = self.call, self._decision()
        is_yes = decision == "approve"
        remember: Any = self.scope if is_yes and self.scope in ("run", "always") else None
        return CallDecision(
            call.call_id,
            decision,
            call.agent_id,
            "" if is_yes else self.reason,
            self.result or "" if decision == "done" else "",
            arguments=self.arguments if is_yes else None,
            remember=remember,
        )

    def _decision(self) -> Decision:
        if self.result is not None and "done" in (self.call.may or ("done",)):
            return "done"
        if self.call.question == "unknown_outcome":
            return "retry" if self.approved else "skip"
        return "approve" if self.approved else "deny"


def answer_with(replies: Sequence[CallReply], caller: Caller, *, deltas: bool) -> Answer:
    """Build the answer to a pause that asks about calls."""
    decisions = tuple(one.decision() for one in replies)
    return Answer(
        pause_seq=replies[0].call.seq,
        deltas=deltas,
        decisions=decisions,
        by=caller.name,
        may_spend="admin" in caller.scopes,
    )


def answer_in_words(text: str, seq: int | None, caller: Caller, *, deltas: bool) -> Answer:
    """Build the answer to a pause that asks for words."""
    return Answer(text, pause_seq=seq, deltas=deltas, by=caller.name)
