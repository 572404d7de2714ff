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
    "a path of Windows": ('p: "C:\\users\\x"', "write \\\\ for a \\"),
}


@pytest.mark.parametrize("name", SLIPS)
def test_what_to_write(name: str):
    text, said = SLIPS[name]
    (problem,) = read("crew.yaml", f"x: y\n{text}\n".encode()).problems
    assert said in problem.message, problem.message
    assert problem.line in (2, 3)
