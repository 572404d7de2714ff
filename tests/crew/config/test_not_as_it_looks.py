"""What leads elsewhere than it looks: empty addresses, hosts of redirects, backups, signals."""

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


def test_a_backup_that_is_no_other_model(tmp_path: Path):
    agent = {"is_terminal": True, "provider": "lab", "model": "m"}
    providers = {"lab": {"base_url": "http://127.0.0.1:9/v1"}}
    backup = {"provider": "lab", "model": "m"}
    folder = write_crew(tmp_path, {"a": {**agent, "backup": backup}}, providers=providers)
    (found,) = check(folder).problems
    assert (found.code, found.file) == ("ignored-key", "agents/a.yaml")
    assert "backup has no effect: it is the agent's own model" in found.message
    write_crew(tmp_path, {"a": {**agent, "backup": {**backup, "model": "n"}}}, providers=providers)
    assert check(folder).problems == ()


def test_a_signal_with_what_is_not_seen(tmp_path: Path):
    """Copied with a word: no agent would write it, and the way would never be taken."""
    signals = {
        "a": [{"signal": "[EN\u200bG]", "target": "b"}, {"signal": "[👩\u200d🔧]", "target": "b"}]
    }
    folder = write_crew(
        tmp_path, {"a": {}, "b": {"is_terminal": True}}, routing={"signals": signals}
    )
    found = [one for one in check(folder).problems if one.severity == "error"]
    assert [(one.file, one.code) for one in found] == [("crew.yaml", "bad-value")]
    assert "U+200B (zero width space)" in found[0].message
