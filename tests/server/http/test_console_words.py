"""The words of the console: those of its modules, and those that come from the server."""

import re
from pathlib import Path
from typing import get_args

from playwright.sync_api import Browser, expect

from crew.journal.events import DoneReason, ErrorReason
from crew.journal.records.audit import AuditAction
from crew.journal.records.rows import NoticeKind
from crew.routing.graph import END_LABELS
from tests.support.browser import NEEDS_CHROMIUM, opened_page
from tests.support.crews import copy_example
from tests.support.processes import client, serving

CONSOLE = Path(__file__).parents[3] / "server" / "console"
# of ways without a signal; see `Edge.label`
LABELS = {*END_LABELS.values(), "next", "then", "target"}


def test_every_word_is_translated():
    """What the modules show by t(…) stands in the Vietnamese list."""
    listed = (CONSOLE / "words.js").read_text()
    used = set[str]()
    for path in CONSOLE.rglob("*.js"):
        used |= set(re.findall(r"\bt\(\"([^\"]+)\"\)", path.read_text()))
    assert len(used) > 40
    missing = [word for word in used if f'"{word}":' not in listed and f"{word}:" not in listed]
    assert missing == []


def test_every_name_of_the_server_is_translated():
    """Reasons, actions, news and ways, as the server's own types have them."""
    listed = (CONSOLE / "named.js").read_text()
    kinds = dict(re.findall(r"^  (\w+): \{(.*?)\},?$", listed, re.MULTILINE | re.DOTALL))
    for kind, names in (
        ("reason", {*get_args(DoneReason), *get_args(ErrorReason)}),
        ("act", set(get_args(AuditAction))),
        ("news", set(get_args(NoticeKind))),
        ("edge", LABELS),
    ):
        known = set(re.findall(r"\"?\b([\w ]+?)\"?: \"", kinds[kind]))
        assert names - known == set(), kind


@NEEDS_CHROMIUM
def test_pages_in_vietnamese(browser: Browser, tmp_path: Path):
    """How a run went, what was compared and who did what have no English words of the server."""
    with serving(copy_example("routing", tmp_path)) as server:
        with client(server) as http:
            runs = [
                http.post("/api/crew/run", json={"query": query}).json()["run_id"]
                for query in ("hello", "the disk is broken")
            ]
        with opened_page(browser, locale="vi-VN") as page:
            for path in (
                f"/runs/{runs[0]}",
                f"/runs/{runs[0]}?open=why",
                f"/compare?a={runs[0]}&b={runs[1]}",
                "/audit",
                "/?columns=query,reason",
                "/crew",
            ):
                page.goto(f"{server.url}{path}")
                expect(page.locator("#view > *").first).to_be_visible()
                expect(page.locator("#view")).to_contain_text(re.compile("[ăâđêôơưạảấậắếệịọộớụứ]"))
                shown = page.locator("#view").inner_text()
                assert not re.search(r"\b(answers|begins|ends|no_next_agent|terminal ·)\b", shown)
            assert page.locator("#language").get_attribute("aria-label") == "Ngôn ngữ"
