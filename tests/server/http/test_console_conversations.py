"""The console's pages of conversations, in a real browser."""

import re
from pathlib import Path
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, expect

from tests.end_to_end.test_conversations import API, ask, crew
from tests.support.browser import NEEDS_CHROMIUM, opened_page
from tests.support.crews import write_crew
from tests.support.processes import client, serving, until

pytestmark = NEEDS_CHROMIUM


def test_a_conversation_is_read_and_goes_on(browser: Browser, tmp_path: Path):
    """Found, opened with its summary, asked on, renamed, and deleted with its runs."""
    with serving(crew(tmp_path)) as server, client(server) as http:
        for text in ("I own FPT", "hello"):
            ask(http, text, user_id="ann")
        until(lambda: http.get(f"{API}/c1", params={"user_id": "ann"}).json()["summary"])
        with opened_page(browser) as page:
            page.goto(f"{server.url}/conversations")
            expect(page.get_by_text("No conversations.")).to_be_visible()
            page.get_by_label("user").fill("ann")
            page.get_by_label("user").blur()
            page.get_by_label("Search in questions").fill("own fpt")
            page.get_by_role("link", name="Shares of FPT").click()
            expect(page).to_have_url(f"{server.url}/conversations/c1?user_id=ann")
            expect(page.locator(".speech.mine")).to_have_count(2)
            page.get_by_text("Summary of older exchanges").click()
            expect(page.get_by_text("owns FPT")).to_be_visible()
            assert Axe().run(page).violations_count == 0
            page.get_by_label("Ask the crew").fill("so?")
            page.get_by_role("button", name="Send").click()
            expect(page.get_by_text("You own FPT.", exact=True)).to_be_visible()
            expect(page.locator(".speech.mine")).to_have_count(3)
            page.once("dialog", lambda dialog: dialog.accept("My shares"))
            page.get_by_role("button", name="Rename").click()
            expect(page.get_by_role("heading", name="My shares")).to_be_visible()
            page.once("dialog", lambda dialog: dialog.accept())
            page.get_by_role("button", name="Delete").click()
            expect(page.get_by_text("No conversations.")).to_be_visible()
            page.get_by_role("link", name="Runs").click()
            expect(page.get_by_text("No runs.")).to_be_visible()


def test_a_new_one_and_a_paused_one(browser: Browser, tmp_path: Path):
    """Begun here; what its run asks is shown and answered here, and stays in the exchange."""
    routing = {
        "agent_behaviors": {"a": {"wait_for_signal": True}},
        "signals": {"a": [{"signal": "[END]"}]},
    }
    entry = {"kind": "python", "function": "pay.py:pay", "requires_approval": True}
    rules = [
        {"after": "pay", "say": "Paid. [END]"},
        {"hears": "pay", "say": "", "calls": [{"tool": "pay", "arguments": {}}]},
        {"hears": "blue", "say": "Blue. [END]"},
        {"say": "Which colour?"},
    ]
    made: dict[str, Any] = {"routing": routing, "conversations": {}, "tools": {"pay": entry}}
    folder = write_crew(tmp_path, {"a": {"tools": ["pay"]}}, rules, **made)
    (folder / "pay.py").write_text('def pay() -> str:\n    """Pay."""\n    return "ok"\n')
    with serving(folder) as server, opened_page(browser) as page:
        page.goto(server.url)
        page.get_by_role("link", name="Conversations").click()
        page.get_by_role("button", name="New conversation").click()
        page.get_by_label("Ask the crew").fill("paint it")
        page.get_by_role("button", name="Send").click()
        expect(page.get_by_text("Which colour?", exact=True)).to_be_visible()
        expect(page.get_by_text("It waits for you.")).to_be_visible()
        expect(page.get_by_label("Ask the crew")).to_be_hidden()
        assert Axe().run(page).violations_count == 0
        page.get_by_label("Your answer").fill("blue")
        page.get_by_label("Your answer").press("Enter")
        expect(page.get_by_text("Blue. [END]", exact=True)).to_be_visible()
        expect(page.locator(".speech")).to_have_text(
            [re.compile(one) for one in ("paint it", "Which colour", "blue", "Blue")]
        )
        expect(page.get_by_label("Ask the crew")).to_be_focused()
        page.reload()
        expect(page.locator(".speech")).to_have_count(4)
        # what a tool wants to do is decided here too
        page.get_by_label("Ask the crew").fill("pay it")
        page.get_by_role("button", name="Send").click()
        page.get_by_role("button", name="approve").click()
        expect(page.get_by_text("Paid. [END]", exact=True)).to_be_visible()


def test_the_keyboard_goes_on_with_what_comes_next(browser: Browser, tmp_path: Path):
    """With the question in place of the field that is hidden, and behind an answer with the next query."""
    routing = {
        "agent_behaviors": {"a": {"wait_for_signal": True}},
        "signals": {"a": [{"signal": "[END]"}]},
    }
    rules = [
        {"hears": "blue", "say": "Never said. [END]", "delay_seconds": 600},
        {"say": "Which colour?"},
    ]
    folder = write_crew(tmp_path, {"a": {}}, rules, routing=routing, conversations={})
    with serving(folder) as server, opened_page(browser) as page:
        page.goto(f"{server.url}/conversations")
        page.get_by_role("button", name="New conversation").click()
        page.get_by_label("Ask the crew").fill("paint it")
        page.get_by_label("Ask the crew").press("Enter")
        expect(page.get_by_label("Your answer")).to_be_focused()
        page.keyboard.type("blue")
        page.keyboard.press("Enter")
        expect(page.get_by_label("Now").get_by_text("is thinking")).to_be_visible()
        expect(page.get_by_label("Ask the crew")).to_be_focused()


def test_an_exchange_is_shown_while_it_is_at_work(browser: Browser, tmp_path: Path):
    """What was said so far, and how it ended where it was ended."""
    routing = {"signals": {"a": [{"signal": "[B]", "target": "b"}]}}
    rules = [
        {"agent": "a", "say": "That is for Ben. [B]"},
        {"agent": "b", "say": "Never said.", "delay_seconds": 600},
    ]
    agents: dict[str, Any] = {"a": {"name": "Ann"}, "b": {"name": "Ben", "is_terminal": True}}
    folder = write_crew(tmp_path, agents, rules, routing=routing, conversations={})
    with serving(folder) as server, opened_page(browser) as page:
        page.goto(f"{server.url}/conversations")
        page.get_by_role("button", name="New conversation").click()
        page.get_by_label("Ask the crew").fill("help me")
        page.get_by_role("button", name="Send").click()
        now = page.get_by_label("Now")
        expect(now.get_by_text("That is for Ben.")).to_be_visible()
        expect(now.get_by_text("is thinking")).to_be_visible()
        with client(server) as http:
            (run,) = http.get("/api/crew/runs").json()["runs"]
            http.post(f"/api/crew/runs/{run['run_id']}/cancel")
        expect(now.locator("li")).to_have_count(0)
        ended = page.locator(".speech").last
        expect(ended).to_contain_text("Ann")
        expect(ended).to_contain_text("cancelled")


def test_a_crew_without_conversations_has_no_such_pages(browser: Browser, tmp_path: Path):
    """Nothing leads there."""
    with serving(write_crew(tmp_path, {"a": {}})) as server, opened_page(browser) as page:
        page.goto(server.url)
        expect(page.get_by_role("link", name="Inbox")).to_be_visible()
        expect(page.get_by_role("link", name="Conversations")).to_be_hidden()
