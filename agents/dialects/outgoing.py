"""What every dialect is given to make the body of a request."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic_core import to_json

from agents.extras import NO_EXTRAS, ModelExtras
from agents.limits import AUTO
from agents.model import ERROR_MARK, ModelRequest, ShownMessage
from agents.outputs.typed import OutputFormat
from agents.quirks import Quirks
from tools.calls import CallStatus
from tools.handlers.output import format_results

# begins a conversation that would begin with the model's own words, and ends one that would end so
GOES_ON = "(The conversation goes on.)"
# the result of a call that has none
NO_RESULT = f"{ERROR_MARK}the call was not made"
# of thinking, what OpenAI calls otherwise
EFFORTS: Mapping[str, str] = {"max": "xhigh"}
# of a schema, and of a key of caches: OpenAI takes no longer one
MAX_NAME = 64


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One request to one model of an endpoint."""

    # as the endpoint names it
    model: str
    request: ModelRequest
    # of this model at this endpoint
    quirks: Quirks
    # names dialect, provider, address and model; what came from another one is not sent
    source: str
    extras: ModelExtras = NO_EXTRAS

    @property
    def messages(self) -> Sequence[ShownMessage]:
        """The messages, with words in place of images for a model that takes none."""
        shown = self.request.messages
        if self.extras.images and self.quirks.images:
            return shown
        return [without_images(one) if one.images else one for one in shown]

    @property
    def shows_tools(self) -> bool:
        """Whether the tools are sent, and calls by the API's own means."""
        # a server that does not take `none` is shown no tools
        may_be_sent = self.request.tool_choice.mode != "none" or self.quirks.tool_choice
        return bool(self.request.tools) and may_be_sent and self.quirks.native_calls

    @property
    def max_tokens(self) -> int | None:
        """The longest answer that is requested; None: no length is sent."""
        wanted = self.request.max_tokens
        return None if wanted is None else self.bounded(wanted)

    def bounded(self, wanted: int) -> int:
        """Return a length of an answer, or the longest that the model writes."""
        return min(wanted, self.quirks.most_tokens or wanted)

    @property
    def is_streamed(self) -> bool:
        """Whether the answer is to come in pieces."""
        return self.quirks.only_streams or (self.request.stream and self.quirks.streams)

    @property
    def sends_choice(self) -> bool:
        """Whether it is sent what the answer may do with tools."""
        return self.request.tool_choice != AUTO and self.quirks.tool_choice

    @property
    def has_schema(self) -> bool:
        """Whether the schema of a typed answer is sent; else it stands in the prompt."""
        if self.request.output is None or not self.quirks.typed_output:
            return False
        # Google's layer takes no schema beside tools
        return not (self.quirks.google and self.request.tools)

    @property
    def words(self) -> list[str]:
        """What the prompt says besides: how to call tools in text, how to answer."""
        request, out = self.request, []
        if request.tools and not self.quirks.native_calls and request.tool_choice.mode != "none":
            out.append(request.text_call_hint)
        if request.output is not None and not self.has_schema:
            out.append(request.output.words)
        return out

    @property
    def sampling(self) -> dict[str, float]:
        """What is sent of temperature and top_p."""
        request, out = self.request, {}
        if request.temperature is not None and self.sends("temperature"):
            out["temperature"] = request.temperature
        if request.top_p is not None and self.sends("top_p"):
            out["top_p"] = request.top_p
        return out

    def sends(self, parameter: str) -> bool:
        """Return whether a parameter is sent where it is given."""
        return parameter not in self.quirks.leave_out


def strict_schema(output: OutputFormat) -> dict[str, Any]:
    """Return the schema of a typed answer as OpenAI wants it."""
    return {"name": output.name[:MAX_NAME], "strict": True, "schema": output.schema}


def write_calls(shown: Sequence[ShownMessage]) -> list[ShownMessage]:
    """Return native calls and their results as text, for a model that has none."""
    out: list[ShownMessage] = []
    results: list[tuple[str, CallStatus, str]] = []

    def add_results() -> None:
        if results:
            out.append(ShownMessage("user", format_results(results)))
            results.clear()

    for message in shown:
        if message.role == "tool":
            text = message.content.removeprefix(ERROR_MARK)
            results += [(one.tool, one.status, text) for one in message.results]
            continue
        add_results()
        if not message.calls:
            out.append(message)
            continue
        lines = [f"{call.tool}({to_json(call.arguments).decode()})" for call in message.calls]
        content = "\n".join([*([message.content] if message.content else []), *lines])
        out.append(ShownMessage("assistant", content))
    add_results()
    return out


def without_images(message: ShownMessage) -> ShownMessage:
    """Return a message with words in place of its images."""
    count = len(message.images)
    what = "an image that is" if count == 1 else f"{count} images that are"
    note = f"(Here {'is' if count == 1 else 'are'} {what} not shown: this model takes none.)"
    return replace(message, content=f"{message.content}\n{note}", images=())


def with_words(message: ShownMessage, words: Sequence[str]) -> ShownMessage:
    """Return a prompt with what it says besides."""
    return replace(message, content="\n\n".join([message.content, *words])) if words else message
