"""The words of the code: docstrings of functions begin with a verb, a public name means one thing."""

import ast
import re
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.crews import ROOT
from tests.test_code import MODULES, PACKAGES, name_of

Function = ast.FunctionDef | ast.AsyncFunctionDef
# in the imperative, as a docstring begins; a new one is added here
VERBS = frozenset(
    """
    Add Admit Allow Announce Answer Apply Approve Ask Be Begin Bind Bring Build Call Cancel
    Change Check Claim Close Compare Connect Continue Convert Copy Count Cut Decode Delete
    Describe Do Drain Draw Drop Emit Encode End Erase Escape Estimate Examine Explain Fail Fetch
    Fill Find Finish Follow Forget Format Free Get Give Go Handle Have Hear Hold Import Join
    Keep Kill Know Learn Leave Let List Listen Load Lock Log Look Make Mark Mask Measure Move
    Name Note Notify Open Parse Pass Pause Plant Play Prepare Print Publish Push Put Raise Read
    Receive Record Redact Redirect Refuse Release Reload Remember Remove Render Replace Report
    Request Reserve Resolve Restart Resume Return Run Say See Select Send Serialize Serve Set
    Settle Show Skip Start Stop Store Take Talk Tell Translate Truncate Try Update Use Wait Wake
    Work Write Yield
    """.split()  # noqa: SIM905 # as a list, each word would have a line
)
# public names that several modules define: each backend has its own, and so have commands and
# endpoints, which are called from outside by other names
REPEATED = frozenset(
    ("cancel_run", "do_steps", "examine", "list_runs", "main", "prepare", "replay", "show_run")
)
# there are plainer ones: "the caller", "one worker", "not used", "segment", "visited"
OUT = re.compile(
    r"\b(somebody|someone|nobody|anybody|everybody|whoever|whom|stretch|spoken|unasked)\b",
    re.IGNORECASE,
)
# these have a plainer form, nearly always: "with", "of which", "the question", "a notice"
FEW = re.compile(r"\b(whose|told|tells|asked|those of)\b", re.IGNORECASE)
MAX_FEW = 20
# texts that clients and models read are part of the API
TEXTS = ("server/http/openapi/", "server/http/bodies.py", "tools/builtin/")


def functions(tree: ast.Module) -> Iterator[Function]:
    """Yield the functions that a docstring describes as an act: no property is one."""
    for node in ast.walk(tree):
        if isinstance(node, Function) and not (node.name.startswith("__") or is_property(node)):
            yield node


def is_property(node: Function) -> bool:
    """Return whether a function is read as an attribute."""
    names = [ast.unparse(one) for one in node.decorator_list]
    return any(name in ("property", "cached_property") or ".setter" in name for name in names)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_docstring_begins_with_a_verb(path: Path):
    if name_of(path).startswith(TEXTS):
        return
    for node in functions(ast.parse(path.read_text())):
        words = (ast.get_docstring(node) or "").split()
        assert not words or words[0].strip(".,:;") in VERBS, (node.lineno, node.name, words[:6])


def test_a_public_name_is_defined_once():
    """Of the functions and classes of modules, however far apart they are."""
    places = defaultdict(set)
    for path in MODULES:
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, Function | ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].add(name_of(path))
    repeated = {name: found for name, found in places.items() if len(found) > 1}
    assert repeated.keys() == REPEATED, {
        name: sorted(repeated.get(name, ())) for name in repeated.keys() ^ REPEATED
    }


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_there_are_plainer_words(path: Path):
    """In comments and docstrings, and in names."""
    if name_of(path).startswith(TEXTS):
        return
    with path.open("rb") as code:
        for token in tokenize.tokenize(code.readline):
            is_text = token.type == tokenize.COMMENT or token.string.startswith(('"""', 'r"""'))
            parts = [token.string] if is_text else token.string.replace("_", " ").split()
            if is_text or token.type == tokenize.NAME:
                assert not any(OUT.search(part) for part in parts), (token.start, token.string)


def test_few_docstrings_have_words_of_our_own():
    """The names of parameters are among them."""
    found = []
    for path in MODULES:
        if name_of(path).startswith(TEXTS):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, Function | ast.Module | ast.ClassDef):
                lines = (ast.get_docstring(node) or "").splitlines()
                found += [(name_of(path), line) for line in lines if FEW.search(line)]
    assert len(found) <= MAX_FEW, found


def test_the_packages_are_all_there():
    """Else nothing would be looked at."""
    assert {path.relative_to(ROOT).parts[0] for path in MODULES} == set(PACKAGES)
