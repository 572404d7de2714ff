"""Costs, budgets and reasons in the console, in a real browser."""

import json
from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.crew.costs.test_budgets import PRICES, SAY, WRITER
from tests.server.cli.test_why import AGENTS, FENCE, ROUTING
from tests.support.browser import NEEDS_CHROMIUM, begin, opened_page
from tests.support.crews import write_crew
from tests.support.processes import serving

pytestmark = NEEDS_CHROMIUM


def test_a_full_budget_is_raised_in_the_inbox(browser: Browser, tmp_path: Path):
    """Its pot is shown; nothing, too little, and then enough is given."""
    models = {"large": {"provider": "scripted", "prices": PRICES}}
    budgets = {"today": {"scope": "crew", "per": "day", "tokens": 60, "then": "pause"}}
    folder = write_crew(tmp_path, {"writer": WRITER}, SAY, models=models, budgets=budgets)
    with serving(folder) as server, opened_page(browser) as page:
        begin(page, server, "first")
        expect(page.locator(".chip")).to_have_text("completed")
        expect(page.locator("header.run small")).to_contain_text("26 tokens · $0.04")
        begin(page, server, "second")
        expect(page.locator(".chip")).to_have_text("paused")
        page.goto(f"{server.url}/inbox")
        card = page.locator(".asking")
        expect(card.locator(".form p")).to_contain_text("26 tokens of 60 tokens used")
        page.screenshot(path=tmp_path / "budget.png", full_page=True)
        approve = card.get_by_role("button", name="approve")
        approve.click()
        expect(card.get_by_role("alert")).to_contain_text("tokens")
        tokens = card.get_by_label("Tokens more")
        tokens.fill("0")
        approve.click()
        expect(card.get_by_role("alert")).to_contain_text("tokens: ")
        tokens.fill("500")
        approve.click()
        expect(page.get_by_text("Nobody waits for you.")).to_be_visible()
        page.get_by_role("link", name="Costs").click()
        rows = page.locator(".costs tbody tr")
        expect(rows).to_have_count(1)
        expect(page.locator(".costs tfoot td")).to_have_text(["in all", "2", "24", "28", "$0.08"])
        pot = page.get_by_role("region", name="Budgets").locator(".card")
        expect(pot).to_contain_text("52 / 560 tokens")
        assert pot.locator("meter").evaluate("one => [one.value, one.max]") == [52, 560]
        page.get_by_role("combobox", name="by").select_option("agent,model")
        expect(rows.locator("td")).to_have_text(["writer", "large", "2", "24", "28", "$0.08"])
        page.screenshot(path=tmp_path / "costs.png", full_page=True)
        page.reload()
        expect(rows.locator("td").first).to_have_text("writer")


def test_why_beside_the_events(browser: Browser, tmp_path: Path):
    """The rules of each step with their lines; what is known of one is opened."""
    rules = [{"agent": "desk", "say": FENCE}, {"say": "done"}]
    folder = write_crew(tmp_path, AGENTS, rules, routing=ROUTING)
    with serving(folder) as server, opened_page(browser) as page:
        begin(page, server, "help")
        expect(page.locator(".chip")).to_have_text("completed")
        page.locator("summary", has_text="Why").click()
        step = page.locator("ol.why > li", has_text="desk → hr")
        expect(step.locator("li").first).to_contain_text("[To IT] stands in a code fence")
        expect(step.locator("li.applies")).to_contain_text("defaults go to hr crew.yaml:")
        page.screenshot(path=tmp_path / "why.png", full_page=True)
        answer = page.locator("ol.why > li", has_text="hr answers")
        answer.locator("summary").click()
        facts = json.loads(answer.locator("pre").inner_text())
        assert facts["provider"] == "scripted"
