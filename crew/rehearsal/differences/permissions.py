"""What a crew may do more than before; pure."""

from typing import Any

from tools.definition import Reach

# the one change of an effect after which a tool is handled with more care
MORE_CARE = ("idempotent", "once")
# what may come after text of others, from more care to less
AFTER = {"refuse": 0, "approve": 1, "allow": 2}
BUDGETS = frozenset({"max_tokens_per_call", "max_tokens_per_day", "max_cost_per_day_usd"})
# of an argument
LIMITS = frozenset({"pattern", "maximum", "minimum", "maxLength", "maxItems", "format", "const"})
LISTS = ("hosts", "runs", "reads", "writes")


def path_of_tool(path: tuple[str, ...]) -> tuple[str, ...]:
    """Return the path of a value of an MCP server's tool as of one that is no server's."""
    return ("tools", *path[3:]) if path[::2][:2] == ("tools", "tools") and len(path) > 3 else path


def is_more(path: tuple[str, ...], then: Any, now: Any) -> bool:
    """Return whether a changed value may let the crew do more."""
    last = path[-1]
    match path_of_tool(path):
        case ("agents", _, "plan", "approve"):
            # without a plan there is none to approve
            return bool(then) and now is False
        case ("agents", _, ("tools" | "documents")):
            return bool(set(now or ()) - set(then or ()))
        case ("agents", _, "cost_limits", *_) if last in BUDGETS:
            return then is not None and (now is None or now > then)
        case ("agents", _, "cost_limits", "block_on_cost_exceed"):
            return bool(then) and not now
        case ("settings", "after_untrusted"):
            return AFTER.get(str(now), 2) > AFTER.get(str(then), 2)
        case ("settings", ("allow_client_system" | "show_prompts")):
            return bool(now) and not then
        case ("tools", _, "effect"):
            # what only reads is called in dry runs, and again after a failure
            return (then, now) != MORE_CARE
        case ("tools", _, "parameters", *_, "enum"):
            return then is not None and (now is None or bool({*map(str, now)} - {*map(str, then)}))
        case ("tools", _, "parameters", *_) if last in LIMITS:
            return then is not None and now != then
        case ("tools", _, "untrusted"):
            return bool(then) and not now
        case ("tools", _, "requires_approval"):
            return bool(then) and not now
        case ("tools", _, "requires_approval", "when", *_):
            return True
        case ("tools", _, "requires_approval", ("edit" | "answer" | "remember")):
            return bool(now) and now != then
        case ("notify", _, ("url" | "to" | "on")):
            return True
    return False


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
