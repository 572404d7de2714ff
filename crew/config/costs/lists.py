"""Lists of prices that others keep: package genai-prices, its JSON, and litellm's."""

import importlib
import importlib.metadata
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

# of a file of prices
MAX_BYTES = 64 << 20
GENAI, LITELLM = "genai-prices", "litellm"
# by our name: theirs
GENAI_KEYS = {
    "input": "input_mtok",
    "output": "output_mtok",
    "cache_read": "cache_read_mtok",
    "cache_write": "cache_write_mtok",
}
# USD of 1,000 requests
GENAI_REQUESTS = "requests_kcount"
# in the names of models that write nothing
OF_VECTORS = "embed"
LITELLM_KEYS = {
    "input": "input_cost_per_token",
    "output": "output_cost_per_token",
    "cache_read": "cache_read_input_token_cost",
    "cache_write": "cache_creation_input_token_cost",
    "thinking": "output_cost_per_reasoning_token",
}
ABOVE = re.compile(r"input_cost_per_token_above_(\d+)k_tokens")
# of a provider, its address and a model; None: the list has no price of it
Find = Callable[[str, str, str], "dict[str, Any] | None"]
# USD for a million, as prices.json has them
Document = dict[str, Any]


class NoList(Exception):
    """There is no list of prices; the text says why."""


@dataclass(frozen=True, slots=True)
class PriceFinder:
    """Finds what models cost in a list."""

    source: str
    version: str
    find: Find


def installed_list() -> PriceFinder:
    """Return that of package genai-prices; raises NoList."""
    try:
        data = importlib.import_module("genai_prices.data_snapshot")
        version = importlib.metadata.version(GENAI)
    except ImportError:
        text = "prices come from package genai-prices: install the extra `prices`, or give --from"
        raise NoList(text) from None
    snapshot = data.get_snapshot()

    def find(provider: str, address: str, model: str) -> Document | None:
        for where in ((provider, None), (None, address or None)):
            if where == (None, None):
                continue
            try:
                _, found = snapshot.find_provider_model(model, None, *where)
            except LookupError:
                continue
            prices = vars(found.get_prices(datetime.now(UTC)))
            return _of_genai(prices, is_of_vectors=OF_VECTORS in found.id.lower())
        return None

    return PriceFinder(GENAI, version, find)


def list_in(path: Path) -> PriceFinder:
    """Return that of a file: JSON of genai-prices or of litellm; raises NoList."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise NoList(f"{path} is larger than {MAX_BYTES >> 20} MiB")
        data = json.loads(path.read_bytes(), parse_constant=_refuse)
    except OSError as error:
        raise NoList(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise NoList(f"{path} is no JSON: {error}") from None
    version = datetime.fromtimestamp(path.stat().st_mtime, UTC).date().isoformat()
    if isinstance(data, list) and all(isinstance(one, dict) and "models" in one for one in data):
        return PriceFinder(GENAI, version, _guarded(path, lambda *of: _in_genai(data, *of)))
    if isinstance(data, dict) and any(_is_litellm(one) for one in data.values()):
        return PriceFinder(LITELLM, version, _guarded(path, lambda *of: _in_litellm(data, *of)))
    raise NoList(f"{path} has prices in no form that is known (genai-prices, litellm)")


def _guarded(path: Path, find: Find) -> Find:
    """Return what raises NoList where an entry is not as such lists have it."""

    def found(provider: str, address: str, model: str) -> Document | None:
        try:
            return find(provider, address, model)
        except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, re.error):
            text = f"{path}: what it says of {provider}/{model} is in no form that is known"
            raise NoList(text) from None

    return found


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no price")


def _is_litellm(entry: Any) -> bool:
    return isinstance(entry, dict) and "input_cost_per_token" in entry


def _in_litellm(
    data: Mapping[str, Any], provider: str, address: str, model: str
) -> Document | None:
    for name in (f"{provider}/{model}", model):
        entry: Any = data.get(name)
        if _is_litellm(entry):
            return _of_litellm(entry)
    return None


def _of_litellm(entry: Mapping[str, Any]) -> Document | None:
    found = _million(entry, LITELLM_KEYS, "")
    above = []
    for key in entry:
        if (match := ABOVE.fullmatch(key)) is not None:
            suffix = f"_above_{match[1]}k_tokens"
            prices = {**found, **_million(entry, LITELLM_KEYS, suffix)}
            above.append({"input": int(match[1]) * 1000, "prices": prices})
    found = _whole(found, is_of_vectors=entry.get("mode") == "embedding")
    return {**found, "above": above} if above and found else found


def _whole(found: Document, *, is_of_vectors: bool) -> Document:
    """Return prices that say both, or that it is free; {} where one is not known: that is no 0."""
    if is_of_vectors:
        found = {"output": 0.0, **found}
    if not {"input", "output"} <= found.keys():
        return {}
    return found if any(found.values()) else {"free": True}


def _million(entry: Mapping[str, Any], keys: Mapping[str, str], suffix: str) -> Document:
    values = {name: entry.get(key + suffix) for name, key in keys.items()}
    known = {name: one for name, one in values.items() if one is not None}
    wrong = [one for one in known.values() if isinstance(one, bool | str | list | dict)]
    if wrong:
        raise NoList(f"{wrong[0]!r} is no price")
    return {name: _number(Decimal(repr(one)) * 10**6) for name, one in known.items()}


def _in_genai(data: list[Any], provider: str, address: str, model: str) -> Document | None:
    for one in data:
        pattern = one.get("api_pattern", "")
        is_there = bool(address and pattern) and re.search(pattern, address) is not None
        if one.get("id") != provider and not is_there:
            continue
        for known in one["models"]:
            if known.get("id") == model or _matches(known.get("match"), model):
                is_of_vectors = OF_VECTORS in str(known.get("id")).lower()
                return _of_genai(_newest(known.get("prices")), is_of_vectors=is_of_vectors)
    return None


def _newest(prices: Any) -> Mapping[str, Any]:
    """Return the prices of today; of those that depend on the hour, the dearest."""
    if not isinstance(prices, list):
        return prices if isinstance(prices, dict) else {}
    today, hourly = datetime.now(UTC).date(), []
    newest: Mapping[str, Any] = {}
    for one in prices:
        when = one.get("constraint") or {}
        if "start_time" in when or "end_time" in when:
            hourly.append(one["prices"])
        elif "start_date" not in when or date.fromisoformat(when["start_date"]) <= today:
            newest = one["prices"]
    return max((newest, *hourly), key=_weight)


def _weight(prices: Mapping[str, Any]) -> Decimal:
    """Return what a token in and one out cost."""
    keys = (GENAI_KEYS["input"], GENAI_KEYS["output"])
    return sum((_tiers_of(prices.get(key) or 0)[0] for key in keys), Decimal())


def _matches(rule: Any, model: str) -> bool:
    """Return whether a rule of genai-prices is true of a model."""
    if not isinstance(rule, dict) or len(rule) != 1:
        return False
    ((kind, value),) = rule.items()
    match kind, value:
        case "or", list():
            return any(_matches(one, model) for one in value)
        case "and", list():
            return all(_matches(one, model) for one in value)
        case "equals", str():
            return model == value
        case "starts_with", str():
            return model.startswith(value)
        case "ends_with", str():
            return model.endswith(value)
        case "contains", str():
            return value in model
        case "regex", str():
            return re.search(value, model) is not None
        case _:
            return False


def _of_genai(prices: Mapping[str, Any], *, is_of_vectors: bool) -> Document | None:
    base: Document = {}
    tiers: dict[int, Document] = {}
    for name, key in GENAI_KEYS.items():
        given = prices.get(key)
        if given is None:
            continue
        first, steps = _tiers_of(given)
        base[name] = _number(first)
        for start, price in steps:
            tiers.setdefault(start, {})[name] = _number(price)
    if "input" not in base and "output" not in base:
        return None
    if is_of_vectors:
        base = {"output": 0.0, **base}
    if not {"input", "output"} <= base.keys():
        # what is not said is no 0
        return None
    if prices.get(GENAI_REQUESTS) is not None:
        base["request"] = _number(Decimal(str(prices[GENAI_REQUESTS])) / 1000)
    if tiers:
        above, known = [], base
        for start in sorted(tiers):
            known = {**known, **tiers[start]}
            above.append({"input": start, "prices": known})
        base = {**base, "above": above}
    return base if any(base.values()) else {"free": True}


def _tiers_of(given: Any) -> tuple[Decimal, list[tuple[int, Decimal]]]:
    """Return the first price, and others from so much input on: of an object, or of its JSON."""
    if isinstance(given, Mapping):
        steps = [(int(one["start"]), Decimal(str(one["price"]))) for one in given["tiers"]]
        return Decimal(str(given["base"])), steps
    if hasattr(given, "tiers"):
        return given.base, [(one.start, one.price) for one in given.tiers]
    return Decimal(str(given)), []


def _number(price: Decimal) -> float:
    return float(price)
