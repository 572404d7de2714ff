"""Tools, keys, saved views and times in the console, in a real browser."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.support.browser import NEEDS_CHROMIUM, check, opened_page
from tests.support.crews import write_crew
from tests.support.processes import client, serving

pytestmark = NEEDS_CHROMIUM
CODE = '''
def good(n: int) -> str:
    """Be good."""
    return "ok"


def bad(n: int) -> str:
    """Be bad."""
    raise ValueError("no")


def pay(n: int) -> str:
    """Pay."""
    return "paid"
'''


def tool_crew(folder: Path) -> Path:
    tools: dict[str, Any] = {
        name: {"kind": "python", "function": f"acts.py:{name}"} for name in ("good", "bad", "pay")
    }
    tools["pay"]["requires_approval"] = {"remember": ["run", "always"]}
    rules = [
        {"after": "pay", "say": "paid"},
        {"after": "good", "say": "done"},
        {"hears": "pay", "calls": [{"tool": "pay", "arguments": {"n": 1}}]},
        {
            "calls": [
                {"tool": "good", "arguments": {"n": 1}},
                {"tool": "good", "arguments": {"n": 2}},
                {"tool": "bad", "arguments": {"n": 1}},
            ]
        },
    ]
    written = write_crew(folder, {"a": {"tools": ["good", "bad", "pay"]}}, rules, tools)
    (written / "acts.py").write_text(CODE)
    return written


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_tools_say_how_they_were_used(browser: Browser, tmp_path: Path, width: int, scheme: Any):
    """Calls and failures of the last day; a standing approval is withdrawn."""
    look = {"viewport": {"width": width, "height": 800}, "color_scheme": scheme}
    with serving(tool_crew(tmp_path / "crew")) as server, opened_page(browser, **look) as page:
        with client(server) as http:
            for _ in range(2):
                assert http.post("/api/crew/run", json={"query": "work"}).is_success
            asked = http.post("/api/crew/run", json={"query": "pay"}).json()["run_id"]
            waiting = http.get(f"/api/crew/runs/{asked}").json()["waiting"]
            (one,) = waiting["calls"]
            decision = {"call_id": one["call_id"], "decision": "approve", "remember": "always"}
            body = {"decisions": [decision]}
            assert http.post(f"/api/crew/runs/{asked}/resume", json=body).is_success
            tools = http.get("/api/crew/tools?usage=1").json()
        usage = {each["tool"]: each["usage"] for each in tools["tools"]}
        assert (usage["good"]["calls"], usage["good"]["failed"]) == (4, 0)
        assert (usage["bad"]["calls"], usage["bad"]["failed"]) == (2, 2)
        assert tools["usage_partial"] is False
        page.goto(f"{server.url}/tools")
        bad = page.locator("#view tbody tr").filter(has=page.get_by_role("link", name="bad"))
        expect(bad.locator("td").nth(4)).to_have_text("2")
        expect(bad.locator("td").nth(5)).to_have_text("2")
        check(page)
        assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")
        page.screenshot(path=tmp_path / f"tools-{width}.png", full_page=True)
        withdraw = page.get_by_role("button", name="Withdraw: pay")
        withdraw.click()
        expect(withdraw).to_have_count(0)
        with client(server) as http:
            assert http.get("/api/crew/grants").json()["grants"] == []


def test_keys_lead_through_the_pages(browser: Browser, tmp_path: Path):
    """`g` and a letter, rows, the search, the list of keys; not while one types, nor when they are off."""
    with serving(tool_crew(tmp_path / "crew")) as server, opened_page(browser) as page:
        with client(server) as http:
            for query in ("first", "second"):
                http.post("/api/crew/run", json={"query": query})
        page.goto(f"{server.url}/runs")
        expect(page.locator("#view tbody tr")).to_have_count(2)
        page.keyboard.press("j")
        page.keyboard.press("j")
        assert page.evaluate("document.activeElement.closest('tr')?.innerText.includes('first')")
        page.keyboard.press("k")
        assert page.evaluate("document.activeElement.closest('tr')?.innerText.includes('second')")
        page.keyboard.press("Enter")
        page.wait_for_url("**/runs/*")
        for key, path in {"c": "/crew", "t": "/tools", "s": "/automation", "r": "/"}.items():
            page.keyboard.press("g")
            page.keyboard.press(key)
            page.wait_for_url(f"{server.url}{path}")
        expect(page.locator("#view table.runs")).to_be_visible()
        page.keyboard.press("/")
        assert page.evaluate("document.activeElement.name") == "text"
        page.keyboard.type("g?j")
        expect(page.locator("input[name=text]")).to_have_value("g?j")
        page.locator("body").press("Escape")
        page.evaluate("document.activeElement.blur()")
        page.keyboard.press("?")
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("Single keys")
        check(page)
        dialog.get_by_label("Single keys").uncheck()
        dialog.get_by_role("button", name="Close").click()
        page.keyboard.press("?")
        expect(dialog).to_be_hidden()


def test_runs_that_match_are_deleted(browser: Browser, tmp_path: Path):
    """As many as were seen; what waits for a person is refused, and stays."""
    with serving(tool_crew(tmp_path / "crew")) as server, opened_page(browser) as page:
        with client(server) as http:
            for query in ("first", "second", "pay"):
                http.post("/api/crew/run", json={"query": query})
        page.goto(f"{server.url}/runs?text=first")
        rows = page.locator("#view tbody tr")
        expect(rows).to_have_count(1)
        page.once("dialog", lambda dialog: dialog.accept())
        page.get_by_role("button", name="Delete what matches").click()
        expect(page.locator("#view table.runs tbody")).to_have_text("No runs.")
        page.goto(f"{server.url}/runs")
        expect(rows).to_have_count(2)
        page.once("dialog", lambda dialog: dialog.accept())
        page.get_by_role("button", name="Delete what matches").click()
        expect(page.get_by_role("alert").filter(has_text="cancel it first")).to_be_visible()
        expect(rows).to_have_count(2)


def test_runs_by_their_tool_and_in_chosen_columns(browser: Browser, tmp_path: Path):
    """Both stand in the address; what matches is ended by one button, as much as was seen."""
    with serving(tool_crew(tmp_path / "crew")) as server, opened_page(browser) as page:
        with client(server) as http:
            for query in ("first", "pay", "pay again"):
                http.post("/api/crew/run", json={"query": query})
        page.goto(server.url)
        rows = page.locator("#view tbody tr")
        expect(rows).to_have_count(3)
        page.get_by_text("More filters").click()
        page.get_by_label("waits for", exact=True).select_option("decision")
        expect(rows).to_have_count(2)
        page.get_by_label("waits for", exact=True).select_option("words")
        expect(page.get_by_text("No runs.")).to_be_visible()
        page.get_by_label("waits for", exact=True).select_option("")
        page.get_by_label("tool", exact=True).select_option("good")
        expect(rows).to_have_count(1)
        page.get_by_text("Columns").click()
        page.get_by_label("Column: Tools").check()
        page.get_by_label("Column: tokens").uncheck()
        expect(rows.locator("td.tools")).to_have_text("bad, good")
        expect(page.locator("#view th")).to_have_count(6)
        page.reload()
        expect(rows.locator("td.tools")).to_have_text("bad, good")
        expect(page.get_by_label("tool", exact=True)).to_have_value("good")
        # a filter that cannot be read is mended first: without it more would match than is shown
        page.get_by_label("how it ended", exact=True).fill("No!")
        page.get_by_role("button", name="Delete what matches").click()
        expect(page.locator("[name=reason]:invalid")).to_be_focused()
        expect(rows).to_have_count(1)
        page.get_by_label("how it ended", exact=True).fill("")
        page.get_by_label("tool", exact=True).select_option("")
        expect(rows).to_have_count(3)
        page.once("dialog", lambda dialog: dialog.accept())
        page.get_by_role("button", name="Cancel what matches").click()
        expect(rows.locator(".chip", has_text="cancelled")).to_have_count(2)
        expect(rows.locator(".chip", has_text="completed")).to_have_count(1)


def test_views_and_times_are_kept(browser: Browser, tmp_path: Path):
    """Filters by a name, in this browser; times of UTC, with their zone in the title."""
    look = {"timezone_id": "Asia/Kolkata"}
    with serving(tool_crew(tmp_path / "crew")) as server, opened_page(browser, **look) as page:
        with client(server) as http:
            http.post("/api/crew/run", json={"query": "first"})
        page.goto(f"{server.url}/runs?status=failed")
        page.once("dialog", lambda dialog: dialog.accept("what failed"))
        page.get_by_role("button", name="Save this view").click()
        page.goto(f"{server.url}/runs")
        expect(page.locator("#view tbody time")).to_have_count(1)
        assert "GMT+5:30" in str(page.locator("#view tbody time").get_attribute("title"))
        page.get_by_label("saved views").select_option("what failed")
        expect(page.get_by_label("status", exact=True)).to_have_value("failed")
        assert page.url.endswith("?status=failed")
        page.get_by_role("button", name="Forget this view").click()
        expect(page.get_by_label("saved views")).to_be_hidden()
        page.get_by_role("button", name="Keys and display").click()
        page.get_by_label("Times in UTC").check()
        expect(page.locator("#view tbody time")).to_contain_text("UTC")


def test_a_half_written_answer_is_not_lost(browser: Browser, tmp_path: Path):
    """Leaving asks first; once it is sent nothing is asked."""
    routing = {
        "signals": {"a": [{"signal": "[END]", "target": None}]},
        "agent_behaviors": {"a": {"wait_for_signal": True}},
    }
    rules = [{"hears": "two", "say": "good [END]"}, {"say": "how many?"}]
    folder = write_crew(tmp_path / "crew", {"a": {}}, rules, routing=routing)
    with serving(folder) as server, opened_page(browser) as page:
        with client(server) as http:
            run_id = http.post("/api/crew/run", json={"query": "tea"}).json()["run_id"]
        page.goto(f"{server.url}/runs/{run_id}")
        page.locator(".asking textarea").fill("two")
        page.once("dialog", lambda dialog: dialog.dismiss())
        page.get_by_role("link", name="Costs").click()
        expect(page.locator(".asking textarea")).to_have_value("two")
        page.get_by_role("button", name="Answer").click()
        expect(page.locator(".chip")).to_have_text("completed")
        expect(page.locator(".asking")).to_have_count(0)
        page.get_by_role("link", name="Costs").click()
        page.wait_for_url("**/costs*")
