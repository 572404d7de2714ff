"""Several files are written as a whole or not at all, and literal secrets stay in them."""

import itertools
import os
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crew.config.files.masking import hidden, put_back
from crew.config.files.saving import HIDDEN, finish_save, save_files
from crew.config.files.sources import read_sources

NAMES = ("crew.yaml", "agents/one.yaml", "agents/two.yaml")


def version(word: str) -> dict[str, bytes]:
    return {name: f"name: {word}\nof: {name}\n".encode() * 50 for name in NAMES}


def save_until_killed(folder: Path, step: int) -> bool:
    """Save in another process that is killed at a step; whether it was."""
    if (child := os.fork()) == 0:
        steps = itertools.count(1)

        def kill_at_step(event: str, given: object) -> None:
            if event.startswith(("os.", "open", "shutil.")) and next(steps) == step:
                os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(kill_at_step)
        save_files(folder, {**version("second"), "new.yaml": b"name: new\n"}, ("old.yaml",))
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def test_a_save_that_is_killed_leaves_the_old_or_the_new(tmp_path: Path):
    """At each step that touches files; the next reader finishes what was valid."""
    found = []
    for step in itertools.count(1):
        folder = tmp_path / str(step)
        save_files(folder, {**version("first"), "old.yaml": b"name: old\n"}, ())
        was_killed = save_until_killed(folder, step)
        files = read_sources(folder).files
        word = files["crew.yaml"].split()[1].decode()
        assert {name: files[name] for name in NAMES} == version(word), step
        assert (folder / "old.yaml").exists() == (word == "first"), step
        assert (folder / "new.yaml").exists() == (word == "second"), step
        found.append(word)
        save_files(folder, version("last"), ())
        assert [one.name for one in (folder / HIDDEN).iterdir()] == ["save.lock"], step
        if not was_killed:
            break
    assert len(found) > 20
    assert found == sorted(found), "from one step on it is the new one"


def test_what_was_valid_is_finished_by_the_next_reader(tmp_path: Path):
    save_files(tmp_path, version("first"), ())
    made = tmp_path / HIDDEN / "save"
    made.mkdir()
    (made / "0").write_bytes(b"name: second\n")
    # the second one was moved already
    contents = (
        '{"changed": {"crew.yaml": "0", "agents/one.yaml": "1"}, "gone": ["agents/two.yaml"]}'
    )
    (made / "contents.json").write_text(contents)
    finish_save(tmp_path)
    assert (tmp_path / "crew.yaml").read_bytes() == b"name: second\n"
    assert (tmp_path / "agents/one.yaml").read_bytes() == version("first")["agents/one.yaml"]
    assert not (tmp_path / "agents/two.yaml").exists()
    assert not made.exists()


@pytest.mark.parametrize(
    "contents",
    [
        '{"changed": {"../out.yaml": "0"}, "gone": []}',
        '{"changed": {"OUT/out.yaml": "0"}, "gone": []}',
        '{"changed": {"link/out.yaml": "0"}, "gone": []}',
        '{"changed": {}, "gone": ["../out.yaml"]}',
        '{"changed": {"crew.yaml": "../../../out.yaml"}, "gone": []}',
        "[1]",
        "no JSON",
    ],
)
def test_a_foreign_save_writes_nothing_outside(tmp_path: Path, contents: str):
    """A folder of others may have one; it is a problem of the folder, in words."""
    folder, out = tmp_path / "crew", tmp_path / "out.yaml"
    out.write_text("mine")
    made = folder / HIDDEN / "save"
    made.mkdir(parents=True)
    (folder / "link").symlink_to(tmp_path)
    (made / "0").write_text("theirs")
    (made / "contents.json").write_text(contents.replace("OUT", str(tmp_path)))
    (folder / "crew.yaml").write_text("name: x\n")
    problems = read_sources(folder).problems
    assert [one.code for one in problems] == ["unreadable"]
    assert "interrupted" in problems[0].message
    assert out.read_text() == "mine"
    assert (folder / "crew.yaml").read_text() == "name: x\n"


def test_modes_stay(tmp_path: Path):
    save_files(tmp_path, version("first"), ())
    (tmp_path / "crew.yaml").chmod(0o600)
    save_files(tmp_path, version("second"), ())
    modes = [(tmp_path / name).stat().st_mode & 0o777 for name in NAMES]
    assert modes == [0o600, 0o644, 0o644]


SECRETS = st.text("abcdefghijk0123456789-_.", min_size=12, max_size=30).filter(
    lambda text: text[0].isalpha()
)
QUOTES = st.sampled_from(["", '"', "'"])


@given(SECRETS, SECRETS, QUOTES, QUOTES, st.booleans())
def test_hidden_secrets_are_put_back(one: str, two: str, q: str, p: str, flow: bool):
    """Whatever their quotes and the style of the mapping; other bytes stay as they are."""
    first = (
        f"{{base_url: http://x, api_key: {q}{one}{q}}}" if flow else f"\n    api_key: {q}{one}{q}"
    )
    text = (
        f"# the key was {one}\nname: x\nproviders:\n  a: {first}\n"
        f"  b:\n    api_key: {p}{two}{p}  # note\n    base_url: http://y\n"
    )
    shown = hidden("crew.yaml", text)
    assert one not in shown
    assert two not in shown
    assert put_back("crew.yaml", shown, text) == (text, [])
    edited = shown.replace("name: x", "name: y").replace("  b:\n", "  b:\n    # more\n")
    assert put_back("crew.yaml", edited, text) == (
        text.replace("name: x", "name: y").replace("  b:\n", "  b:\n    # more\n"),
        [],
    )
    _, problems = put_back("crew.yaml", shown.replace("  b:\n", "  c:\n"), text)
    assert [problem.code for problem in problems] == ["unset-variable"]


def test_a_secret_is_not_put_back_elsewhere():
    """Two places that look alike while they are hidden have secrets of their own."""
    text = "providers:\n  a:\n    api_key: secret-of-a-1234\n  b:\n    api_key: secret-of-b-5678\n"
    shown = hidden("crew.yaml", text)
    swapped = shown.replace("  a:", "  z:").replace("  b:", "  a:").replace("  z:", "  b:")
    restored, problems = put_back("crew.yaml", swapped, text)
    assert problems == []
    assert restored == (
        "providers:\n  b:\n    api_key: secret-of-b-5678\n  a:\n    api_key: secret-of-a-1234\n"
    )
