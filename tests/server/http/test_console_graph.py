"""The graph and the timeline of large crews in the console, in a real browser."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.server.http.test_console_pages import PHONE
from tests.support.browser import NEEDS_CHROMIUM, begin, opened_page
from tests.support.crews import write_crew
from tests.support.processes import client, serving
from tests.support.served_crew import until_status

pytestmark = NEEDS_CHROMIUM
GRAPH_WIDTH = "document.querySelector('.graph svg').getBoundingClientRect().width"
LETTER_HEIGHT = "document.querySelector('.graph text').getBoundingClientRect().height"


def hub(folder: Path, count: int = 30) -> Path:
    """A crew of so many: one that may hand over to each of the others, after a while."""
    others = [f"expert-{n:02}" for n in range(1, count)]
    routing = {"signals": {"hub": [{"signal": f"[{one}]", "target": one} for one in others]}}
    rules = [
        {"agent": "hub", "say": "[expert-27]", "delay_seconds": 0.3},
        {"agent": "expert-27", "say": "done", "delay_seconds": 0.3},
    ]
    return write_crew(
        folder, {"hub": {}} | {one: {"is_terminal": True} for one in others}, rules, routing=routing
    )


@pytest.mark.parametrize("screen", [{"viewport": {"width": 1280, "height": 800}}, PHONE])
def test_a_large_crew_can_be_read(browser: Browser, tmp_path: Path, screen: dict[str, Any]):
    """Letters of nine pixels at least; nothing but the graph itself is scrolled sideways."""
    with serving(hub(tmp_path)) as server, opened_page(browser, **screen) as page:
        begin(page, server, "who knows?")
        expect(page.locator(".graph .node.visited")).to_have_count(2)
        expect(page.locator(".graph .node")).to_have_count(31)
        assert page.evaluate(LETTER_HEIGHT) >= 9
        assert page.evaluate("document.documentElement.scrollWidth") <= screen["viewport"]["width"]
        page.goto(f"{server.url}/crew")
        expect(page.locator(".graph .node")).to_have_count(31)
        assert page.evaluate(LETTER_HEIGHT) >= 9
        # the same in words, each an arrow
        expect(page.locator(".graph li")).to_have_count(58)
        expect(page.locator(".graph path.way")).to_have_count(58)


def test_long_names_fit_on_every_page(browser: Browser, tmp_path: Path):
    """They are cut in the graph, and wrap elsewhere: no page scrolls sideways."""
    name = "N" * 200
    agents = {"a": {"name": name}, "b": {"is_terminal": True, "name": name}}
    folder = write_crew(tmp_path, agents, [{"agent": "a", "say": "x"}, {"say": "done"}])
    with serving(folder) as server, opened_page(browser, **PHONE) as page:
        for path in ("/", "/inbox", "/crew"):
            page.goto(f"{server.url}{path}")
            expect(page.locator("main")).to_contain_text("N" if path != "/inbox" else "")
            width = page.evaluate("document.documentElement.scrollWidth")
            assert width <= PHONE["viewport"]["width"], path
        box = page.locator(".graph .node rect").first.evaluate("one => one.getBBox().width")
        assert box < 400


def test_of_a_very_large_crew_the_way_is_shown(browser: Browser, tmp_path: Path):
    """With what is next to it; the rest by a click."""
    with serving(hub(tmp_path, 80)) as server, opened_page(browser) as page:
        begin(page, server, "who knows?")
        expect(page.locator(".graph .node.visited")).to_have_count(2)
        nodes = page.locator(".graph .node")
        expect(nodes).to_have_count(40)
        expect(page.locator(".graph li", has_text="taken").first).to_contain_text("Hub → Expert-27")
        # whom a person looks for is shown, too
        page.get_by_label("Find an agent").fill("expert-7")
        expect(page.locator(".graph .node.found")).to_have_count(10)
        expect(nodes).to_have_count(40)
        page.get_by_label("Find an agent").fill("")
        page.locator(".graph").get_by_role("button", name="Show all (81)").click()
        expect(nodes).to_have_count(81)
        wide = page.evaluate(GRAPH_WIDTH)
        page.get_by_role("button", name="Zoom in").first.click()
        assert page.evaluate(GRAPH_WIDTH) > wide
        page.locator(".graph").press("-")
        page.locator(".graph").press("-")
        assert page.evaluate(GRAPH_WIDTH) < wide


def test_the_scale_of_an_ended_run_is_its_own_length(browser: Browser, tmp_path: Path):
    """However long ago it ended."""
    with serving(hub(tmp_path)) as server:
        with client(server) as http:
            run_id = str(http.post("/api/crew/runs", json={"query": "x"}).json()["run_id"])
        until_status(server, run_id, "completed")
        with opened_page(browser) as page:
            page.clock.set_fixed_time(datetime.now(UTC) + timedelta(hours=1))
            page.goto(f"{server.url}/runs/{run_id}")
            bars = page.locator(".waterfall .bar")
            expect(bars).to_have_count(2)
            expect(page.locator("header.run .chip")).to_have_text("completed")
            share = "[...document.querySelectorAll('.bar')].reduce((s, b) => s + parseFloat(b.style.width), 0)"
            page.wait_for_function(f"{share} > 50")
            assert page.evaluate(share) <= 101
