"""Warnings that are allowed where they stand; and comments that allow nothing."""

from pathlib import Path

import pytest

from tests.support.problems import AGENT, CREW, places, problems

UNUSED = AGENT.replace("id: a", "id: b")


def file(text: str) -> dict[str, str]:
    return {"agents.b": text}


@pytest.mark.parametrize(
    "text",
    [
        UNUSED.replace("id: b", "id: b # crew: allow unused-agent"),
        "# crew: allow unused-agent\n" + UNUSED,
        "# crew: allow unused-agent: next week's\n\n# another comment\n" + UNUSED,
        "#crew:allow unused-agent\n" + UNUSED,
        "id: b # crew: allow unused-agent \t\nname: B\nrole: r\nprovider: scripted\nbackstory: b\n",
        "id: b # Crew: Allow unused-agent\nname: B\nrole: r\nprovider: scripted\nbackstory: b\n",
        "id: 'b' # a note # crew: allow unused-agent\nname: B\nrole: r\nprovider: scripted\nbackstory: b\n",
        "id: b # crew: allow unused-agent, file-name\nname: B\nrole: r\n",
    ],
)
def test_a_warning_is_allowed_in_place(text: str, tmp_path: Path):
    """On its line or above it, alone or with others, with a reason or without."""
    found = places(problems(tmp_path, **{"agents.b": text}))
    assert not any("unused-agent" in one for one in found)


def test_only_there(tmp_path: Path):
    """The same warning at another line stays, and the comment is reported as unused."""
    found = places(problems(tmp_path, **file(UNUSED + "# crew: allow unused-agent\ntop_p: 1\n")))
    assert found == ["agents/b.yaml:1:5 w unused-agent", "agents/b.yaml:6:1 w unused-allow"]


@pytest.mark.parametrize(
    ("comment", "says"),
    [
        ("allow lop", "2:1 w unused-allow (loop)"),
        ("allow", "2:1 w unused-allow"),
        ("alow loop", "2:1 w unused-allow"),
        ("allow trap", "2:1 w unused-allow"),
        ("allow loop", "2:1 w unused-allow"),
    ],
)
def test_an_allowance_that_means_nothing_is_reported(comment: str, says: str, tmp_path: Path):
    """A code that is unknown, one of an error, one that is not there, no code at all."""
    assert places(problems(tmp_path, crew=f"{CREW}# crew: {comment}\n")) == [f"crew.yaml:{says}"]


def test_other_comments_are_no_matter(tmp_path: Path):
    """A crew may be spoken of."""
    assert problems(tmp_path, crew="# crew: my crew\nagents: [a] # crew: all of us\n") == []


def test_errors_are_never_allowed(tmp_path: Path):
    """They stay, whatever a comment says; with an error, other allowances are not judged."""
    found = places(
        problems(
            tmp_path, crew="agents: [a] # crew: allow loop\nnam: x # crew: allow unknown-key\n"
        )
    )
    assert found == ["crew.yaml:2:1 e unknown-key (name)", "crew.yaml:2:8 w unused-allow"]


def test_only_comments_speak(tmp_path: Path):
    """Not what stands in a quoted text or in a block; a comment on a block's first line does."""
    crew = CREW + 'description: "x # crew: allow loop"\nname: |\n  # crew: allow loop\n'
    assert problems(tmp_path, crew=crew) == []
    block = AGENT.replace(
        "You are a.", "| # crew: allow unknown-signal\n  End with [DONE]. # crew: allow loop\n"
    )
    assert problems(tmp_path, **{"agents.a": block}) == []
