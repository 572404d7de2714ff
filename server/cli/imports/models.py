"""Which provider and model another program's words mean."""

from dataclasses import dataclass, field
from typing import Any

# OpenAI-compatible addresses, and the variable of the key
KNOWN: dict[str, tuple[str, str]] = {
    "cerebras": ("https://api.cerebras.ai/v1", "CEREBRAS_API_KEY"),
    "deepseek": ("https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    "dmr": ("http://localhost:12434/engines/v1", ""),
    "groq": ("https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    "mistral": ("https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    "openrouter": ("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "xai": ("https://api.x.ai/v1", "XAI_API_KEY"),
}
SAME = {"gemini": "google", "claude": "anthropic"}
BUILT_IN = ("openai", "anthropic", "google", "ollama")


@dataclass(frozen=True, slots=True)
class Meant:
    """A model: keys of an agent's file, and the entry of `providers` that it needs."""

    keys: dict[str, Any]
    providers: dict[str, Any] = field(default_factory=dict)
    # why it is another one than was written
    why: str = ""


def meant(provider: str, model: str, base_url: str = "", key: str = "") -> Meant:
    """Return what a provider and a model mean here.

    Args:
        provider: by its name there.
        model: by its name at the provider.
        base_url: of the provider, where the file has it.
        key: the variable of its key, where the file has it.
    """
    name = SAME.get(provider, provider)
    keys = {"provider": name, "model": model} if model else {"provider": name}
    if base_url:
        name = f"{name}_own" if name in BUILT_IN else name
        entry = {"base_url": base_url, **({"api_key": f"${{{key}:-none}}"} if key else {})}
        return Meant({**keys, "provider": name}, {name: entry})
    if name in BUILT_IN:
        return Meant(keys)
    if name in KNOWN:
        url, known_key = KNOWN[name]
        variable = key or known_key
        entry = {"base_url": url, **({"api_key": f"${{{variable}:-none}}"} if variable else {})}
        return Meant(keys, {name: entry})
    why = f"no OpenAI-compatible address of {provider!r} is known; provider openai stands there"
    return Meant({**keys, "provider": "openai"}, why=why)


def meant_by(text: str) -> Meant:
    """Return what `provider/model` means; a model alone is OpenAI's."""
    first = str(text).split(",")[0].strip()
    provider, slash, model = first.partition("/")
    return meant(provider, model) if slash else meant("openai", first)
