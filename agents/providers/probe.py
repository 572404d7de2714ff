"""Whether an endpoint can be used, as its list of models shows."""

import importlib
import json
from dataclasses import dataclass
from fnmatch import fnmatchcase
from http import HTTPStatus
from typing import Any

from agents.errors import ModelError
from agents.providers.client import Client
from tools.text.server_words import words_of
from tools.text.suggest import nearest

# of a list that is read
MAX_MODELS, MAX_LIST_BYTES = 5000, 4 * 2**20
# of those that are named where one is not in the list
MAX_NAMED = 5


@dataclass(frozen=True, slots=True)
class Probe:
    """What a look at an endpoint has shown."""

    # why it cannot be used; None where it answers
    error: str | None = None
    # the models that it lists; None where it lists none
    models: frozenset[str] | None = None

    def missing(self, model: str) -> str | None:
        """Say that a model is not among those that are listed, with the nearest names."""
        if self.models is None or model in self.models or f"{model}:latest" in self.models:
            return None
        plain = _plain(model)
        if any(fnmatchcase(plain, _plain(one)) for one in self.models):
            # Google lists models/NAME, gateways openai/*; OpenRouter takes NAME:nitro
            return None
        near = nearest(model, self.models)
        if near is not None:
            return f"there is no model {model!r}; did you mean {near!r}?"
        named = ", ".join(sorted(self.models)[:MAX_NAMED])
        more = ", …" if len(self.models) > MAX_NAMED else ""
        return f"there is no model {model!r}; it lists {named}{more}"


def _plain(model: str) -> str:
    """Return the name of a model without what lists and requests put around it."""
    return model.removeprefix("models/").partition(":")[0].casefold()


async def probe(client: Client, seconds: float) -> Probe:
    """Ask an endpoint for its models, by the openai package, as other programs would.

    What is wrong is not ours then.
    """
    # it takes half a second to import, which no run should wait for
    openai = importlib.import_module("openai")
    endpoint, connections = client.endpoint, client.connections
    own: dict[str, Any] = dict(client.dialect.headers(endpoint.api_key))
    if own and "Authorization" not in own:
        # what the package would send beside another header for the key
        own["Authorization"] = openai.Omit()
    try:
        http = openai.DefaultAsyncHttpxClient(
            # another host must not get the headers
            follow_redirects=False,
            # the proxy and the authorities are those of the requests
            trust_env=False,
            proxy=connections.proxy,
            verify=connections.certificates() or True,
        )
        asking = openai.AsyncOpenAI(
            base_url=endpoint.path_url,
            # it refuses an empty key, servers that need none ignore it
            api_key=endpoint.api_key or "none",
            default_headers={**own, "Accept-Encoding": "identity", **dict(endpoint.headers)},
            default_query=endpoint.query,
            timeout=seconds,
            max_retries=0,
            http_client=http,
        )
        async with asking, asking.models.with_streaming_response.list() as response:
            return Probe(models=await _names(response))
    except (openai.AuthenticationError, openai.PermissionDeniedError) as error:
        said = words_of(error.response.text, "")
        return Probe(f"{client.place} refuses the key ({error.status_code}){said and f': {said}'}")
    except openai.APIStatusError as error:
        code = error.status_code
        if HTTPStatus.BAD_REQUEST <= code < HTTPStatus.INTERNAL_SERVER_ERROR:
            # one without such a list answers all the same
            return Probe()
        return Probe(f"{client.place} answers with {code}")
    except (openai.APIConnectionError, ModelError) as error:
        return Probe(f"{client.place} does not answer: {error}")
    except (openai.OpenAIError, ValueError, LookupError, TypeError, RecursionError):
        # it answers, and with no list of models
        return Probe()


async def _names(response: Any) -> frozenset[str] | None:
    """Return the names in a list of models; None where it has none that can be read."""
    content = bytearray()
    async for piece in response.iter_bytes():
        content += piece
        if len(content) > MAX_LIST_BYTES:
            return None
    document = json.loads(content)
    if document.get("has_more") is True:
        # there are others
        return None
    found = [one.get("id") for one in document["data"][:MAX_MODELS] if isinstance(one, dict)]
    return frozenset(name for name in found if isinstance(name, str)) or None
