"""Finding tools by what they are for, for agents that have too many to be shown all."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from tools.context import ToolContext
from tools.definition import Reach, Tool
from tools.schemas.schema import JsonSchema

TOOL_SEARCH = "tool_search"
LINE_END = "\n"
# that are shown to an agent at once: the newest
MAX_FOUND = 20
# the fact of a call that has the names of what it found
FOUND = "found"
# words, and the parts of namesLikeThis
WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+|[^\W\d_A-Za-z]+")
# of BM25 (Robertson and Zaragoza, 2009): how soon a repeated word counts no more, and how much a
# long text counts against itself
K1, B = 1.2, 0.75
DESCRIPTION = (
    "Find tools that you can use. Say in a few words what you want to do. The tools that are found "
    "can be called from your next answer on."
)
PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "minLength": 1, "description": "What you want to do."},
        "limit": {"type": "integer", "minimum": 1, "maximum": MAX_FOUND, "default": 5},
    },
    "required": ["query"],
}


class ToolIndex:
    """Tools by the words of their names, descriptions and arguments."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools = list(tools)
        self._words = [Counter(_words(_text(tool))) for tool in self._tools]
        lengths = [counts.total() for counts in self._words]
        self._mean = sum(lengths) / len(lengths) if lengths else 1.0
        # how many tools have a word
        self._having = Counter(word for counts in self._words for word in counts)

    def find(self, query: str, limit: int) -> list[Tool]:
        """Find the tools that fit best, best first; those that fit alike in their own order."""
        words = set(_words(query))
        scored = [(self._score(words, counts), tool) for tool, counts in self._pairs()]
        fitting = sorted((one for one in scored if one[0] > 0), key=lambda one: -one[0])
        return [tool for _, tool in fitting[:limit]]

    def _pairs(self) -> Iterable[tuple[Tool, Counter[str]]]:
        return zip(self._tools, self._words, strict=True)

    def _score(self, words: set[str], counts: Counter[str]) -> float:
        length = 1 - B + B * counts.total() / self._mean
        score = 0.0
        for word in words & counts.keys():
            having = self._having[word]
            rarity = math.log(1 + (len(self._tools) - having + 0.5) / (having + 0.5))
            score += rarity * counts[word] * (K1 + 1) / (counts[word] + K1 * length)
        return score


def search_tool(tools: Iterable[Tool]) -> Tool:
    """Return the tool by which an agent finds these."""
    index = ToolIndex(tools)

    async def find(arguments: dict[str, Any], context: ToolContext) -> str:
        found = index.find(arguments["query"], int(arguments.get("limit", 5)))
        context.note(**{FOUND: " ".join(tool.name for tool in found)})
        if not found:
            return "No tool fits. Try other words."
        lines = [f"{tool.name}: {tool.description.partition(LINE_END)[0]}" for tool in found]
        return "\n".join(["You can call these now:", *lines])

    return Tool(
        name=TOOL_SEARCH,
        description=DESCRIPTION,
        parameters=PARAMETERS,
        act=find,
        check=JsonSchema(PARAMETERS).check,
        effect="read",
        reach=Reach("builtin"),
    )


def _text(tool: Tool) -> str:
    arguments = " ".join(tool.parameters.get("properties", {}))
    return f"{tool.name} {tool.description} {arguments}"


def _words(text: str) -> list[str]:
    return [word.lower() for word in WORDS.findall(text)]


def newest_found(known: Sequence[str], found: Sequence[str]) -> tuple[str, ...]:
    """Return the tools that an agent is shown after it has found some; at most MAX_FOUND.

    What was found just now is among them, wherever it stands.
    """
    names = list(dict.fromkeys([*known, *found]))
    for name in [one for one in names if one not in found][: max(0, len(names) - MAX_FOUND)]:
        names.remove(name)
    return tuple(names)
