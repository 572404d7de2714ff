"""What an agent is shown beside its prompt, as the configuration says; live."""

from dataclasses import dataclass

from agents.tokenizing.tokens import ESTIMATE, Tokenizer

ANSWER_TOKENS = 1024


@dataclass(frozen=True, slots=True)
class CoreBlock:
    """Blocks of core memory."""

    # in this order
    names: tuple[str, ...] = ()
    max_tokens: int = 1000


@dataclass(frozen=True, slots=True)
class SummaryBlock:
    """What older exchanges come to."""

    every: int = 10
    keep: int = 10
    max_tokens: int = 600
    # in a run that becomes too long, its own oldest part is shortened
    is_inline: bool = False


@dataclass(frozen=True, slots=True)
class HistoryBlock:
    """Exchanges, and the run's own messages."""

    exchanges: int = 40
    transcripts: bool = False
    # None: tool results stay as they are
    keep_results: int | None = None

    @property
    def quarter(self) -> int:
        """Older exchanges go by so many at once, so that the others stand where they stood."""
        return max(1, self.exchanges // 4)


@dataclass(frozen=True, slots=True)
class RecallBlock:
    """Items of recall memory."""

    most: int = 8
    max_tokens: int = 800
    min_score: float = 0.0


@dataclass(frozen=True, slots=True)
class OutputsBlock:
    """The newest typed answers of agents, in the run."""

    # all but the agent's own, where it names none
    of: tuple[str, ...] = ()
    max_tokens: int = 600


@dataclass(frozen=True, slots=True)
class DocumentsBlock:
    """Names of documents, and what they are about."""

    collections: tuple[str, ...]
    max_tokens: int = 600
    # the agent can search and read them; else others can
    reads: bool = True


@dataclass(frozen=True, slots=True)
class ContextPlan:
    """Of one agent."""

    window_tokens: int
    # of the window, kept free for the answer
    answer_tokens: int = 0
    trim_percent: float = 20.0
    load_timeout_seconds: float = 0.1
    # of its model
    tokenizer: Tokenizer = ESTIMATE
    history: HistoryBlock = HistoryBlock()
    # None: it is shown none
    core: CoreBlock | None = None
    # None: it is shown none
    summary: SummaryBlock | None = None
    # None: it is shown none
    recall: RecallBlock | None = None
    # None: it is shown none
    outputs: OutputsBlock | None = None
    # None: it is shown none
    documents: DocumentsBlock | None = None
    # kinds of blocks as the list has them
    order: tuple[str, ...] = ()
    # the operator's own texts at the end of the prompt: their names and tokens
    texts: tuple[tuple[str, int], ...] = ()
    # an event tells what was shown; else only in a conversation
    is_told: bool = False
