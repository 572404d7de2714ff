"""Servers by name, and their tokens."""

import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.server.cli.test_served import AGENTS, CREW, TOKEN
from tests.support.crews import write_crew
from tests.support.forked import crew
from tests.support.processes import serving


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    return {"XDG_CONFIG_HOME": str(tmp_path / "config")}


def write_profiles(home: dict[str, str], mode: int = 0o600, **profiles: Any) -> Path:
    path = Path(home["XDG_CONFIG_HOME"]) / "crewline" / "profiles.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump({"profiles": profiles}))
    path.chmod(mode)
    return path


def test_servers_by_name(tmp_path: Path, home: dict[str, str]):
    """The token comes from a variable or a program, and is written nowhere."""
    folder = write_crew(tmp_path / "crew", AGENTS, **CREW)
    with serving(folder, CREW_API_TOKENS=f"alice+read:{TOKEN}") as server:
        program = shlex.join([sys.executable, "-c", f"print('{TOKEN}')"])
        added = crew("profile", "add", "prod", server.url, "--token-command", program, **home)
        assert added.returncode == 0, added.stderr
        path = Path(home["XDG_CONFIG_HOME"]) / "crewline" / "profiles.yaml"
        assert path.stat().st_mode & 0o777 == 0o600
        checked = crew("profile", "check", "prod", **home)
        assert "alice: read" in checked.stdout, checked.stderr
        listed = crew("runs", "--profile", "prod", **home)
        assert listed.stderr.splitlines()[0] == f"prod, {server.url}, as alice"
        by_name = crew("runs", CREW_PROFILE="prod", **home)
        assert by_name.stderr.splitlines()[0] == f"prod, {server.url}, as alice"
        crew("profile", "add", "other", server.url, "--token-env", "OTHER", **home)
        assert "other" in crew("profile", "list", **home).stdout
        assert "OTHER is not set" in crew("runs", "--profile", "other", **home).stderr
        assert crew("runs", "--profile", "other", OTHER=TOKEN, **home).returncode == 0
        own = crew("profile", "check", "prod", CREW_TOKEN="of-no-one", **home)
        assert "alice: read" in own.stdout, "its own token comes first"
        # no proxy gets it: this machine needs none, and it would have the token in the clear
        proxies = dict.fromkeys(("http_proxy", "HTTP_PROXY", "ALL_PROXY"), "http://127.0.0.1:9")
        near = crew("runs", "--profile", "prod", **proxies, **home)
        assert near.returncode == 0, near.stderr
        assert crew("runs", "--profile", "other", OTHER=f"{TOKEN}\r", **home).returncode == 0
        empty = crew("runs", "--profile", "other", OTHER="\r\n", CREW_TOKEN="general", **home)
        assert "OTHER is not set" in empty.stderr
        for wrong in (f"{TOKEN}\nx", f"{TOKEN}é"):
            for given in ({"OTHER": wrong}, {"CREW_TOKEN": wrong, "CREW_SERVER": server.url}):
                options = ["--profile", "other"] if "OTHER" in given else []
                refused = crew("runs", *options, **given, **home)
                said = refused.stdout + refused.stderr
                assert (refused.returncode, TOKEN in said) == (2, False), said
                assert "has a character that no token has" in said
        assert crew("profile", "remove", "other", **home).returncode == 0
        unknown = crew("runs", "--profile", "other", **home)
        assert (unknown.returncode, "known: prod" in unknown.stderr) == (2, True)


WRONG_PROFILES: dict[str, tuple[dict[str, Any], str]] = {
    "two lines": ({"token_command": ["printf", "one\ntwo\n"]}, "must print one line"),
    "nothing": ({"token_command": ["true"]}, "must print one line"),
    "an error": ({"token_command": ["false"]}, "has ended with 1"),
    "no program": ({"token_command": ["no-such-program"]}, "cannot be started"),
    "an unknown key": ({"tokens": "x"}, "Extra inputs"),
    "both": ({"token_command": ["true"], "token_env": "X"}, "give one of"),
}


@pytest.mark.parametrize("name", WRONG_PROFILES)
def test_a_wrong_profile_is_said(home: dict[str, str], name: str):
    given, words = WRONG_PROFILES[name]
    write_profiles(home, prod={"url": "http://127.0.0.1:1", **given})
    ended = crew("runs", "--profile", "prod", **home)
    assert (ended.returncode, words in ended.stderr) == (2, True), ended.stderr


def test_others_must_not_read_the_file(home: dict[str, str]):
    write_profiles(home, 0o644, prod={"url": "http://127.0.0.1:1"})
    ended = crew("runs", "--profile", "prod", **home)
    assert (ended.returncode, "chmod 600" in ended.stderr) == (2, True)
