"""Conversations, helpers, context: keys without effect, names that are ours, blocks that differ."""

from collections.abc import Iterator

from agents.context.shape import ContextConfig, HistoryBlockConfig, SummaryBlockConfig
from agents.helper import PREFIX
from crew.config.crew_files import CrewFiles
from crew.config.files.document import Document, YamlPath
from crew.config.keys.crew_file import CrewConfig
from crew.config.problems import Problem


def check_conversations(files: CrewFiles, crew: CrewConfig) -> Iterator[Problem]:
    """Yield the problems of these keys, in crew.yaml and in the agents' files."""
    for agent_id in crew.agents:
        if agent_id.startswith(PREFIX) and agent_id in files.agent_files:
            text = f"ids that begin with {PREFIX!r} are those of helpers; choose another"
            yield files.agent_files[agent_id].problem(("id",), "bad-name", text)
    yield from _check_helpers(files, crew)
    yield from _check_contexts(files, crew)


def _check_helpers(files: CrewFiles, crew: CrewConfig) -> Iterator[Problem]:
    document, given = files.crew_document, crew.helpers
    describes = any(one.summaries != "none" for one in crew.documents.values())
    if given.describe is not None and not describes:
        yield _no_effect(document, ("helpers", "describe"), "no documents have summaries")
    if crew.conversations is None:
        if given.model_fields_set and not describes:
            yield _no_effect(document, ("helpers",), "there are no conversations")
        return
    contexts = [context for _, _, context in contexts_of(files, crew)]
    summarises = any(_with_place(context)[1] is not None for context in contexts)
    if given.title is not None and crew.conversations.title_after == 0:
        yield _no_effect(document, ("helpers", "title"), "conversations.title_after is 0")
    if given.summary is not None and not summarises:
        yield _no_effect(document, ("helpers", "summary"), "no context has a summary")
    recall = crew.memory.recall
    if given.learn is not None and (recall is None or recall.learn is None):
        yield _no_effect(document, ("helpers", "learn"), "there is no memory.recall.learn")


def _check_contexts(files: CrewFiles, crew: CrewConfig) -> Iterator[Problem]:
    first: SummaryBlockConfig | None = None
    for document, path, context in contexts_of(files, crew):
        place, block = _with_place(context)
        blocks = context.blocks or [] if context is not None else []
        if crew.conversations is None:
            for number, one in enumerate(blocks):
                if isinstance(one, SummaryBlockConfig) and one.compact == "after":
                    where = (*path, "blocks", number)
                    text = "a summary has no effect: there are no conversations"
                    yield document.problem(where, "ignored-key", text)
                if isinstance(one, HistoryBlockConfig) and one.transcripts:
                    where = (*path, "blocks", number, "transcripts")
                    yield _no_effect(document, where, "there are no conversations")
            continue
        if block is None:
            continue
        if first is None:
            first = block
        elif (block.every, block.keep) != (first.every, first.keep):
            where = (*path, "blocks", place) if blocks else path
            text = (
                "a conversation has one summary: every and keep must be those of the other agents, "
                f"{first.every} and {first.keep}"
            )
            yield document.problem(where, "bad-value", text)


def contexts_of(
    files: CrewFiles, crew: CrewConfig
) -> Iterator[tuple[Document, YamlPath, ContextConfig | None]]:
    """Yield each context that counts, with its place: the crew's once, and each agent's."""
    own = [files.agents[one] for one in crew.agents if one in files.agents]
    if any(agent.context is None for agent in own):
        key = "context" if crew.context is not None else "conversations"
        yield files.crew_document, (key,), crew.context
    for agent in own:
        if agent.context is not None:
            yield files.agent_files[agent.id], ("context",), agent.context


def _with_place(context: ContextConfig | None) -> tuple[int, SummaryBlockConfig | None]:
    """Return the summary block of a context, and its place among the blocks."""
    if context is None or context.blocks is None:
        return 0, SummaryBlockConfig(kind="summary")
    for place, block in enumerate(context.blocks):
        if isinstance(block, SummaryBlockConfig):
            return place, block
    return 0, None


def _no_effect(document: Document, path: YamlPath, why: str) -> Problem:
    return document.problem(path, "ignored-key", f"{path[-1]} has no effect: {why}", key=True)
