"""What an endpoint and model can do and refuse: declared, known by address, or learned.

One table for each model of an endpoint. Requests are made from it, and what a refusal teaches goes
into it (see `providers.lessons`).
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

from pydantic import Field

from tools.schemas.yaml_shape import Shape

MaxTokensKey = Literal["max_tokens", "max_completion_tokens", "none"]
SystemRole = Literal["system", "user"]
EmptyContent = Literal["null", "text", "none"]
Thinking = Literal["send_back", "leave_out"]
CallIds = Literal["sent", "short"]
# of a request, what may be left out of it
# (reasoning_effort: how much it thinks, whatever an API calls it; reasoning_summary: that it says
# what it thinks; prompt_cache: what marks the beginnings that it is to keep)
Parameter = Literal["temperature", "top_p", "reasoning_summary", "reasoning_effort", "prompt_cache"]
PARAMETERS: tuple[Parameter, ...] = get_args(Parameter)
Origin = Literal["declared", "known", "learned"]


@dataclass(frozen=True, slots=True)
class Quirks:
    """How one model of an endpoint is called."""

    # under which key the longest answer is sent
    max_tokens_key: MaxTokensKey = "max_tokens"
    # the longest answer that it may write, in tokens; 0: as long as is wanted
    most_tokens: int = 0
    # what is never sent
    leave_out: tuple[Parameter, ...] = ()
    # where the system prompt stands: a message of its own, or the beginning of the first of a user
    system_role: SystemRole = "system"
    # messages of one role in a row are joined, and the first and the last are a user's
    alternate_roles: bool = False
    # one call in each assistant message
    single_calls: bool = False
    # ids of calls that another model has given: as these were sent, or as nine letters and digits
    call_ids: CallIds = "sent"
    # results of tools have the name of their tool
    named_results: bool = False
    # the content of an assistant message that has calls and no text
    empty_content: EmptyContent = "null"
    # `stream_options` with `include_usage`
    stream_usage: bool = True
    # answers in pieces
    streams: bool = True
    # and only so
    only_streams: bool = False
    # `tools`, `tool_calls`, messages of role `tool`; else calls are text
    native_calls: bool = True
    # calls that stand in the text, between marks or alone, are calls
    written_calls: bool = True
    # `tool_choice`: that tools must be called, or none
    tool_choice: bool = True
    # `response_format` with a JSON schema; else typed answers are asked for in words
    typed_output: bool = True
    # parts of messages that are images
    images: bool = True
    # schemas of tools without keywords that only check, such as `additionalProperties`
    plain_schemas: bool = False
    # what a model thought goes back with the calls that it led to
    thinking: Thinking = "send_back"
    # it is Google's, which signs calls, counts its thoughts in the total alone, and takes no schema
    # beside tools
    google: bool = False


USUAL = Quirks()
KEYS = tuple(field.name for field in fields(Quirks))


class QuirksConfig(Shape):
    """What an endpoint can do and refuses; what is not given is found out.

    A request that is refused is sent again without the cause, once; the process remembers it.
    """

    max_tokens_key: MaxTokensKey | None = None
    """Under which key `max_tokens` is sent; `none`: it is not."""
    most_tokens: int | None = Field(None, gt=0)
    """The longest answer that may be requested, in tokens: a larger `max_tokens` is cut to it."""
    leave_out: list[Parameter] | None = None
    """Sampling parameters that are never sent."""
    system_role: SystemRole | None = None
    """`user`: the system prompt stands at the beginning of the first user message."""
    alternate_roles: bool | None = None
    """Join messages of one role that follow each other; the first and the last are the user's."""
    single_calls: bool | None = None
    """Send each tool call of an answer in a message of its own."""
    call_ids: CallIds | None = None
    """`short`: ids of calls go back as nine letters and digits, as Mistral wants them."""
    named_results: bool | None = None
    """Send the name of its tool with each result, as the layer before Gemini may want it."""
    empty_content: EmptyContent | None = None
    """What the content of a message with calls and no text is: null, an empty text, or left out."""
    stream_usage: bool | None = None
    """Ask for the usage of streamed answers (`stream_options`)."""
    streams: bool | None = None
    """Answers come in pieces where a reader wants them; false: each comes whole."""
    only_streams: bool | None = None
    """Ask for every answer in pieces, also where no reader wants them: it gives none whole."""
    native_calls: bool | None = None
    """Send tools by the API's own means; else the model is told how to call them in text."""
    written_calls: bool | None = None
    """Take calls that a model writes into its text, with its template's marks, for calls."""
    tool_choice: bool | None = None
    """Send `tool_choice`, by which an answer must call a tool, or may call none."""
    typed_output: bool | None = None
    """Send the schema of typed answers (`response_format`); else the model is told it in words."""
    images: bool | None = None
    """Send images as parts of messages; else the model is told in words that there are some."""
    plain_schemas: bool | None = None
    """Leave keywords out of schemas of tools that only check, such as `additionalProperties`."""
    thinking: Thinking | None = None
    """Whether a model's thoughts go back to it with the calls that they led to."""
    google: bool | None = None
    """It is Google's own, which signs calls and takes no schema beside tools; known of provider
    `google` and of Google's address."""

    def declared(self) -> dict[str, Any]:
        """Return what of it is given, as values of Quirks."""
        given = self.model_dump(exclude_none=True)
        if "leave_out" in given:
            given["leave_out"] = tuple(given["leave_out"])
        return given


# what needs not be found out, by the host's name
KNOWN: Mapping[str, dict[str, Any]] = {
    # newer models refuse max_tokens, all know the other
    "api.openai.com": {"max_tokens_key": "max_completion_tokens"},
    "generativelanguage.googleapis.com": {"google": True},
    "api.mistral.ai": {"call_ids": "short"},
}
# the same, by a provider's name
KNOWN_PROVIDERS: Mapping[str, dict[str, Any]] = {
    "google": {"google": True},
    "mistral": {"call_ids": "short"},
}


def known_of(provider: str, base_url: str) -> dict[str, Any]:
    """Return what is known of an endpoint by its name and address, as values of Quirks."""
    host = urlsplit(base_url).hostname or ""
    return {**KNOWN_PROVIDERS.get(provider, {}), **KNOWN.get(host, {})}


@dataclass(slots=True)
class Table:
    """The quirks of one model at one endpoint, and where each comes from."""

    quirks: Quirks
    origins: dict[str, Origin]

    @classmethod
    def of(cls, provider: str, base_url: str, declared: Mapping[str, Any]) -> "Table":
        """Build a table of which nothing is learned yet."""
        known = known_of(provider, base_url)
        origins: dict[str, Origin] = dict.fromkeys(known, "known")
        origins |= dict.fromkeys(declared, "declared")
        return cls(replace(USUAL, **{**known, **declared}), origins)

    def learn(self, asked: Quirks, taught: Quirks) -> bool:
        """Take over what a refusal has taught.

        Requests that are under way at once may each teach something else, or the same.

        Args:
            asked: as the refused request was made.
            taught: the same, with what it has taught.

        Returns:
            Whether it is new.
        """
        values = {key: getattr(taught, key) for key in KEYS}
        changed = {key: value for key, value in values.items() if value != getattr(asked, key)}
        if "leave_out" in changed:
            both = (*self.quirks.leave_out, *changed["leave_out"])
            changed["leave_out"] = tuple(dict.fromkeys(both))
        known, self.quirks = self.quirks, replace(self.quirks, **changed)
        self.origins |= dict.fromkeys(changed, "learned")
        return self.quirks != known

    def document(self) -> dict[str, dict[str, Any]]:
        """Return what is not usual: by key, its value and where it comes from."""
        values = asdict(self.quirks)
        return {
            key: {"value": values[key], "by": origin}
            for key, origin in self.origins.items()
            if origin != "declared" or values[key] != getattr(USUAL, key)
        }


class QuirkTables:
    """The tables of all models that this process has called, in all revisions of a crew."""

    def __init__(self) -> None:
        self._tables: dict[tuple[str, str, str, str, str], Table] = {}

    def of(
        self, provider: str, base_url: str, model: str, declared: Mapping[str, Any], dialect: str
    ) -> Table:
        """Find the table of a model; another declaration has another one.

        Args:
            provider: its name in the configuration.
            base_url: of the endpoint.
            model: as the endpoint names it.
            declared: of crew.yaml, as values of Quirks.
            dialect: of its requests.
        """
        key = (provider, base_url, model, repr(sorted(declared.items())), dialect)
        if key not in self._tables:
            self._tables[key] = Table.of(provider, base_url, declared)
        return self._tables[key]
