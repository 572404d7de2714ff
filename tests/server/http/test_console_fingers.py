"""A finger that presses twice decides once."""

from playwright.sync_api import Browser, expect

from tests.server.http.test_console_pages import PHONE, server, waiting
from tests.support.browser import NEEDS_CHROMIUM, opened_page
from tests.support.processes import ServerProcess, client

pytestmark = NEEDS_CHROMIUM
__all__ = ["server"]


def test_nothing_comes_up_under_a_finger(browser: Browser, server: ServerProcess):
    """A card that is answered stays where it is, as long as one may press there again."""
    runs = [waiting(server, "restart one") for _ in range(2)]
    with opened_page(browser, **PHONE) as page:
        page.goto(f"{server.url}/inbox")
        box = page.get_by_role("button", name="approve").first.bounding_box()
        assert box is not None
        place = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        for _ in range(3):
            page.mouse.click(*place, delay=20)
        expect(page.locator(".inbox > li.ended")).to_contain_text("This is answered.")
        page.mouse.move(0, 0)
        expect(page.locator(".inbox > li.ended")).to_have_count(0)
        expect(page.locator(".inbox > li")).to_have_count(1)
    with client(server) as http:
        statuses = [http.get(f"/api/crew/runs/{run_id}").json()["status"] for run_id in runs]
        assert statuses.count("paused") == 1
        for run_id in runs:
            http.post(f"/api/crew/runs/{run_id}/cancel")
