"""What goes over the wire: as the openai package would send it, through proxies, over TLS."""

import asyncio
import contextlib
import gzip
import socket
import ssl
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import openai
import pytest

from agents import Model, ModelError, ModelRequest
from agents.config import ModelConfig
from agents.endpoint import ProviderConfig
from agents.errors import ProviderError
from agents.model import ModelEvent
from agents.providers.catalog import Catalog
from agents.providers.probe import probe as probe_of
from agents.tokenizing.tokens import TokenRatios
from tests.support.certificates import make_certificate
from tests.support.model_server import ModelServer, chunks, completion, http, model_server
from tests.support.shown import shown_message
from tools.clock import SYSTEM_CLOCK
from tools.limits.guards import Guards
from tools.text.secrets import Secrets

SECRET = "sk-very-secret-header"
ASKED: Any = {"role": "user", "content": "hi é"}


@asynccontextmanager
async def model_at(url: str, name: str = "mine", **keys: Any) -> AsyncIterator[Model]:
    """A model of an address, which is asked once."""
    async with catalog_at(url, name, **keys) as catalog:
        yield catalog.model(ModelConfig(model="m", provider=name))


async def probe(url: str, **keys: Any) -> str | None:
    """What `crew doctor` says of an address; None: nothing is wrong."""
    async with catalog_at(url, "mine", **keys) as catalog:
        catalog.model(ModelConfig(model="m", provider="mine"))
        (client,) = catalog.clients.values()
        return (await probe_of(client, 5)).error


@asynccontextmanager
async def catalog_at(url: str, name: str, **keys: Any) -> AsyncIterator[Catalog]:
    config = ProviderConfig.model_validate({"base_url": url, "max_retries": 0, **keys})
    guards, ratios = Guards(SYSTEM_CLOCK), TokenRatios()
    catalog = Catalog({name: config}, None, 0, 0, SYSTEM_CLOCK, Secrets(), guards, ratios)
    try:
        yield catalog
    finally:
        await catalog.aclose()


async def ask(model: Model) -> str:
    return (await model.reply(ModelRequest("a", [shown_message(ASKED)]), _ignore)).content


async def _ignore(event: ModelEvent) -> None:
    pass


def request_of(server: ModelServer) -> tuple[str, dict[str, str], dict[str, Any]]:
    """The newest: its first line, its headers, its body."""
    first, *lines = server.headers[-1].strip().split("\r\n")
    pairs = (line.split(": ", 1) for line in lines)
    return first, {name.lower(): text for name, text in pairs}, server.asked[-1]


async def test_a_connection_that_was_closed_while_the_event_loop_was_busy():
    """It is not used again: no attempt is lost (`max_retries` is 0)."""
    listener, closed = socket.create_server(("127.0.0.1", 0)), threading.Event()

    def serve() -> None:
        for _ in range(2):
            connection, _ = listener.accept()
            with connection:
                data = b""
                while b"}" not in data:
                    data += connection.recv(65_536)
                connection.sendall(http(200, completion()))
            closed.set()

    threading.Thread(target=serve, daemon=True).start()
    async with model_at(f"http://127.0.0.1:{listener.getsockname()[1]}/v1") as model:
        assert await ask(model) == "ok"
        # the event loop is busy meanwhile, so it does not see the end
        closed.wait()
        assert await ask(model) == "ok"
    listener.close()


@pytest.mark.parametrize("headers", [{}, {"authorization": "Basic eHl6", "X-Team": "blue"}])
async def test_the_same_is_sent_as_by_the_openai_package(headers: dict[str, str]):
    """The path, the body, the key, and headers of the configuration, which come before ours."""
    async with model_server([http(200, completion())]) as server:
        async with openai.AsyncOpenAI(
            base_url=server.url, api_key="k", default_headers=headers
        ) as client:
            await client.chat.completions.create(model="m", messages=[ASKED])
        first, theirs, body = request_of(server)
        async with model_at(server.url, api_key="k", headers=headers) as model:
            await ask(model)
        ours = request_of(server)
    assert (ours[0], ours[2]) == (first, body)
    names = ("host", "authorization", "content-type", "accept", "x-team")
    assert {name: ours[1].get(name) for name in names} == {name: theirs.get(name) for name in names}


async def test_an_address_may_have_any_characters():
    """They are sent as URLs have them."""
    async with model_server([http(200, completion())]) as server:
        async with model_at(server.url.replace("/v1", "/đội%20a/v1/")) as model:
            assert await ask(model) == "ok"
        assert request_of(server)[0].split()[1] == "/%C4%91%E1%BB%99i%20a/v1/chat/completions"


async def test_without_a_key_none_is_sent():
    """Servers that need none ignore it; a proxy of theirs may not."""
    async with model_server([http(200, completion())]) as server, model_at(server.url) as model:
        await ask(model)
    assert "authorization" not in request_of(server)[1]


async def test_for_whom_openai_counts(monkeypatch: pytest.MonkeyPatch):
    """By the variables of its own package; no other provider is told."""
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-1")
    async with model_server([http(200, completion())]) as server:
        async with model_at(server.url) as model:
            await ask(model)
        assert "openai-organization" not in request_of(server)[1]
        async with model_at(server.url, name="openai", api_key="k") as model:
            await ask(model)
        headers = request_of(server)[1]
        assert (headers["openai-organization"], headers["openai-project"]) == ("org-1", "proj-1")
        given = {"openai-organization": "org-2"}
        async with model_at(server.url, name="openai", api_key="k", headers=given) as model:
            await ask(model)
        assert server.headers[-1].lower().count("openai-organization") == 1
        assert request_of(server)[1]["openai-organization"] == "org-2"


async def test_a_connection_is_used_again():
    """By the next request; a new one is made where the server has closed it."""
    ports = set()
    closing = http(200, completion(), "connection: close\r\n")
    async with model_server([http(200, completion()), closing, http(200, completion())]) as server:
        serve = server.serve

        async def note(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            ports.add(writer.get_extra_info("peername")[1])
            await serve(reader, writer)

        own = await asyncio.start_server(note, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{own.sockets[0].getsockname()[1]}/v1"
        async with model_at(url) as model:
            for _ in range(4):
                assert await ask(model) == "ok"
        own.close()
    assert len(ports) == 2


async def test_a_connection_is_used_again_after_a_stream():
    """Though the end of the stream comes behind its last event."""
    ports = []
    _, _, chunk = chunks({"content": "ok"}).partition(b"\r\n\r\n")

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ports.append(writer.get_extra_info("peername")[1])
        with contextlib.suppress(asyncio.IncompleteReadError):
            while head := (await reader.readuntil(b"\r\n\r\n")).decode().lower():
                await reader.readexactly(int(head.partition("content-length: ")[2].split()[0]))
                writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
                writer.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
                await writer.drain()
                for _ in range(20):
                    # the client reads meanwhile
                    await asyncio.sleep(0)
                writer.write(b"0\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    async with model_at(url) as model:
        for _ in range(5):
            request = ModelRequest("a", [shown_message(ASKED)], stream=True)
            assert (await model.reply(request, _ignore)).content == "ok"
    server.close()
    assert len(ports) == 1


async def test_long_headers_are_read():
    """Gateways send long policies."""
    async with model_server([http(200, completion(), f"x-policy: {'p' * 20_000}\r\n")]) as server:
        async with model_at(server.url) as model:
            assert await ask(model) == "ok"


@pytest.mark.parametrize(
    ("names", "url", "is_direct"),
    [
        ("10.0.0.0/8", "http://10.1.2.3/v1", True),
        ("10.0.0.0/8, .svc", "http://11.1.2.3/v1", False),
        ("a.example, ::1", "http://[::1]:8000/v1", True),
        ("fd00::/8", "http://[fd12::1]/v1", True),
        ("*.x.example", "https://api.x.example/v1", True),
        ("*.x.example", "https://apix.example/v1", False),
        (".x.example", "https://api.x.example/v1", True),
        ("x.example:8443", "https://x.example:8443/v1", True),
        ("*", "https://api.x.example/v1", True),
        ("", "https://api.x.example/v1", False),
    ],
)
async def test_what_no_proxy_names(
    monkeypatch: pytest.MonkeyPatch, names: str, url: str, is_direct: bool
):
    """In all forms that other programs know: a proxy must not get what is not for it."""
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.setenv("NO_PROXY", names)
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    async with catalog_at(url, "mine") as catalog:
        catalog.model(ModelConfig(model="m", provider="mine"))
        (client,) = catalog.clients.values()
        assert (client.connections.proxy is None) == is_direct


async def test_a_proxy_of_the_environment(monkeypatch: pytest.MonkeyPatch):
    """With its password; not for an endpoint that NO_PROXY names."""
    async with model_server([http(200, completion())]) as server:
        address = server.url.removeprefix("http://").removesuffix("/v1")
        monkeypatch.setenv("HTTP_PROXY", f"http://u:pass-of-proxy@{address}")
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        async with model_at("http://models.example/v1") as model:
            assert await ask(model) == "ok"
        first, headers, _ = request_of(server)
        assert first.startswith("POST http://models.example/v1/chat/completions ")
        assert headers["proxy-authorization"].startswith("Basic ")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        async with model_at(server.url) as model:
            await ask(model)
        assert request_of(server)[0].startswith("POST /v1/chat/completions ")


async def test_a_proxy_that_cannot_be_used(monkeypatch: pytest.MonkeyPatch):
    """One of another kind is told at once, one that is gone at the request, without its password."""
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:1080")
    with pytest.raises(ProviderError, match="one of socks5"):
        async with model_at("https://models.example/v1"):
            pass
    monkeypatch.setenv("HTTPS_PROXY", "http://u:pass-of-proxy@127.0.0.1:1")
    async with model_at("https://models.example/v1") as model:
        with pytest.raises(ModelError, match=r"no connection.*127\.0\.0\.1") as caught:
            await ask(model)
    assert "pass-of-proxy" not in str(caught.value)
    async with model_server([http(407, b"")]) as server:
        monkeypatch.setenv("HTTPS_PROXY", server.url.removesuffix("/v1"))
        async with model_at("https://models.example/v1") as model:
            with pytest.raises(ModelError, match="the proxy answered 407") as caught:
                await ask(model)
    assert caught.value.code == "connection"


async def test_certificates_are_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Against the authorities of the machine, or those of SSL_CERT_FILE."""
    key, chain = make_certificate(tmp_path)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(chain, key)
    async with model_server([http(200, completion())]) as inner:
        server = await asyncio.start_server(inner.serve, "localhost", 0, ssl=context)
        url = f"https://localhost:{server.sockets[0].getsockname()[1]}/v1"
        async with model_at(url) as model:
            with pytest.raises(ModelError, match="CERTIFICATE_VERIFY_FAILED") as caught:
                await ask(model)
        assert caught.value.code == "connection"
        assert inner.asked == []
        monkeypatch.setenv("SSL_CERT_FILE", str(chain))
        async with model_at(url) as model:
            assert await ask(model) == "ok"
        server.close()


async def test_what_the_doctor_says_of_an_endpoint():
    """By its list of models; one that has none answers all the same."""
    for answer, said in [
        (http(200, {"object": "list", "data": []}), None),
        (http(404, {}), None),
        (http(401, {}), "refuses the key (401)"),
        (http(500, {}), "answers with 500"),
        (http(200, gzip.compress(b"0" * 40_000_000), "content-encoding: gzip\r\n"), None),
        (http(200, b"<html>"), None),
    ]:
        async with model_server([answer]) as server:
            wrong = await probe(server.url, api_key="k", headers={"X-Team": "blue"})
            first, headers, _ = request_of(server)
        assert (wrong is None) is (said is None), wrong
        assert said is None or said in str(wrong)
        assert first.startswith("GET /v1/models ")
        assert (headers["authorization"], headers["x-team"]) == ("Bearer k", "blue")


async def test_the_doctor_asks_no_other_host():
    """A redirect is not followed: the headers of the configuration are secrets."""
    async with model_server([http(200, {"object": "list", "data": []})]) as other:
        there = http(302, b"", f"location: {other.url}/models\r\n")
        async with model_server([there]) as server:
            wrong = await probe(server.url, headers={"X-Api-Key": SECRET})
        assert "answers with 302" in str(wrong)
        assert other.headers == []


async def test_the_doctor_asks_as_runs_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, certificate_server: tuple[str, Path]
):
    """By the same proxy, or none; with the same authorities."""
    url, chain = certificate_server
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:1080")
    monkeypatch.setenv("NO_PROXY", "localhost,127.0.0.1")
    assert "does not answer" in str(await probe(url))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none.pem"))
    assert "SSL_CERT_FILE or SSL_CERT_DIR names what cannot be read" in str(await probe(url))
    monkeypatch.setenv("SSL_CERT_FILE", str(chain))
    assert await probe(url) is None
    monkeypatch.delenv("NO_PROXY")
    async with model_server([http(200, {"object": "list", "data": []})]) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url.removesuffix("/v1"))
        assert await probe("http://models.example/v1") is None
        assert request_of(proxy)[0].startswith("GET http://models.example/v1/models ")


@pytest.fixture
async def certificate_server(tmp_path: Path) -> AsyncIterator[tuple[str, Path]]:
    """An https address that answers with models, and the file of its authority."""
    key, chain = make_certificate(tmp_path)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(chain, key)
    inner = ModelServer(lambda _: http(200, {"object": "list", "data": []}))
    server = await asyncio.start_server(inner.serve, "localhost", 0, ssl=context)
    yield f"https://localhost:{server.sockets[0].getsockname()[1]}/v1", chain
    server.close()
