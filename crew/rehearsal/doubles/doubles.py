"""All that stands in for the world of a crew, in one rehearsal."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from agents.config import ModelConfig
from agents.helper import PREFIX
from agents.model import Model
from crew.rehearsal.doubles.faults import Faults
from crew.rehearsal.doubles.models import Answers, ModelDouble
from crew.rehearsal.doubles.queue import Entry
from crew.rehearsal.doubles.real import RealModel
from crew.rehearsal.doubles.spending import Account
from crew.rehearsal.doubles.tools import ToolDouble, ToolResults
from crew.rehearsal.doubles.world import World
from crew.rehearsal.files.bound import Case
from tools.clock import Clock
from tools.definition import Tool

T = TypeVar("T")


@dataclass(slots=True)
class CaseDoubles:
    """See crew.assembly.given.Doubles; outlives the processes that are killed."""

    case: Case
    clock: Clock
    # tools that must not be called twice may be called where the rehearsal says `real`
    may_act: bool
    # real models answer in place of `says`, and this pays
    account: Account | None = None
    world: World = field(default_factory=World)
    answers: Answers = field(init=False)
    results: ToolResults = field(init=False)
    faults: Faults = field(init=False)

    def __post_init__(self) -> None:
        self.answers = Answers(self.case)
        self.results = ToolResults(self.case, repeats=self.calls_models)
        self.faults = Faults(self.case)

    @property
    def calls_models(self) -> bool:
        """See Doubles."""
        return self.account is not None

    def model(
        self, config: ModelConfig, script: Model | None, itself: Callable[[], Model]
    ) -> Model:
        """See Doubles."""
        own = config, self.world, self.clock
        if self.account is not None:
            return RealModel(*own, itself(), self.faults, self.account)
        return ModelDouble(*own, script, self.answers, self.faults)

    def helps(self, helper: str) -> bool:
        """See Doubles."""
        return f"{PREFIX}{helper}" in self.case.keys.says

    def tool(self, tool: Tool, result: str | None) -> Tool:
        """See Doubles."""
        double = ToolDouble(
            tool, result, self.results, self.faults, self.world, self.clock, self.may_act
        )
        return double.replaced()

    def unused(self) -> Iterator[tuple[str, str]]:
        """Yield what was given and not used: what it is, and its `file:line`."""
        if not self.calls_models:
            # else models say what they like, and call what they like
            for speaker, answers in self.answers.by_speaker.items():
                for one in answers.unused():
                    yield f"an answer of {speaker} {_left(one)}", one.source
            for name, results in self.results.by_tool.items():
                for result in results.unused():
                    yield f"a result of {name} {_left(result)}", result.source
        for number in self.faults.unused():
            yield "a fault has not occurred", self.case.source("faults", number)


def _left(entry: Entry[T]) -> str:
    if not entry.used:
        return "was never used"
    return f"was used {entry.used} times, not {entry.times}"
