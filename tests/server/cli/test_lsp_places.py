"""What stands at a place of a file: of any YAML, also cut off anywhere."""

import yaml
from hypothesis import given
from hypothesis import strategies as st

from crew.config.files.yaml_reader import read
from server.authoring.places import context_at, token_at, token_of
from server.authoring.shapes import explained, keys_at, nodes_at

KEYS = st.sampled_from(["agents", "routing", "signals", "desk", "name", "max-x", "a b"])
TEXTS = st.sampled_from(["one", "[X]", "a: b", "🎉 two", "# no", "it's", "", "1", "é"])
VALUES = st.recursive(
    TEXTS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3)
)


PLAIN = st.recursive(
    st.sampled_from(["one", "[X]", "é", "two words"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
)


@given(st.dictionaries(KEYS, PLAIN, min_size=1, max_size=4), st.integers(10, 60))
def test_a_key_in_brackets_over_several_lines_is_in_its_mapping(data: object, width: int):
    inner = {"top": {"below": data}}
    text = yaml.safe_dump(inner, allow_unicode=True, default_flow_style=True, width=width)
    lines = text.splitlines()
    document = read("crew.yaml", text.encode())
    for path, (line, column) in document.keys.items():
        at = context_at(text, line, column)
        assert at.path == tuple(0 if isinstance(one, int) else one for one in path[:-1])
        behind = context_at(text, line, column + len(str(path[-1])) + 2)
        if lines[line - 1][column - 1 :].startswith(f"{path[-1]}: "):
            assert (behind.path, behind.key) == (at.path, path[-1])
            assert path[-1] not in behind.given


def test_a_text_below_what_is_no_key():
    assert context_at("what's new: |\n  hello", 2, 4).path == ()


@given(st.dictionaries(KEYS, VALUES, min_size=1, max_size=4), st.booleans(), st.data())
def test_each_value_is_found_where_it_stands(data: object, flow: bool, draw: st.DataObject):
    text = yaml.safe_dump(data, allow_unicode=True, default_flow_style=flow or None, width=10**6)
    document = read("crew.yaml", text.encode())
    if document.problems:
        return
    lines = text.splitlines()
    for path in document.values:
        token = token_of(document, path, lines, is_key=False) if path else None
        if token is not None:
            assert lines[token.line - 1][token.column - 1 :].startswith(token.text)
            found = token_at(document, token.line, token.column)
            assert found is not None
            assert found.text == token.text
    # the keys above a key are those of its mapping
    for path, (line, column) in document.keys.items():
        at = context_at(text, line, column)
        names = [part for part in at.path if isinstance(part, str)]
        if "{" not in lines[line - 1] and "'" not in text:
            assert names == [part for part in path[:-1] if isinstance(part, str)], (text, path)
    cut = draw.draw(st.integers(0, len(text)))
    before = text[:cut]
    number, rest = before.count("\n") + 1, before.rpartition("\n")[2]
    context_at(before, number, len(rest) + 1)


def test_keys_follow_from_the_shapes():
    assert "target" in keys_at("crew", ("routing", "signals", "desk", 0))
    assert "system_prompt" in keys_at("agent", ())
    assert "argv" in keys_at("tools", ("tools", "disk"))
    assert nodes_at("crew", ("nothing", "like", "it")) == []
    meaning = explained("crew", ("settings", "max_rounds"))
    assert "integer" in meaning
    assert "default" in meaning
    assert explained("crew", ("nothing",)) == ""
