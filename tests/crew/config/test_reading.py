"""What YAML says is read as written; hostile files are refused with a sentence."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from crew import check, load_crew
from crew.config.files.yaml_reader import MAX_BYTES, read
from tests.support.crews import write_crew
from tests.support.problems import AGENT, CREW, places, problems


def test_text_stays_text(tmp_path: Path):
    """What YAML 1.1 would make a number, a truth value or a date."""
    write_crew(tmp_path, {})
    (tmp_path / "crew.yaml").write_text(
        "version: 1.0\nname: yes\nagents: [007]\nrouting: {signals: {007: [{signal: on, target: null}, {signal: 12:30}]}}\nx-note: {a: 1}\n"
    )
    (tmp_path / "agents" / "007.yaml").write_text(
        "id: 007\nname: 1.50\nrole: 2026-01-01\nprovider: scripted\nbackstory: off\ntemperature: null\n"
    )
    (tmp_path / "script.yaml").write_text("rules: [{say: on}]\n")
    crew = load_crew(tmp_path)
    assert (crew.name, list(crew.agents)) == ("yes", ["007"])
    assert (crew.agents["007"].name, crew.agents["007"].temperature) == ("1.50", None)
    assert [route.signal.text for route in crew.routing.routes["007"]] == ["on", "12:30"]


def test_anchors_and_merges_keep_their_places(tmp_path: Path):
    """A mistake in what is merged is reported where it stands."""
    crew = "x-base: &base\n  wait_for_signal: maybe\n  auto_route: false\nagents: [a]\nrouting:\n  agent_behaviors:\n    a:\n      <<: *base\n      auto_route: true\n"
    assert places(problems(tmp_path, crew=crew)) == ["crew.yaml:2:20 e wrong-type"]


def test_go_agentic_spellings_are_read(tmp_path: Path):
    """Flat cost keys and `enforce`."""
    agent = (
        AGENT
        + "max_tokens_per_day: 5\nenforce_cost_limits: true\ncost_limits: {max_tokens_per_call: 7}\n"
    )
    assert problems(tmp_path, **{"agents.a": agent}) == []
    limits = check(tmp_path).files.agents["a"].cost_limits
    assert (limits.max_tokens_per_day, limits.max_tokens_per_call, limits.block_on_cost_exceed) == (
        5,
        7,
        True,
    )


def test_nulls_and_notes_between_names(tmp_path: Path):
    """In mappings by name too: null is nothing in it, `x-` is yours."""
    crew = (
        CREW
        + "providers: {x-base: {a: 1}}\nrouting: {signals: {a: , x-note: 1}, agent_behaviors: {a: }, parallel_groups: }\n"
    )
    assert problems(tmp_path, crew=crew) == []


def test_deep_aliases_are_refused():
    """Each is one level of text, and one more of what it stands for."""
    text = "x-0: &a0 [1]\n" + "".join(f"x-{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 1500))
    assert [problem.code for problem in read("crew.yaml", text.encode()).problems] == ["too-deep"]


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{b}: &{b} [{','.join(['*' + a] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"x" * (MAX_BYTES + 1), "too-large"),
        (b"name: \xff\xfe", "not-utf8"),
        (BOMB.encode(), "too-many-nodes"),
        (b"[" * 100_000, "too-deep"),
        (b"a: &a [*a]", "recursive-alias"),
        (b"a: &a\n  <<: *a\n", "recursive-alias"),
        (b"? [a]\n: b\n", "key"),
        (b"a: 1\n---\nb: 2\n", "syntax"),
        (b"a: *nope\n", "syntax"),
        (b"\x00", "syntax"),
        (b"a: !!binary aGk=\n", "tag"),
        (b"<<: 3\n", "merge"),
        (b"", "empty"),
        (b"# only a comment\n", "empty"),
    ],
)
def test_hostile_files_are_refused(content: bytes, code: str):
    """Each with a sentence, never with a traceback."""
    document = read("crew.yaml", content)
    assert [problem.code for problem in document.problems][:1] == [code]


def test_a_byte_order_mark_is_no_text():
    """Editors on Windows write one."""
    assert read("x", b"\xef\xbb\xbfname: x\n").data == {"name": "x"}


@given(
    st.binary(max_size=300)
    | st.text(alphabet="ab: -[]{}&*!|>'\"#\n\t?,<~%@", max_size=120).map(str.encode)
)
def test_any_bytes_give_data_or_a_problem(content: bytes):
    """Whatever a file holds."""
    document = read("crew.yaml", content)
    assert isinstance(document.data, dict) or document.problems


plain = st.recursive(
    st.text(max_size=8) | st.integers() | st.booleans() | st.none(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(min_size=1, max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(
    st.dictionaries(
        st.sampled_from(
            [
                "agents",
                "name",
                "settings",
                "routing",
                "providers",
                "tools",
                "entry_point",
                "version",
                "x",
            ]
        ),
        plain,
    )
)
def test_any_mapping_gets_a_verdict(tmp_path_factory: pytest.TempPathFactory, data: dict[str, Any]):
    """A crew, or problems with places; never an exception of another kind."""
    folder = tmp_path_factory.mktemp("any")
    for problem in problems(folder, crew=yaml.safe_dump(data)):
        assert problem.line >= 1
        assert problem.column >= 1
        assert problem.message
