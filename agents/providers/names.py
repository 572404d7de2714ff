"""How bodies and refusals name the parameters of requests, in whatever dialect."""

import re
from collections.abc import Mapping

from agents.quirks import Parameter

# where a body has a parameter, in whatever dialect
NAMES: Mapping[Parameter, tuple[str, ...]] = {
    "temperature": ("temperature",),
    "top_p": ("top_p",),
    "reasoning_summary": ("reasoning.summary",),
    "reasoning_effort": (
        *("reasoning_effort", "reasoning", "thinking", "output_config.effort"),
        "extra_body.google.thinking_config",
    ),
    "prompt_cache": ("prompt_cache_key", "messages.content.cache_control"),
}
# how refusals name it besides
ASIDE: Mapping[Parameter, tuple[str, ...]] = {
    "reasoning_summary": ("summary", "summaries"),
    "reasoning_effort": ("effort", "thinking_budget", "thinking_config", "thinking budget"),
    "prompt_cache": ("cache_control",),
}
# words of a language, too: only where they stand as the name of a parameter, or are what a model
# has or has not
COMMON = frozenset({"effort", "reasoning", "thinking", "summary", "summaries"})
AS_NAME = (
    r"[`'\"]{n}[`'\"]|\b{n}\.[a-z_]|(?:adaptive|extended|reasoning) {n}\b"
    r"|\b{n} (?:parameters?|levels?|options?|budgets?|modes?|config\w*)\b"
    r"|\b{n} (?:is|are) (?:not|no longer) (?:supported|available|allowed|enabled)"
    r"|does(?: not|n't) support {n}\b"
)
# that something named is refused, and not only that its value is out of a range
REFUSED = (
    r"unsupported|(?:not|n't|never|no longer|cannot|can't)\s+(?:be\s+)?(?:support|allow|accept"
    r"|permit|used|specified|set|include|pass|recogni|available|implement)\w*"
    r"|(?:is|are|was|were)\s+not\s+\w*(?:support|allow|accept|permit|recogni|enabled)\w*"
    r"|unknown|unrecogni[sz]ed|unexpected|extra (?:inputs?|fields?|keys?)|not permitted|deprecated"
    r"|invalid (?:parameter|argument|field|key|property)|only the default|does not support"
    r"|does not accept|additional propert|unexpected keyword|isn't (?:support|allow)\w*"
)


def _spelled(key: str) -> str:
    """Return the pattern of a name: as it is sent, or as Java and Google write it (`topP`)."""
    first, *others = key.split("_")
    camel = "".join((first, *map(str.capitalize, others)))
    return rf"(?:{re.escape(key)}|{re.escape(camel)})" if others else re.escape(key)


def mentions(key: str, text: str) -> bool:
    """Return whether a text names a key; a word of a language only where it stands as a name."""
    pattern = rf"(?<![\w-]){_spelled(key)}(?![\w-])"
    if key in COMMON:
        return re.search(AS_NAME.format(n=key), text, re.IGNORECASE) is not None
    return re.search(pattern, text, re.IGNORECASE if " " in key else 0) is not None


def names_as_refused(key: str, text: str) -> bool:
    """Return whether a text says that something named is refused, in one sentence or field."""
    name = rf"(?<![\w-]){_spelled(key)}(?![\w-])"
    # "but got 64000 instead" is about a value
    refused = rf"{REFUSED}|(?<!\d )instead"
    near = rf"{name}[^\n]{{0,160}}?(?:{refused})|(?:{REFUSED})[^\n]{{0,160}}?{name}"
    return re.search(near, text, re.IGNORECASE) is not None
