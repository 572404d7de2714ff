"""The console while its server is away, and on a narrow phone."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.support.browser import NEEDS_CHROMIUM, opened_page
from tests.support.crews import copy_example
from tests.support.forked import crew
from tests.support.processes import client, serving, start_server

pytestmark = NEEDS_CHROMIUM
PAGES = ("/", "/conversations", "/revisions", "/costs", "/tools", "/audit", "/inbox", "/crew")


def test_a_lost_server_is_said_and_a_page_comes_back(browser: Browser, tmp_path: Path):
    """What is shown and typed stays; a page that could not be shown is asked for again."""
    folder = copy_example("routing", tmp_path)
    server = start_server(folder)
    port = server.url.rpartition(":")[2]
    with opened_page(browser) as page:
        page.goto(server.url)
        ask = page.get_by_label("Ask the crew")
        ask.fill("half a question")
        server.kill()
        lost = page.locator("#lost")
        expect(lost).to_contain_text("The server does not answer.")
        assert ask.input_value() == "half a question"
        page.get_by_role("link", name="Tools").click()
        expect(page.locator("#view .error")).to_contain_text("The server does not answer.")
        again = start_server(folder, "--port", port)
        expect(lost).to_be_hidden()
        expect(page.locator("#view .error")).to_have_count(0)
        again.kill()


@pytest.mark.parametrize("width", [320, 390])
def test_tables_are_cards_on_a_phone(browser: Browser, tmp_path: Path, width: int):
    """No page, and no table, needs to be scrolled sideways."""
    folder = copy_example("conversation", tmp_path)
    assert crew("run", folder, "a question " + "x" * 300).returncode == 0
    with (
        serving(folder) as server,
        client(server) as http,
        opened_page(browser, viewport={"width": width, "height": 800}) as page,
    ):
        http.post("/api/crew/run", json={"query": "hi", "conversation_id": "c1"})
        for path in PAGES:
            page.goto(f"{server.url}{path}")
            expect(page.locator("#view > *").first).to_be_visible()
            assert page.evaluate("document.documentElement.scrollWidth") <= width, path
            wide = page.evaluate(
                "[...document.querySelectorAll('.wide')].map((one) => one.scrollWidth - one.clientWidth)"
            )
            assert all(more <= 1 for more in wide), (path, wide)


def test_times_are_relative_with_the_exact_one(browser: Browser, tmp_path: Path):
    folder = copy_example("hello", tmp_path)
    assert crew("run", folder, "hi").returncode == 0
    with serving(folder) as server, opened_page(browser) as page:
        page.goto(server.url)
        time = page.locator("table.runs tbody time").first
        assert "ago" in time.inner_text() or time.inner_text() == "now"
        exact = time.get_attribute("title") or ""
        assert "20" in exact
        assert (time.get_attribute("datetime") or "").endswith("Z")


def test_a_run_leads_to_what_its_files_differ_in(browser: Browser, tmp_path: Path):
    folder = copy_example("hello", tmp_path)
    assert crew("run", folder, "hi").returncode == 0
    agent = folder / "agents" / "greeter.yaml"
    agent.write_text(agent.read_text().replace("role:", "role: kind"))
    with serving(folder) as server, opened_page(browser) as page:
        page.goto(server.url)
        page.locator("table.runs tbody a").first.click()
        page.locator("#view a[href^='/revisions?r=']").click()
        expect(page.locator(".revisions .card")).to_contain_text("role")
