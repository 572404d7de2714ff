"""Chats beside each other on a page, and under a page's own styles, in a real browser."""

from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.server.http.test_chat import chat_crew, say, shop_of
from tests.support.browser import NEEDS_CHROMIUM, opened_page

pytestmark = NEEDS_CHROMIUM
STYLED = """() => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync("* { text-transform: uppercase; letter-spacing: 9px }");
  document.adoptedStyleSheets = [sheet];
}"""


def test_two_of_one_person_keep_their_own(browser: Browser, tmp_path: Path):
    """After a reload, too; and what the page sets for all texts changes no words of an approval."""
    crew, users = chat_crew(tmp_path, conversations={}), ("ann", "ann")
    with shop_of(crew, users) as (shop, _), opened_page(browser) as page:
        page.goto(shop.url)
        logs = [page.locator("crew-chat").nth(place).locator("ol.log") for place in (0, 1)]
        for place, words in enumerate(("in the first", "in the second")):
            say(page, words, place)
            expect(logs[place].locator("li.crew").last).to_contain_text("done")
        page.reload()
        for log, own, other in ((logs[0], "first", "second"), (logs[1], "second", "first")):
            expect(log).to_contain_text(f"in the {own}")
            expect(log).not_to_contain_text(f"in the {other}")
        page.evaluate(STYLED)
        say(page, "pay", 0)
        given = page.locator("crew-chat .card pre").first
        expect(given).to_contain_text('"to"')
        assert given.evaluate("one => getComputedStyle(one).textTransform") == "none"


def test_a_person_is_shown_no_signals(browser: Browser, tmp_path: Path):
    """Neither as they come nor after a reload; a question stays where it was asked."""
    crew = chat_crew(tmp_path, conversations={})
    with shop_of(crew) as (shop, _), opened_page(browser) as page:
        page.goto(shop.url)
        log = page.locator("crew-chat ol.log")
        say(page, "ask")
        expect(log).to_contain_text("which one?")
        say(page, "the last")
        expect(log).to_contain_text("done")
        expect(page.locator("crew-chat button.main").last).to_be_enabled()
        for _ in range(2):
            expect(log).to_contain_text("done")
            expect(log).not_to_contain_text("[END]")
            expect(log.get_by_text("which one?")).to_be_visible()
            page.reload()
