"""A Model that is not called while its provider does not work."""

from dataclasses import dataclass
from datetime import timedelta

from agents.errors import ModelError, ModelErrorCode
from agents.model import Around, EmitModelEvent, Model, ModelNotice, ModelReply, ModelRequest
from tools.clock import Clock, rfc3339
from tools.limits.guards import Breaker, Outcome, RefusedError

# between two looks at a breaker that is waited for
LOOK_SECONDS = 1.0
# what says that a provider does not work; that it refuses a request says that it does
OUTCOMES: dict[ModelErrorCode, Outcome] = {
    "unavailable": "failure",
    "connection": "failure",
    "timeout": "failure",
    "refused": "success",
}


@dataclass(frozen=True, slots=True)
class Breaking(Around):
    """Asks `model` unless the breaker of its provider is open."""

    model: Model
    breaker: Breaker
    # an open breaker is waited for so long: none where there is a backup
    patience_seconds: float
    clock: Clock

    async def reply(self, request: ModelRequest, emit: EmitModelEvent) -> ModelReply:
        """Answer, or raise ModelError."""
        is_probe = await self._admit(emit)
        outcome: Outcome = "neutral"
        try:
            reply = await self.model.reply(request, emit)
        except ModelError as error:
            outcome = OUTCOMES.get(error.code, "neutral")
            if outcome == "failure":
                self.breaker.reason = f"{error.code}: {error}"
            raise
        else:
            outcome = "success"
            return reply
        finally:
            # whatever ends it: a probe that is cancelled leaves the next one to try
            has_opened = self.breaker.tell(outcome, is_probe=is_probe)
            if has_opened:
                limits = self.breaker.limits
                text = f"{self.name} failed {limits.failures} times in a row; it is not asked for"
                await emit(ModelNotice("breaker_open", f"{text} {limits.open_seconds:g} s"))

    async def _admit(self, emit: EmitModelEvent) -> bool:
        """Wait until the model may be called; return whether the call is a probe."""
        ends_at = self.clock.monotonic() + self.patience_seconds
        is_waiting = False
        while True:
            try:
                return self.breaker.admit()
            except RefusedError as refused:
                left = ends_at - self.clock.monotonic()
                cause = f"; the last time: {self.breaker.reason}" if self.breaker.reason else ""
                if left <= 0:
                    text = f"{self.name}: {refused}{cause}"
                    raise ModelError("breaker_open", text) from None
                if not is_waiting:
                    # or it is not known why nothing comes
                    is_waiting = True
                    until = rfc3339(self.clock.now() + timedelta(seconds=left))
                    text = f"{self.name} is waited for until {until}: {refused}{cause}"
                    await emit(ModelNotice("breaker_waiting", text))
                await self.clock.sleep(min(left, LOOK_SECONDS))
