"""What a crew may do more than before; pure."""

from collections.abc import Sequence
from typing import Any

from tools.config.http import SAFE_METHODS
from tools.definition import Reach

# the one change of an effect after which a tool is handled with more care
MORE_CARE = ("idempotent", "once")
# what may come after text of others, from more care to less
AFTER = {"refuse": 0, "approve": 1, "allow": 2}
BUDGETS = frozenset({"max_tokens_per_call", "max_tokens_per_day", "max_cost_per_day_usd"})
# of an argument
LIMITS = frozenset({"pattern", "maximum", "minimum", "maxLength", "maxItems", "format", "const"})
# of a tool: what it may do where it is true, or names something
ALLOWING = ("allow_private", "dash_arguments", "redirects")
# what comes of a budget that is used up, from more care to less; the third by a mapping
THEN = ("block", "end", "pause", None, "warn")
AMOUNTS = ("usd", "tokens", "calls")
LISTS = ("hosts", "runs", "reads", "writes")


def path_of_tool(path: tuple[str, ...]) -> tuple[str, ...]:
    """Return the path of a value of an MCP server's tool as of one that is no server's."""
    return ("tools", *path[3:]) if path[::2][:2] == ("tools", "tools") and len(path) > 3 else path


def is_more(path: tuple[str, ...], then: Any, now: Any) -> bool:
    """Return whether a changed value may let the crew do more."""
    last = path[-1]
    match path_of_tool(path):
        case ("tools", _, *rest):
            return _tool_may_more(rest, then, now)
        case ("agents", _, "plan", "approve"):
            # without a plan there is none to approve
            return bool(then) and now is False
        case ("agents", _, ("tools" | "documents")):
            return bool(set(now or ()) - set(then or ()))
        case ("agents", _, "cost_limits", *_) if last in BUDGETS:
            return _is_raised(then, now)
        case ("agents", _, "cost_limits", "block_on_cost_exceed"):
            return bool(then) and not now
        case ("settings", "after_untrusted"):
            return AFTER.get(str(now), 2) > AFTER.get(str(then), 2)
        case ("settings", ("allow_client_system" | "show_prompts")):
            return bool(now) and not then
        case ("notify", _, ("url" | "to" | "on")):
            return True
        case _:
            return _keeps_more(path, then, now)


def _tool_may_more(path: Sequence[str], then: Any, now: Any) -> bool:
    """Return whether a changed value of a tool, by the path in its entry, may let it do more."""
    match path:
        case ["effect"]:
            # what only reads is called in dry runs, and again after a failure
            return (then, now) != MORE_CARE
        case ["parameters", *_, "enum"]:
            return then is not None and (now is None or bool({*map(str, now)} - {*map(str, then)}))
        case ["parameters", *_, last] if last in LIMITS:
            return then is not None and now != then
        case ["method"]:
            return now is not None and now != then and now not in SAFE_METHODS
        case [name] if name in ALLOWING:
            return _allows_more(then, now)
        case ["untrusted" | "requires_approval"]:
            return bool(then) and not now
        case ["requires_approval", "when", *_, "above"] if _are_numbers(then, now):
            return bool(now > then)
        case ["requires_approval", "when", *_, "below"] if _are_numbers(then, now):
            return bool(now < then)
        case ["requires_approval", "when", *_]:
            return True
        case ["requires_approval", ("edit" | "answer" | "remember")]:
            return bool(now) and now != then
    return False


def _keeps_more(path: tuple[str, ...], then: Any, now: Any) -> bool:
    """Return whether a changed value may have more spent, sent elsewhere, or kept of people."""
    match path:
        case ("budgets", _, name) if name in AMOUNTS:
            return _is_raised(then, now)
        case ("budgets", _, "then"):
            known = then in THEN and now in THEN
            return known and THEN.index(now) > THEN.index(then)
        case ("budgets", _, "reserve"):
            return bool(then == "worst" and now == "likely")
        case (*_, ("base_url" | "provider_url")):
            return now is not None and now != then
        case ("memory", "recall", "scope") | ("memory", "core", _, "scope"):
            return now is not None and now != then
        case ("memory", "core", _, "write"):
            return bool(set(now or ()) - set(then or ()))
        case ("conversations", "keep_days"):
            return _is_raised(then, now)
    return False


def _is_raised(then: Any, now: Any) -> bool:
    """Return whether a limit is higher, or gone."""
    return then is not None and (now is None or now > then)


def _allows_more(then: Any, now: Any) -> bool:
    if not now or then is True:
        return False
    names = set(then) if isinstance(then, list) else set()
    return not isinstance(now, list) or bool(set(now) - names)


def _are_numbers(*values: Any) -> bool:
    return all(isinstance(one, int | float) and not isinstance(one, bool) for one in values)


def reaches_further(then: Reach, now: Reach, folder_then: str, folder_now: str) -> list[str]:
    """Return what a tool reaches that it did not reach before.

    Args:
        then: as it was.
        now: as it is.
        folder_then: the crew's folder, which has another name for another version.
        folder_now: the crew's.
    """
    found = []
    for name in LISTS:
        before = {one.replace(folder_then, ".") for one in getattr(then, name)}
        after = {one.replace(folder_now, ".") for one in getattr(now, name)}
        found += [f"{name} {one}, too" for one in sorted(after - before)]
    if then.sandbox and not now.sandbox:
        found.append(f"is no longer confined ({then.sandbox})")
    if then.pin and not now.pin:
        found.append(f"is no longer fixed ({then.pin})")
    return found
