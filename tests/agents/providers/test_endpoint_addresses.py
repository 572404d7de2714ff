"""Addresses and keys as people paste them."""

import asyncio
import subprocess
from pathlib import Path
from typing import Any

import pytest

from crew import check
from tests.support.crews import write_crew
from tests.support.endpoints import crew_at, played
from tests.support.forked import crew
from tests.support.model_server import ModelServer, completion, http, model_server
from tests.support.processes import BIN, PROCESS_SECONDS, clean_environment

OK = [http(200, completion("ok"))]


def lines(server: ModelServer) -> list[str]:
    """What was asked for: the first line of each request."""
    return [head.split("\r\n", 1)[0] for head in server.headers]


PASTED = {
    "azure": (
        "/openai/deployments/gpt?api-version=2024-10-21",
        "/openai/deployments/gpt/chat/completions?api-version=2024-10-21",
    ),
    "azure-as-the-portal-shows-it": (
        "/openai/deployments/gpt/chat/completions?api-version=2024-10-21",
        "/openai/deployments/gpt/chat/completions?api-version=2024-10-21",
    ),
    "a-request": ("/v1/chat/completions", "/v1/chat/completions"),
    "a-slash": ("/v1/", "/v1/chat/completions"),
    "a-line-break": ("/v1\n", "/v1/chat/completions"),
}


@pytest.mark.parametrize("name", PASTED)
async def test_an_address_is_read_as_it_is_meant(tmp_path: Path, name: str):
    """Its path and its query go with every request."""
    pasted, asked = PASTED[name]
    async with model_server(OK) as server:
        url = server.url.removesuffix("/v1")
        folder = crew_at(
            tmp_path,
            url,
            providers={"gw": {"base_url": f"{url}{pasted}", "headers": {"api-key": "k-1234567"}}},
        )
        run = await played(folder)
    assert run.row.answer == "ok"
    assert lines(server) == [f"POST {asked} HTTP/1.1"]
    assert "api-key: k-1234567" in server.headers[0]


async def test_the_look_at_the_models_keeps_the_query(tmp_path: Path):
    """Of `crew doctor`."""
    models = {"object": "list", "data": [{"id": "m-1"}]}
    async with model_server([http(200, models)]) as server:
        folder = crew_at(tmp_path, f"{server.url}?api-version=1")
        ended = await _doctor(folder)
    assert "answers" in ended.stdout
    assert lines(server) == ["GET /v1/models?api-version=1 HTTP/1.1"]


async def _doctor(folder: Path) -> "subprocess.CompletedProcess[str]":
    return await asyncio.to_thread(crew, "doctor", folder)


async def test_a_model_that_is_not_listed_is_an_error(tmp_path: Path):
    """With the nearest name; where no list is given, nothing is said."""
    listed = {"object": "list", "data": [{"id": "m-1"}, {"id": "other"}]}
    async with model_server([http(200, listed)]) as server:
        ended = await _doctor(crew_at(tmp_path, server.url, {"model": "m-9"}))
        assert (ended.returncode, "did you mean 'm-1'?" in ended.stdout) == (1, True)
    async with model_server([http(404, {})]) as server:
        ended = await _doctor(crew_at(tmp_path, server.url, {"model": "m-9"}))
        assert ended.returncode == 0, ended.stdout


@pytest.mark.parametrize("body", [b'{"detail":"Not Found"}', b"404 page not found"])
async def test_a_404_says_that_a_version_may_be_missing(tmp_path: Path, body: bytes):
    """Of an address without one."""
    async with model_server([http(404, body)]) as server:
        bare = await played(crew_at(tmp_path / "1", server.url.removesuffix("/v1")))
        whole = await played(crew_at(tmp_path / "2", server.url))
    assert "/v1" in bare.of("error")[0]["content"].split("answered")[1]
    assert "may be missing" not in whole.of("error")[0]["content"]


def test_an_address_without_a_scheme(tmp_path: Path):
    """The error says what is missing."""
    folder = write_crew(tmp_path, {"a": {}}, providers={"gw": {"base_url": "127.0.0.1:9000/v1"}})
    (problem,) = [one for one in check(folder).problems if one.code == "bad-value"]
    assert "http:// or https:// is missing" in problem.message


WRONG = ["localhost:1234/v1", "ftp://host/v1", "http://user:pass1234@host/v1", "http://"]


@pytest.mark.parametrize("url", WRONG)
def test_a_wrong_address_in_the_environment(tmp_path: Path, url: str):
    """The variable is named, and nothing starts."""
    folder = write_crew(tmp_path, {"a": {"provider": "openai"}})
    environment = clean_environment(OPENAI_BASE_URL=url, OPENAI_API_KEY="sk-12345678")
    for command in (["validate", str(folder)], ["run", str(folder), "go"]):
        ended = subprocess.run(
            [BIN / "crew", *command],
            capture_output=True,
            text=True,
            env=environment,
            timeout=PROCESS_SECONDS,
        )
        assert ended.returncode == 1
        assert "OPENAI_BASE_URL" in ended.stdout + ended.stderr
        assert "pass1234" not in ended.stdout + ended.stderr


async def test_quotes_and_white_space_around_values(tmp_path: Path, monkeypatch: Any):
    """`docker run --env-file` keeps quotes; a secret that is a file ends with a line break."""
    async with model_server(OK) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f'"{server.url}"')
        monkeypatch.setenv("OPENAI_API_KEY", '"sk-12345678"\n')
        await played(crew_at(tmp_path / "1", server.url, {"provider": "openai"}))
        monkeypatch.setenv("GW_KEY", "sk-12345678\r\n")
        keys = {"base_url": server.url, "api_key": "${GW_KEY}", "headers": {"X-K": "${GW_KEY}"}}
        await played(crew_at(tmp_path / "2", server.url, providers={"gw": keys}))
    for head in server.headers:
        assert "authorization: bearer sk-12345678\r\n" in head.lower()
    assert "x-k: sk-12345678\r\n" in server.headers[1].lower()


def test_a_missing_key_is_a_warning(tmp_path: Path):
    """Which names the variable; the environment of the server may be another one."""
    folder = write_crew(tmp_path, {"a": {"provider": "openai"}})
    (problem,) = check(folder, environment={}).problems
    assert (problem.code, "OPENAI_API_KEY" in problem.message) == ("no-key", True)
    assert check(folder, environment={"OPENAI_API_KEY": "sk-12345678"}).problems == ()
    local = {"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}
    assert check(folder, environment=local).problems == ()
