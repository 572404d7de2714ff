"""Memory: what no agent is shown, finds or may change, and words that would reach other users."""

from collections.abc import Iterator

from agents.context.shape import CoreBlockConfig, DocumentsBlockConfig, RecallBlockConfig
from crew.config.checks.remembered.conversations import contexts_of
from crew.config.crew_files import CrewFiles
from crew.config.files.document import YamlPath
from crew.config.files.sources import CREW_FILE
from crew.config.keys.crew_file import CrewConfig
from crew.config.keys.memory import CoreMemoryConfig, RecallConfig
from crew.config.memory import CORE, RECALL, core_rule
from crew.config.problems import Problem
from crew.memory.core import CoreError, checked, has_free_text
from tools.builtin.memory import EDIT_CORE, FORGET, REMEMBER
from tools.builtin.memory import RECALL as RECALL_TOOL
from tools.text.suggest import nearest

RECALL_TOOLS = (REMEMBER, RECALL_TOOL, FORGET)


def check_memory(files: CrewFiles, crew: CrewConfig) -> Iterator[Problem]:
    """Yield the problems of `memory`, and of what agents are shown and do of it."""
    for name, config in crew.memory.core.items():
        yield from _check_block(files, crew, name, config)
    yield from _check_contexts(files, crew)
    if crew.memory.recall is not None:
        yield from _check_recall(files, crew, crew.memory.recall)
    can_write = any("agent" in one.writers for one in crew.memory.core.values())
    has_recall = crew.memory.recall is not None or not files.is_whole(CREW_FILE, "memory")
    needs: dict[str, str] = {}
    if not can_write and files.is_whole(CREW_FILE, "memory"):
        needs[EDIT_CORE] = "a block of memory.core that agents may write"
    if not has_recall:
        needs |= dict.fromkeys(RECALL_TOOLS, "memory.recall in crew.yaml")
    for agent_id, agent in files.agents.items():
        for place, tool in enumerate(agent.tools):
            if tool in needs:
                text = f"{tool} needs {needs[tool]}"
                document = files.agent_files[agent_id]
                yield document.problem(("tools", place), "memory-tool", text)


def _check_recall(files: CrewFiles, crew: CrewConfig, config: RecallConfig) -> Iterator[Problem]:
    document = files.crew_document
    if crew.conversations is None:
        if config.scope == "conversation":
            text = "scope: conversation has no effect: there are no conversations"
            yield document.problem((*RECALL, "scope"), "ignored-key", text, key=True)
        if config.learn is not None:
            text = "learn has no effect: it is done after exchanges; describe conversations"
            yield document.problem((*RECALL, "learn"), "ignored-key", text, key=True)
    contexts = [context for _, _, context in contexts_of(files, crew)]
    is_shown = any(
        context is None
        or context.blocks is None
        or any(isinstance(block, RecallBlockConfig) for block in context.blocks)
        for context in contexts
    )
    is_searched = any(RECALL_TOOL in agent.tools for agent in files.agents.values())
    if not is_shown and not is_searched and len(files.agents) == len(files.agent_files):
        text = (
            "recall has no effect: no agent is shown it, and none has the tool Recall; "
            "add recall to context.blocks"
        )
        yield document.problem(RECALL, "ignored-key", text, key=True)


def _check_block(
    files: CrewFiles, crew: CrewConfig, name: str, config: CoreMemoryConfig
) -> Iterator[Problem]:
    document, path = files.crew_document, (*CORE, name)
    if config.scope == "conversation" and crew.conversations is None:
        text = "scope: conversation has no effect: there are no conversations"
        yield document.problem((*path, "scope"), "ignored-key", text, key=True)
    recall = crew.memory.recall
    if "learn" in (config.write or ()) and (recall is None or recall.learn is None):
        text = "learn has no effect: nothing is learned after exchanges without memory.recall.learn"
        assert config.write is not None, "it has learn"
        yield document.problem((*path, "write", config.write.index("learn")), "ignored-key", text)
    yield from _check_writers(files, config, path)
    schema = files.core.get(name)
    is_readable = config.schema_ is None or schema is not None
    others = sorted(config.writers - {"person"})
    if config.scope == "crew" and others and has_free_text(schema) and is_readable:
        text = (
            "what agents write here reaches all users, so it must have no words of one: give it a "
            "schema of enum, boolean and number fields, or write: [people]"
        )
        key = "write" if config.write is not None else "scope"
        yield document.problem((*path, key), "memory-write", text, key=True)
    if config.start and is_readable:
        try:
            checked(core_rule(name, config, schema), config.start)
        except CoreError as error:
            yield document.problem((*path, "start"), "memory-start", str(error))
    if config.from_ is not None:
        yield from _check_from(files, config, path)


def _check_writers(files: CrewFiles, config: CoreMemoryConfig, path: YamlPath) -> Iterator[Problem]:
    """Yield a block that stays empty, and writers that cannot write."""
    document, where = files.crew_document, (*path, "write")
    if config.write == [] and not config.start:
        text = "the block stays empty: nobody may write it, and it has no start"
        yield document.problem(where, "ignored-key", text, key=True)
    all_read = len(files.agents) == len(files.agent_files)
    has_tool = any(EDIT_CORE in agent.tools for agent in files.agents.values())
    if "agents" in (config.write or ()) and all_read and not has_tool:
        assert config.write is not None, "it has agents"
        text = f"agents has no effect: no agent has the tool {EDIT_CORE}"
        yield document.problem((*where, config.write.index("agents")), "ignored-key", text)


def _check_from(files: CrewFiles, config: CoreMemoryConfig, path: YamlPath) -> Iterator[Problem]:
    document, given = files.crew_document, config.from_
    assert given is not None, "looked at by the caller"
    agent = files.agents.get(given.agent)
    if agent is None:
        if given.agent not in files.agent_files:
            near = nearest(given.agent, files.agents)
            text = f"there is no agent {given.agent!r}"
            yield document.problem((*path, "from", "agent"), "memory-from", text, suggestion=near)
        return
    schema = files.outputs.get(given.agent)
    if schema is None:
        if agent.output is None:
            text = f"{given.agent} has no output that could fill it"
            yield document.problem((*path, "from", "agent"), "memory-from", text)
        return
    field = schema.properties.get(given.field)
    if field is None:
        near = nearest(given.field, schema.properties)
        text = f"the output of {given.agent} has no field {given.field!r}"
        yield document.problem((*path, "from", "field"), "memory-from", text, suggestion=near)
    elif (field.items or field).kind != "string":
        text = f"{given.field} is no text and no list of texts"
        yield document.problem((*path, "from", "field"), "memory-from", text)


def _check_contexts(files: CrewFiles, crew: CrewConfig) -> Iterator[Problem]:
    shown: set[str] = set()
    for document, _, context in contexts_of(files, crew):
        if context is None or context.blocks is None:
            shown |= set(crew.memory.core)
            continue
        for place, block in enumerate(context.blocks):
            path: YamlPath = ("context", "blocks", place)
            lacks_recall = crew.memory.recall is None and files.is_whole(CREW_FILE, "memory")
            if (
                isinstance(block, DocumentsBlockConfig)
                and not crew.documents
                and files.is_whole(CREW_FILE, "documents")
            ):
                text = "there are no documents, so nothing would stand here"
                yield document.problem(path, "memory-block", text)
            if isinstance(block, RecallBlockConfig) and lacks_recall:
                text = "there is no memory.recall, so nothing would stand here"
                yield document.problem(path, "memory-block", text)
            if not isinstance(block, CoreBlockConfig):
                continue
            shown |= set(block.names or crew.memory.core)
            if not crew.memory.core and files.is_whole(CREW_FILE, "memory"):
                text = "there is no memory.core, so nothing would stand here"
                yield document.problem(path, "memory-block", text)
            for number, name in enumerate(block.names):
                if name in block.names[:number]:
                    where = (*path, "names", number)
                    text = f"names has {name} twice; it can stand there once"
                    yield document.problem(where, "memory-block", text)
                if crew.memory.core and name not in crew.memory.core:
                    near = nearest(name, crew.memory.core)
                    text = f"memory.core has no block {name!r}"
                    where = (*path, "names", number)
                    yield document.problem(where, "memory-block", text, suggestion=near)
    for name in crew.memory.core:
        if name not in shown:
            text = f"{name} has no effect: no agent is shown it; add core to context.blocks"
            yield files.crew_document.problem((*CORE, name), "ignored-key", text, key=True)
