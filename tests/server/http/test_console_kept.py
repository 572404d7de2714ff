"""What a person has typed, searched and looked at in the console stays: when they leave, reload, or are forgotten."""

from pathlib import Path
from typing import Any

import httpx2
from playwright.sync_api import Browser, Page, expect

from tests.support.browser import NEEDS_CHROMIUM, opened_page
from tests.support.crews import copy_example, write_crew
from tests.support.forked import crew
from tests.support.processes import client, serving, until

pytestmark = NEEDS_CHROMIUM
CODE = 'def pay(to: str, n: int) -> str:\n    """Pay."""\n    return "paid"\n'
RULES: list[dict[str, Any]] = [
    {"after": "pay", "say": "It is paid."},
    {"hears": "pay", "calls": [{"tool": "pay", "arguments": {"to": "bob", "n": 7}}]},
    {"hears": "fail", "fail": "refused"},
    {"say": "A good answer."},
]


def paying(folder: Path, **keys: Any) -> Path:
    tool = {"kind": "python", "function": "acts.py:pay", "requires_approval": {"edit": True}}
    agent = {"tools": ["pay"], "is_terminal": True}
    written = write_crew(folder, {"a": agent}, RULES, {"pay": tool}, **keys)
    (written / "acts.py").write_text(CODE)
    return written


def test_what_is_half_written_is_asked_about(browser: Browser, tmp_path: Path):
    """By Back as by a link; changed arguments as words; nothing is asked where nothing was written."""
    with serving(paying(tmp_path / "crew")) as server, opened_page(browser) as page:
        with client(server) as http:
            run = http.post("/api/crew/run", json={"query": "pay bob"}).json()["run_id"]
        page.goto(server.url)
        page.get_by_role("link", name="Inbox").click()
        expect(page.locator(".asking")).to_be_visible()
        page.go_back()
        expect(page.locator("table.runs")).to_be_visible()
        said: list[str] = []
        answers = [False, False, True]

        def decide(dialog: Any) -> None:
            said.append(dialog.message)
            dialog.accept() if answers[len(said) - 1] else dialog.dismiss()

        page.on("dialog", decide)
        page.goto(f"{server.url}/runs/{run}")
        page.get_by_text("Change the arguments").click()
        field = page.locator(".asking textarea").last
        field.fill('{"to": "eve", "n": 1}')
        page.get_by_role("link", name="Tools").click()
        assert len(said) == 1
        expect(field).to_have_value('{"to": "eve", "n": 1}')
        page.evaluate("history.back()")
        page.wait_for_function("location.pathname.startsWith('/runs/')")
        expect(field).to_have_value('{"to": "eve", "n": 1}')
        assert len(said) == 2
        page.get_by_role("link", name="Tools").click()
        expect(page.locator(".tools-page")).to_be_visible()
        assert len(said) == 3


def test_a_token_that_ends_takes_nothing_away(browser: Browser, tmp_path: Path):
    """The page says it, keeps what is typed, and goes on once another tab has given a new one."""
    tokens = tmp_path / "tokens.yaml"
    made = [
        crew("token", "new", name, "--file", tokens).stdout.split()[-1]
        for name in ("first", "second")
    ]
    given = {"CREW_TOKEN_FILE": str(tokens)}
    with serving(paying(tmp_path / "crew"), **given) as server, opened_page(browser) as page:
        wrong: list[str] = []
        page.on("response", lambda one: wrong.append(one.url) if one.status == 401 else None)
        page.clock.install()
        show(page, server.url, made[0])
        ask = page.get_by_label("Ask the crew")
        ask.fill("half a question")
        wrong.clear()
        assert crew("token", "revoke", "first", "--file", tokens).returncode == 0
        forgotten = page.locator("#forgotten")
        while forgotten.is_hidden():
            page.clock.run_for(1000)
        expect(forgotten).to_contain_text("does not take this page's token any more")
        expect(ask).to_have_value("half a question")
        # each look would be one more wrong token, which slow down all of this address
        looked = len(wrong)
        page.clock.run_for(300_000)
        assert len(wrong) == looked
        with page.expect_popup() as popup:
            forgotten.get_by_role("link").click()
        show(popup.value, server.url, made[1])
        expect(forgotten).to_be_hidden()
        expect(ask).to_have_value("half a question")


def show(page: Page, url: str, token: str) -> None:
    page.goto(url)
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Open the console").click()
    expect(page.get_by_label("Ask the crew")).to_be_visible()


def test_the_form_for_a_token_is_in_the_language_of_the_browser(tmp_path: Path):
    with serving(paying(tmp_path), CREW_API_TOKENS="x" * 24) as server:
        headers = {"Accept": "text/html", "Accept-Language": "vi-VN,vi;q=0.9,en;q=0.8"}
        page = httpx2.get(server.url, headers=headers)
        assert page.status_code == 401
        assert '<html lang="vi">' in page.text
        assert "Máy chủ này cần mã truy cập" in page.text
        body = {"token": "wrong"}
        assert (
            "không phải mã" in httpx2.post(f"{server.url}/session", data=body, headers=headers).text
        )


def test_searches_stand_in_the_address(browser: Browser, tmp_path: Path):
    """Of conversations, memory and documents; a reload shows the same, and says nothing is unknown."""
    keys: dict[str, Any] = {
        "conversations": {},
        "memory": {"recall": {}},
        "documents": {"papers": {"description": "of all", "scope": "user", "summaries": "none"}},
    }
    with serving(paying(tmp_path, **keys)) as server, opened_page(browser) as page:
        with client(server) as http:
            http.post("/api/crew/run", json={"query": "about disks", "conversation_id": "c1"})
            http.post("/api/crew/run", json={"query": "about tea", "conversation_id": "c2"})
            for text in ("likes green tea", "has two disks"):
                http.post("/api/crew/users/ann/recall", json={"text": text})
            paper = "/api/crew/documents/papers/t.txt?user_id=ann"
            http.put(paper, content=b"green tea is cheap")
            until(lambda: http.get(paper).json()["status"] == "ready")
        for path, label, found, other in (
            ("/conversations", "Search in questions", "about tea", "about disks"),
            ("/memory?user_id=ann", "Search in what is remembered", "green tea", "two disks"),
            ("/documents?user_id=ann", "Search in documents", "tea is cheap", "nothing"),
        ):
            page.goto(f"{server.url}{path}")
            page.get_by_label(label).fill("tea")
            page.get_by_label(label).press("Enter")
            expect(page.locator("#view")).to_contain_text(found)
            expect(page.locator("#view")).not_to_contain_text(other)
            page.reload()
            expect(page.get_by_label(label)).to_have_value("tea")
            expect(page.locator("#view")).to_contain_text(found)
            expect(page.locator("#view")).not_to_contain_text(other)
            expect(page.get_by_text("is left out")).to_have_count(0)


def test_a_conversation_is_exported(browser: Browser, tmp_path: Path):
    """As a file; the page stays. A decision in it is none of the person's words."""
    with serving(paying(tmp_path, conversations={})) as server, opened_page(browser) as page:
        with client(server) as http:
            body = {"query": "pay bob", "conversation_id": "c1"}
            run = http.post("/api/crew/run", json=body).json()["run_id"]
            http.post(f"/api/crew/runs/{run}/resume", json={"decision": "approve"})
            expect(page.locator("body")).to_be_attached()
        page.goto(f"{server.url}/conversations/c1")
        expect(page.locator("#view")).to_contain_text("It is paid.")
        notes = page.locator(".conversation-page .note")
        expect(notes.first).to_contain_text("Approve?")
        expect(notes.last).to_have_text("approve")
        with page.expect_download() as file:
            page.get_by_role("link", name="Export").click()
        assert "It is paid." in file.value.path().read_text()
        expect(page.locator("#view")).to_contain_text("It is paid.")


def test_ends_are_said_and_the_content_is_one_key_away(browser: Browser, tmp_path: Path):
    """For who does not see the page, or has no mouse."""
    with serving(paying(tmp_path)) as server, opened_page(browser) as page:
        for query, said in (("hello", "completed"), ("fail", "failed")):
            page.goto(server.url)
            page.get_by_label("Ask the crew").fill(query)
            page.locator("#send").click()
            expect(page.locator(".run-page > [aria-live]")).to_contain_text(said)
        page.goto(server.url)
        expect(page.locator("table.runs")).to_be_visible()
        page.get_by_label("Ask the crew").fill("half a question")
        page.locator("#skip").focus()
        page.keyboard.press("Enter")
        expect(page.locator("#view")).to_be_focused()
        expect(page.get_by_label("Ask the crew")).to_have_value("half a question")
        page.reload()
        expect(page.locator("table.runs")).to_be_visible()
        page.keyboard.press("Tab")
        expect(page.get_by_role("link", name="To the content")).to_be_focused()
        page.goto(f"{server.url}/search?q=answer")
        expect(page.locator(".hits > li").first).to_be_visible()
        page.locator("#view").focus()
        page.keyboard.press("j")
        expect(page.locator(".hits a").first).to_be_focused()
        heights = page.evaluate(
            "[...document.querySelectorAll('.hits a')].map((one) => one.getBoundingClientRect().height)"
        )
        assert min(heights) >= 24


def test_the_last_rehearsals_stay_on_the_crews_page(browser: Browser, tmp_path: Path):
    """Their counts, and what they take on the graph, without playing them again."""
    with serving(copy_example("routing", tmp_path)) as server, opened_page(browser) as page:
        page.goto(f"{server.url}/crew")
        page.get_by_role("button", name="Play the rehearsals").click()
        counts = page.locator(".rehearsals .counts")
        expect(counts).to_contain_text("passed")
        before = counts.inner_text()
        page.reload()
        expect(counts).to_contain_text(before)
        expect(page.locator(".graph .way.covered").first).to_be_attached()
