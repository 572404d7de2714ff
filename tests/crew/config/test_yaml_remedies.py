"""Slips of YAML in brackets and quotes: what to write is said of the place itself."""

import pytest

from crew.config.files.yaml_reader import read

SLIPS = {
    "a cron": ("a: { cron: */2 * * * *, query: x }", '"*/2 * * * *"'),
    "a variable": ("a: { url: ${HOOK_URL}, kind: x }", '"${HOOK_URL}"'),
    "no comma": ('a: { signal: "[WEB]" target: web }', "a comma is missing"),
    "no comma behind a plain value": ("a: { scope: crew per: day }", "is missing before per"),
    "nothing behind a bracket": ("agents: [", "is never closed"),
    "another bracket": ("a: [{ b: c ]", "a } is missing before this ]"),
    "a quote within quotes": ("say: 'it's'", "write '' for a '"),
    "a quote of another program": ("a: { signal: \u201c[ENG]\u201d, target: eng }", "U+201C"),
    "a colon of another keyboard": ("role\uff1aeng\nname: x", "U+FF1A"),
    "a place without quotes": ("system_prompt: {{name}}", "put quotes around a text"),
    "a path of Windows": ('p: "C:\\users\\x"', "write \\\\ for a \\"),
}


@pytest.mark.parametrize("name", SLIPS)
def test_what_to_write(name: str):
    text, said = SLIPS[name]
    (problem,) = read("crew.yaml", f"x: y\n{text}\n".encode()).problems
    assert said in problem.message, problem.message
    assert problem.line in (2, 3)


def test_a_merge_that_is_left():
    """Said of its first line, whatever line the parser stops at."""
    text = "id: a\n<<<<<<< HEAD\nrole: x\n=======\nrole: y\n>>>>>>> theirs\n"
    (problem,) = read("agents/a.yaml", text.encode()).problems
    assert (problem.line, problem.column) == (2, 1)
    assert "a merge of git has left both versions here" in problem.message
