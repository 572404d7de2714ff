"""Typed answers in the console, in a real browser."""

from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.support.browser import NEEDS_CHROMIUM, begin, opened_page
from tests.support.crews import copy_example
from tests.support.planning import planning, task
from tests.support.processes import serving

pytestmark = NEEDS_CHROMIUM


def test_a_typed_answer_is_a_table(browser: Browser, tmp_path: Path):
    """With what is wrong with one, what is unknown, and the fields that decided."""
    with serving(copy_example("intents", tmp_path)) as server, opened_page(browser) as page:
        begin(page, server, "Is there any sencha?")
        table = page.locator("table.output")
        expect(table.locator("tr")).to_have_text(["intentstock", "cleartrue", "productsgreen tea"])
        expect(page.locator(".talk")).to_contain_text("Unknown: chocolate")
        expect(page.locator(".note.way")).to_contain_text("intent stock, products green tea")
        expect(page.locator(".chip")).to_have_text("completed")
        begin(page, server, "a riddle")
        expect(page.locator(".speech.invalid li")).to_have_text(
            'intent: must be one of stock, talk, not "riddle"'
        )
        expect(page.locator("table.output")).to_have_count(1)


def test_a_plan_is_shown_by_its_tasks(browser: Browser, tmp_path: Path):
    """Each in a lane, with what it needs and how it stands."""
    with serving(copy_example("intents", tmp_path)) as server, opened_page(browser) as page:
        begin(page, server, "compare sencha and coffee")
        expect(page.locator(".chip")).to_have_text("completed")
        graph = page.get_by_role("figure", name="Plan")
        expect(graph.locator(".node.visited text")).to_have_text(
            ["tea · clerk", "coffee · clerk", "both · clerk"]
        )
        expect(graph.locator(".way.taken")).to_have_count(2)
        tasks = page.locator("section.task")
        expect(tasks).to_have_count(3)
        expect(tasks.first.locator("> header")).to_have_text("tea · clerk done")
        expect(tasks.last.locator("> header")).to_have_text("both · clerk ← tea, coffee done")
        expect(tasks.last.locator(".speech")).to_contain_text("There is more tea.")
        expect(page.locator(".talk")).to_contain_text("There is enough of both")
        page.screenshot(path=tmp_path / "plan.png", full_page=True)


def test_a_plan_is_approved_in_the_console(browser: Browser, tmp_path: Path):
    """Planned anew by words first; then as a person has changed it."""
    plan = {"approve": True}
    folder = planning(tmp_path, [task("a")], [task("b")], plan=plan)
    with serving(folder) as server, opened_page(browser) as page:
        begin(page, server, "go")
        card = page.locator(".asking")
        expect(card.locator("pre")).to_contain_text('"id": "a"')
        card.get_by_role("textbox", name="Your answer").fill("otherwise")
        card.get_by_role("button", name="Answer").click()
        expect(card.locator("pre")).to_contain_text('"id": "b"')
        card.get_by_text("Change the arguments").click()
        arguments = card.locator("textarea.arguments")
        arguments.fill(arguments.input_value().replace('"b"', '"mine"'))
        card.get_by_role("button", name="approve").click()
        expect(page.locator(".chip")).to_have_text("completed")
        expect(page.locator("section.task > header")).to_have_text("mine · w done")
