"""Addresses that lead elsewhere than they look: empty ones, and hosts that no redirect can have."""

from pathlib import Path

import pytest

from crew import check
from tests.support.crews import write_crew


@pytest.mark.parametrize("name", ["lab", "openai"])
@pytest.mark.parametrize("given", ["", "${GATEWAY_URL:-}"])
def test_an_empty_address_is_none(tmp_path: Path, name: str, given: str):
    """The usual one would get the key of a gateway."""
    providers = {name: {"base_url": given, "api_key": "k"}}
    folder = write_crew(tmp_path, {"a": {"is_terminal": True, "provider": name, "model": "m"}})
    write_crew(
        folder,
        {"a": {"is_terminal": True, "provider": name, "model": "m"}},
        providers=providers,
    )
    found = [one for one in check(folder).problems if one.severity == "error"]
    assert [(one.file, one.code) for one in found] == [("crew.yaml", "bad-value")]
    assert "is empty" in found[0].message


@pytest.mark.parametrize("host", ["http://localhost", "127.0.0.1:8080", "a.example/b", "*.example"])
def test_a_redirect_names_a_host(tmp_path: Path, host: str):
    """What else stands there would never be one, and the refusal would be the same for ever."""
    tool = {"kind": "http", "url": "https://a.example/", "description": "x", "redirects": [host]}
    folder = write_crew(tmp_path, {"a": {"tools": ["t"], "is_terminal": True}}, tools={"t": tool})
    (found,) = check(folder).problems
    assert (found.file, found.severity) == ("tools.yaml", "error")
    assert "write the name alone" in found.message
