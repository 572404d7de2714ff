"""What models are shown, as the configuration says; and whether it fits their windows."""

from collections.abc import Iterator, Mapping

from agents.config import AgentConfig
from agents.context.blocks import cut_to
from agents.context.plan import (
    ANSWER_TOKENS,
    ContextPlan,
    CoreBlock,
    DocumentsBlock,
    HistoryBlock,
    OutputsBlock,
    RecallBlock,
    SummaryBlock,
)
from agents.context.shape import (
    BlockConfig,
    ContextConfig,
    CoreBlockConfig,
    DocumentsBlockConfig,
    HistoryBlockConfig,
    OutputsBlockConfig,
    RecallBlockConfig,
    SummaryBlockConfig,
    TextBlockConfig,
)
from agents.tokenizing.tokens import Tokenizer
from crew.config.crew_files import CrewFiles
from crew.config.files.document import YamlPath
from crew.config.keys.crew_file import CrewConfig
from crew.config.keys.models import primary_of
from crew.config.problems import Problem


def make_context(
    config: AgentConfig, crew: CrewConfig, files: Mapping[str, str], tokenizer: Tokenizer
) -> tuple[ContextPlan, tuple[str, ...]]:
    """Make an agent's context, and the texts that stand at the end of its prompt.

    Args:
        config: of the agent.
        crew: of the crew.
        files: the texts of the files that blocks name.
        tokenizer: of its model.
    """
    given = crew.context_of(config)
    is_told = given is not None
    listed = crew.listed_documents(config)
    keeps = crew.conversations is not None or crew.memory.is_used or bool(listed)
    given = given or ContextConfig()
    core, summary, recall, outputs, documents = None, None, None, None, None
    history = HistoryBlock()
    texts: list[tuple[str, str]] = []
    blocks = _blocks(given, crew, config)
    for block in blocks:
        match block:
            case TextBlockConfig(file=file, text=text, max_tokens=most):
                whole = files.get(file, "") if file is not None else text or ""
                texts.append((file or "", cut_to(whole.strip(), most, tokenizer)))
            case CoreBlockConfig(names=names, max_tokens=most):
                core = CoreBlock(tuple(names or crew.memory.core), most)
            case SummaryBlockConfig(every=every, keep=keep, max_tokens=most):
                summary = SummaryBlock(every, keep, most, block.compact == "inline")
            case RecallBlockConfig(most=items, max_tokens=most, min_score=least):
                recall = RecallBlock(items, most, least)
            case OutputsBlockConfig(of=of, max_tokens=most):
                outputs = OutputsBlock(tuple(of), most)
            case DocumentsBlockConfig(max_tokens=most) if listed:
                documents = DocumentsBlock(tuple(listed), most, reads=bool(config.documents))
            case HistoryBlockConfig(exchanges=exchanges, transcripts=transcripts):
                # a crew that says nothing of its context is shown what it was shown ever since
                results = block.keep_results if is_told or keeps else None
                history = HistoryBlock(exchanges, transcripts, results)
    plan = ContextPlan(
        window_tokens=_window(given, config, crew)[0],
        answer_tokens=_answer_tokens(given, config) if is_told or keeps else 0,
        trim_percent=crew.settings.context_trim_percent,
        load_timeout_seconds=given.load_timeout_millis / 1000,
        tokenizer=tokenizer,
        history=history,
        core=core,
        summary=summary,
        recall=recall,
        outputs=outputs,
        documents=documents,
        order=tuple(one.kind for one in blocks),
        texts=tuple((name, tokenizer.count(text)) for name, text in texts),
        is_told=is_told or any((core, recall, documents)),
    )
    return plan, tuple(text for _, text in texts)


def _blocks(given: ContextConfig, crew: CrewConfig, config: AgentConfig) -> list[BlockConfig]:
    if given.blocks is not None:
        return given.blocks
    blocks: list[BlockConfig] = [HistoryBlockConfig(kind="history")]
    if crew.conversations is not None:
        blocks.insert(0, SummaryBlockConfig(kind="summary"))
    if crew.memory.core:
        blocks.insert(0, CoreBlockConfig(kind="core"))
    if crew.memory.recall is not None:
        blocks.append(RecallBlockConfig(kind="recall"))
    if config.documents:
        blocks.append(DocumentsBlockConfig(kind="documents"))
    return blocks


def _window(given: ContextConfig, config: AgentConfig, crew: CrewConfig) -> tuple[int, str]:
    """Return how many tokens fit, and the key that says so."""
    if given.window_tokens is not None:
        return given.window_tokens, "window_tokens"
    chosen = primary_of(config, crew.models)
    if chosen.named.context_window is not None:
        return chosen.named.context_window, f"models.{chosen.name}.context_window"
    return crew.settings.max_context_window, "settings.max_context_window"


def _answer_tokens(given: ContextConfig, config: AgentConfig) -> int:
    return given.answer_tokens or config.max_tokens or ANSWER_TOKENS


def over_window(
    files: CrewFiles, config: AgentConfig, prompt_tokens: int, tools_tokens: int
) -> Iterator[Problem]:
    """Yield an error where what an agent is always shown, with what is free, is over its window."""
    crew = files.crew
    assert crew is not None, "only of a crew that can be read"
    given = crew.context_of(config)
    is_plain = crew.conversations is None and not crew.memory.is_used and not config.documents
    if given is None and is_plain:
        return
    context = given or ContextConfig()
    parts = {"prompt": prompt_tokens, "tools": tools_tokens}
    for block in _blocks(context, crew, config):
        match block:
            case CoreBlockConfig(names=names, max_tokens=most):
                blocks = (crew.memory.core[one] for one in names or crew.memory.core)
                parts["core"] = min(most, sum(one.max_tokens for one in blocks))
            case SummaryBlockConfig(max_tokens=most):
                parts["summary"] = most
            case RecallBlockConfig(max_tokens=most):
                parts["recall"] = most
            case OutputsBlockConfig(max_tokens=most):
                parts["outputs"] = most
            case DocumentsBlockConfig(max_tokens=most) if config.documents:
                parts["documents"] = most
            case HistoryBlockConfig(min_tokens=least):
                parts["history.min_tokens"] = least
    parts["answer"] = _answer_tokens(context, config)
    window, key = _window(context, config, crew)
    total = sum(parts.values())
    if total <= window:
        return
    listed = " + ".join(f"{name} {tokens}" for name, tokens in parts.items() if tokens)
    text = f"{config.id} needs {total} tokens, and {key} is {window}: {listed}"
    document = files.agent_files[config.id]
    path: YamlPath = ("context",)
    if config.context is None:
        document, path = files.crew_document, _place_in_crew(crew)
    if key.startswith("models."):
        document, path = files.crew_document, ("models", primary_of(config, crew.models).name)
    yield document.problem(path, "context-over-window", text, key=True)


def _place_in_crew(crew: CrewConfig) -> YamlPath:
    if crew.context is not None:
        return ("context",)
    return ("conversations" if crew.conversations is not None else "memory",)
