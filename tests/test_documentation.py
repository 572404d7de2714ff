"""README and docs: every snippet runs, every link leads somewhere.

How a snippet is written: a fence whose first line is `# name` is a file; the files and commands of a
page share a folder. `sh` lines are commands, which end with 0 unless the line says `# ends with N`;
`crew serve` serves until the page ends, and 8080 stands for its port. The lines of a `text` fence are
in what was printed last. `js` runs in a browser. Only `console` and `mermaid` are not run.
"""

import contextlib
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.support.browser import NEEDS_CHROMIUM
from tests.support.crews import ROOT, copy_example
from tests.support.forked import crew
from tests.support.processes import BIN, PROCESS_SECONDS, clean_environment, serving
from tests.test_code import name_of

DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
PAGES = [path for path in PAGES if not {"generated", "_build"} & set(path.parts)]
FENCE = re.compile(r"^```(\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LANGUAGES = {"yaml", "python", "sh", "text", "js", "console", "mermaid"}
SERVED = "http://127.0.0.1:8080"


def snippets(page: Path) -> list[tuple[str, str]]:
    """Language and text of each fence, without those of Sphinx."""
    found = FENCE.findall(page.read_text())
    return [(language, text) for language, text in found if not language.startswith("{")]


class Shell:
    """Writes the files and runs the commands of a page in a folder."""

    def __init__(self, folder: Path, servers: contextlib.ExitStack) -> None:
        self.folder, self.servers = folder, servers
        self.url = SERVED
        self.printed = ""

    def run(self, language: str, text: str) -> None:
        match language:
            case "yaml" | "python":
                name = text.partition("\n")[0].removeprefix("# ")
                assert re.fullmatch(r"[\w./-]+\.(yaml|py)", name), "the first line names the file"
                (self.folder / name).parent.mkdir(exist_ok=True)
                (self.folder / name).write_text(text)
            case "sh":
                for line in text.splitlines():
                    self.command(line)
            case "text":
                for line in text.splitlines():
                    assert line.strip() in self.printed

    def command(self, line: str) -> None:
        words = shlex.split(line.replace(SERVED, self.url), comments=True)
        given: dict[str, str] = {}
        while re.match(r"[A-Z_]+=", words[0]):
            name, _, value = words.pop(0).partition("=")
            given[name] = value
        if words[:2] == ["crew", "serve"]:
            server = self.servers.enter_context(serving(self.folder / words[2], **given))
            self.url = server.url
            return
        if words[0] == "crew":
            ended = crew(*words[1:], cwd=self.folder)
        else:
            program = BIN / words[0]
            ended = subprocess.run(
                [program if program.exists() else words[0], *words[1:]],
                cwd=self.folder,
                capture_output=True,
                text=True,
                env=clean_environment(),
                timeout=2 * PROCESS_SECONDS,
                stdin=subprocess.DEVNULL,
            )
        self.printed = ended.stdout + ended.stderr
        expected = re.search(r"# ends with (\d)", line)
        assert ended.returncode == int(expected[1] if expected else 0), self.printed


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl on this machine")
# each command takes a second, on a busy machine several
@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_snippet_runs(page: Path, tmp_path: Path):
    """In the order of the page."""
    with contextlib.ExitStack() as servers:
        shell = Shell(tmp_path, servers)
        for language, text in snippets(page):
            assert language in LANGUAGES
            shell.run(language, text)


@NEEDS_CHROMIUM
@pytest.mark.parametrize(
    "page", [page for page in PAGES if "```js" in page.read_text()], ids=name_of
)
def test_every_script_of_a_page_runs(page: Path, browser: Browser, tmp_path: Path):
    """In a page of a server: the stream comes, and ends."""
    with serving(copy_example("hello", tmp_path)) as server:
        for language, text in snippets(page):
            if language == "js":
                opened = browser.new_page()
                opened.goto(server.url)
                with opened.expect_console_message(lambda message: message.text == "ended"):
                    opened.evaluate(text)


def test_the_readme_is_short():
    """At most 150 lines of 100 columns."""
    lines = (ROOT / "README.md").read_text().splitlines()
    assert len(lines) <= 150
    assert max(map(len, lines)) <= 100


@pytest.mark.parametrize(
    "page", [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "examples" / "README.md"], ids=name_of
)
def test_every_link_leads_somewhere(page: Path):
    """To a file of the repository, or to a page that Sphinx generates."""
    for link in re.findall(r"\]\(([^)#:\s]+)\)", page.read_text()):
        assert (page.parent / link).exists() or "generated" in Path(link).parts, link


def test_every_page_is_in_the_index():
    """Or nobody finds it."""
    index = (DOCS / "index.md").read_text()
    for page in PAGES[1:]:
        if page.name != "index.md":
            assert str(page.relative_to(DOCS).with_suffix("")) in index, page
