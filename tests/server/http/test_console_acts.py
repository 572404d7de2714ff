"""What a person does on the console's pages: starts again, copies, cancels; what is told meanwhile."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.browser import NEEDS_CHROMIUM, begin, opened_page
from tests.support.crews import copy_example, write_crew
from tests.support.forked import crew as command
from tests.support.held import HeldModel, at_work
from tests.support.processes import ServerProcess, client, serving, until
from tests.support.served_crew import until_status

pytestmark = NEEDS_CHROMIUM
# what the page tells the browser, in place of what the browser would show
RECORDED = """
window.told = [];
window.Notification = class {
  static permission = "granted";
  constructor(title, { body }) { window.told.push(`${title}: ${body}`); }
};
navigator.setAppBadge = async (count) => { window.badge = count; };
Object.defineProperty(document, "hidden", { get: () => window.isHidden ?? false });
"""
RULES = [
    {"agent": "b", "say": "b is here"},
    {"hears": "long", "say": "x", "delay_seconds": 600},
    {"say": "which?"},
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory):
    """Of a crew that asks, of whom a client may start another agent."""
    folder = write_crew(
        tmp_path_factory.mktemp("crew"),
        {"a": {}, "b": {"is_terminal": True}},
        RULES,
        routing={"agent_behaviors": {"a": {"wait_for_signal": True}}},
        settings={"client_start_agents": ["b"]},
    )
    with serving(folder) as started:
        yield started


def started(server: ServerProcess, query: str, **more: Any) -> str:
    with client(server) as http:
        return str(http.post("/api/crew/runs", json={"query": query, **more}).json()["run_id"])


def run_of(server: ServerProcess, page: Page) -> dict[str, Any]:
    with client(server) as http:
        document: dict[str, Any] = http.get(f"/api/crew/runs/{page.url.rsplit('/', 1)[1]}").json()
        return document


def test_run_again_begins_as_the_run_did(browser: Browser, server: ServerProcess):
    """At the same agent, with the same priority."""
    run_id = started(server, "hello", resume_agent_id="b", priority=3)
    until_status(server, run_id, "completed")
    with opened_page(browser) as page:
        page.goto(f"{server.url}/runs/{run_id}")
        expect(page.locator(".note.done")).to_be_visible()
        page.get_by_role("button", name="Run again").click()
        page.wait_for_url(re.compile(rf"/runs/(?!{run_id})"))
        expect(page.locator(".speech").last).to_contain_text("b is here")
        again = run_of(server, page)
        assert (again["query"], again["priority"], again["agent_id"]) == ("hello", 3, "b")


def test_a_run_is_cancelled(browser: Browser, server: ServerProcess):
    """While it is at work; its time and tokens are told meanwhile."""
    with opened_page(browser) as page:
        begin(page, server, "long")
        expect(page.locator(".run small")).to_contain_text("0 tokens")
        page.get_by_role("button", name="Cancel").click()
        expect(page.locator(".chip").first).to_have_text("cancelled")
        assert run_of(server, page)["reason"] == "cancelled"


def test_events_are_copied(browser: Browser, server: ServerProcess):
    """As JSON; as a command that says where the token goes; also where there is no clipboard."""
    run_id = started(server, "hello", resume_agent_id="b")
    until_status(server, run_id, "completed")
    with opened_page(browser, permissions=["clipboard-read", "clipboard-write"]) as page:
        page.goto(f"{server.url}/runs/{run_id}")
        expect(page.locator(".note.done")).to_be_visible()
        page.get_by_role("button", name="Copy as JSON").click()
        expect(page.get_by_role("button", name="Copied")).to_be_visible()
        events = json.loads(page.evaluate("navigator.clipboard.readText()"))
        assert [event["type"] for event in events][:2] == ["start", "agent_start"]
        page.get_by_role("button", name="Copy as curl").click()
        expect(page.get_by_role("button", name="Copied")).to_have_count(2)
        command = page.evaluate("navigator.clipboard.readText()")
        assert command.startswith('curl -N -H "Authorization: Bearer $CREW_TOKEN" ')
        assert command.endswith(f"/api/crew/runs/{run_id}/events'")
    at_work = started(server, "long")
    with opened_page(browser) as page, client(server) as http:
        page.add_init_script("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
        page.goto(f"{server.url}/runs/{at_work}")
        page.get_by_role("button", name="Copy as curl").click()
        offered = page.get_by_label("Copy this text")
        expect(offered).to_have_value(command.replace(run_id, at_work))
        expect(offered).to_be_focused()
        # it stays so when the run ends
        http.post(f"/api/crew/runs/{at_work}/cancel")
        until_status(server, at_work, "cancelled")
        expect(page.get_by_role("button", name="Cancel")).to_have_count(0)
        expect(offered).to_be_focused()


def test_somebody_who_looks_elsewhere_is_told(browser: Browser, server: ServerProcess):
    """Of each pause that is new, also when another was answered meanwhile; and the badge has the number."""
    first = started(server, "one")
    until_status(server, first, "paused")
    with opened_page(browser) as page:
        page.add_init_script(RECORDED)
        page.goto(server.url)
        until(lambda: page.evaluate("window.badge") == 1)
        page.evaluate("window.isHidden = true")
        with client(server) as http:
            http.post(f"/api/crew/runs/{first}/cancel")
        second = started(server, "two")
        until_status(server, second, "paused")
        page.evaluate("window.dispatchEvent(new Event('focus'))")
        until(lambda: page.evaluate("window.told.length") == 1)
        assert page.evaluate("window.told") == ["A run waits for you: test-crew"]
        page.evaluate("window.dispatchEvent(new Event('focus'))")
        with client(server) as http:
            http.post(f"/api/crew/runs/{second}/cancel")
        page.evaluate("window.isHidden = false; window.dispatchEvent(new Event('focus'))")
        until(lambda: page.evaluate("window.badge") == 0)
        assert page.evaluate("window.told.length") == 1


def test_the_keyboard_goes_on(browser: Browser, server: ServerProcess):
    """After an answer with the next card; rows of the list that stay keep the focus."""
    runs = [started(server, "first of all"), started(server, "then this")]
    for run_id in runs:
        until_status(server, run_id, "paused")
    with opened_page(browser) as page:
        page.goto(server.url)
        row = page.get_by_role("link", name="then this")
        row.focus()
        third = started(server, "at last")
        until_status(server, third, "paused")
        page.evaluate("window.dispatchEvent(new Event('focus'))")
        expect(page.get_by_role("link", name="at last")).to_be_visible()
        expect(row).to_be_focused()
        page.goto(f"{server.url}/inbox")
        expect(page.locator(".inbox > li:not(.ended)")).to_have_count(3)
        answer = page.locator(".inbox > li:not(.ended)").first.get_by_label("Your answer")
        answer.fill("this one")
        answer.press("Enter")
        expect(page.locator(".inbox > li:not(.ended)")).to_have_count(3)
        expect(page.get_by_role("link", name="then this")).to_be_focused()
        with client(server) as http:
            for run_id in (*runs, third):
                http.post(f"/api/crew/runs/{run_id}/cancel")


def test_a_lost_connection_while_a_run_is_at_work(browser: Browser, tmp_path: Path):
    """It is said, and the page goes on by itself."""
    folder = write_crew(tmp_path, {"a": {}}, [{"say": "here I am", "delay_seconds": 3}])
    with serving(folder) as server, opened_page(browser) as page:
        begin(page, server, "hello")
        expect(page.locator(".spinner")).to_be_visible()
        page.context.set_offline(True)
        expect(page.get_by_role("alert").first).to_be_attached()
        page.context.set_offline(False)
        expect(page.locator(".note.done")).to_be_visible()


def test_another_answer_is_tried(browser: Browser, tmp_path: Path):
    """From the run's page: another run waits at the same place, and says where it comes from."""
    folder = copy_example("pausing", tmp_path)
    with serving(folder) as server, opened_page(browser) as page:
        begin(page, server, "A table, please")
        first = page.url
        page.get_by_label("Your answer").fill("four")
        page.get_by_role("button", name="Answer").click()
        expect(page.locator(".asked")).to_contain_text("book")
        page.get_by_role("button", name="Answer otherwise").click()
        expect(page.locator(".talk")).not_to_contain_text("four")
        assert page.url != first
        page.get_by_label("Your answer").fill("six")
        page.get_by_role("button", name="Answer", exact=True).click()
        expect(page.locator(".asked")).to_contain_text("book")
        expect(page.locator(".speech.mine").last).to_contain_text("six")
        page.get_by_role("button", name="Ask again from here").first.click()
        expect(page.locator(".note.way a")).to_have_count(1)


def test_a_run_of_a_backup_is_let_go_on(browser: Browser, tmp_path: Path):
    """The inbox says since when nothing is known of it; a person lets it go on."""
    with HeldModel() as model:
        folder, ids = at_work(tmp_path, model)
        model.may.set()
        assert command("restore", folder, tmp_path / "old.db").returncode == 0
        with serving(folder) as server, opened_page(browser) as page:
            page.goto(f"{server.url}/inbox")
            card = page.locator(".asking").filter(has_text="restored")
            expect(card).to_contain_text("The database was restored from a backup of")
            expect(card).to_contain_text("may be done a second time")
            page.screenshot(path=tmp_path / "restored.png", full_page=True)
            card.get_by_role("button", name="Go on with the run").click()
            expect(card).to_have_count(0)
            page.goto(f"{server.url}/runs/{ids['slow']}")
            expect(page.locator(".chip")).to_have_text("completed")
        model.shutdown()


def test_who_else_looks_is_shown(browser: Browser, server: ServerProcess):
    """In the inbox as on the run's page: beside what a run asks, while a page shows that."""
    run_id = started(server, "hello")
    until_status(server, run_id, "paused")
    with opened_page(browser) as one, opened_page(browser) as other:
        one.goto(f"{server.url}/inbox")
        card = one.locator("li", has=one.locator(f"a[href$='{run_id}']"))
        expect(card.locator(".viewers")).to_have_text("")
        other.goto(f"{server.url}/runs/{run_id}")
        expect(other.locator(".asking .viewers")).to_have_text("")
        expect(card.locator(".viewers")).to_have_text("another page: looks at it now, too")
        card.locator("textarea").fill("web-1")
        expect(other.locator(".asking .viewers")).to_have_text("another page: looks at it now, too")
