"""Why each hop is taken: by which line of which file, whatever the way."""

from pathlib import Path

import pytest

from crew import load_crew
from server.http.responses import describe_crew
from tests.support.crews import crew_of, play, write_crew

AGENTS = {
    "s": {},
    "a": {},
    "b": {},
    "c": {"handoff_targets": ["d"]},
    "d": {},
    "e": {"is_terminal": True},
}
ROUTING = {
    "defaults": {"s": "g"},
    "parallel_groups": {"g": {"agents": ["a", "b"], "next_agent": "c"}},
}


async def test_every_hop_has_its_line(tmp_path: Path):
    """A default, a group's next agent, a target of an agent's own file, the order of the list."""
    crew = crew_of(tmp_path, AGENTS, [{"say": "x"}], routing=ROUTING)
    played = await play(crew, "go")
    hops = [event["metadata"] for event in played.of("handoff")]
    assert [(hop["from"], hop["to"], hop["why"]) for hop in hops] == [
        ("s", "g", "default"),
        ("g", "c", "group"),
        ("c", "d", "handoff_target"),
        ("d", "e", "order"),
    ]
    for hop, words in zip(hops, ("s: g", "next_agent: c", "- d", "- e"), strict=True):
        file, _, line = hop["source"].partition(":")
        written = (tmp_path / file).read_text().splitlines()[int(line) - 1]
        assert words in (written.strip(), f"{written.strip()}"), (hop, written)


@pytest.mark.parametrize("seen", ["agents", "groups"])
def test_the_crew_is_drawn_as_it_runs(tmp_path: Path, seen: str):
    """Members of a group have no ways of their own: what they say leads on from the group."""
    crew = load_crew(write_crew(tmp_path, AGENTS, [{"say": "x"}], routing=ROUTING))
    sources = {edge["from"] for edge in describe_crew(crew, prompts=False)["routing"]}
    expected = {"agents": {"a", "b"}, "groups": {"g"}}[seen]
    assert (sources & expected) == (expected if seen == "groups" else set())
