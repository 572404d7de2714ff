"""The console's inbox and pages beside a run's: answered by a thumb, found by a search, read by all."""

import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, expect

from tests.support.browser import NEEDS_CHROMIUM, begin, check, opened_page
from tests.support.crews import copy_example, write_crew
from tests.support.processes import ServerProcess, client, serving
from tests.support.served_crew import until_status

pytestmark = NEEDS_CHROMIUM
PHONE: dict[str, Any] = {
    "viewport": {"width": 390, "height": 800},
    "has_touch": True,
    "is_mobile": True,
}
ACTS = '''
def restart(host: str) -> str:
    """Restart a host."""
    return "restarted " + host
'''


# read in one step: the pages are drawn anew with each event of a run
COLUMNS = """['.runs th', '.runs tbody tr:first-child td'].map(columns =>
  [...document.querySelectorAll(columns)].map(one => one.getBoundingClientRect())
    .filter(box => box.width).map(box => box.x))"""


def call(host: str) -> dict[str, Any]:
    return {"tool": "restart", "arguments": {"host": host}}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory):
    """Of a crew that asks in words, and about one call or two."""
    folder = tmp_path_factory.mktemp("crew")
    (folder / "acts.py").write_text(ACTS)
    entry = {"kind": "python", "function": "acts.py:restart", "requires_approval": True}
    rules = [
        {"agent": "a", "hears": "four hosts", "say": "done: {{heard}} [END]"},
        {"agent": "a", "after": "restart", "say": "{{result.restart}} [END]"},
        {"agent": "a", "hears": "both", "say": "", "calls": [call("web-1"), call("web-2")]},
        {"agent": "a", "hears": "one", "say": "it hangs", "calls": [call("web-1")]},
        {"agent": "a", "say": "**which** hosts?"},
    ]
    routing = {
        "signals": {"a": [{"signal": "[END]"}]},
        "agent_behaviors": {"a": {"wait_for_signal": True}},
    }
    write_crew(folder, {"a": {"tools": ["restart"]}}, rules, {"restart": entry}, routing=routing)
    with serving(folder) as started:
        yield started


def waiting(server: ServerProcess, query: str) -> str:
    """A run that waits for a person; its id."""
    with client(server) as http:
        run_id = str(http.post("/api/crew/runs", json={"query": query}).json()["run_id"])
    until_status(server, run_id, "paused")
    return run_id


def test_a_thumb_answers(browser: Browser, server: ServerProcess):
    """On a phone: the oldest first, nothing wider than the screen, one tap; it is gone from there."""
    first, second = waiting(server, "restart one"), waiting(server, "restart some")
    with opened_page(browser, **PHONE) as page:
        page.goto(server.url)
        expect(page.locator("#waits")).to_have_text("2")
        assert page.title().startswith("(2)")
        page.get_by_role("link", name="Inbox").tap()
        cards = page.locator(".inbox > li:not(.ended)")
        expect(cards).to_have_count(2)
        expect(cards.first).to_contain_text('"host": "web-1"')
        expect(cards.first).to_contain_text("it hangs")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        button = cards.first.get_by_role("button", name="approve")
        box = button.bounding_box()
        assert box is not None
        assert box["height"] >= 44
        button.tap()
        expect(cards).to_have_count(1)
        # the small print of a run is folded; each is a card, and its cells say what they are
        page.get_by_role("link", name="Runs").tap()
        expect(page.locator(".runs .folded").first).to_contain_text("tokens")
        card = page.locator("table.runs tbody tr").first
        assert card.evaluate("(row) => getComputedStyle(row).display") == "block"
        label = "(row) => getComputedStyle(row.querySelector('td.started'), '::before').content"
        assert "started" in card.evaluate(label)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        # where there is room, each head stands over its column
        page.set_viewport_size({"width": 700, "height": 800})
        heads, cells = page.evaluate(COLUMNS)
        assert heads == cells
        assert len(heads) > 1
        page.set_viewport_size({"width": 390, "height": 844})
        page.get_by_role("link", name="Inbox").tap()
        until_status(server, first, "completed")
        expect(cards.locator("strong")).to_have_text("which")
        cards.get_by_label("Your answer").fill("all four hosts")
        cards.get_by_role("button", name="Answer").tap()
        expect(page.get_by_text("Nobody waits for you.")).to_be_visible()
        expect(page.locator("#waits")).to_have_text("")
    until_status(server, second, "completed")


def test_each_call_is_decided(browser: Browser, server: ServerProcess):
    """Of several: none is forgotten, and each has its own decision."""
    run_id = waiting(server, "restart both")
    with opened_page(browser, **PHONE) as page:
        page.goto(server.url)
        # what it asks stands in the list, too
        expect(page.locator(".runs tbody tr").first).to_contain_text('restart {"host":"web-2"}')
        page.goto(f"{server.url}/inbox")
        card = page.locator(".inbox > li:not(.ended)")
        for label in card.locator(".choices label").all():
            box = label.bounding_box()
            assert box is not None
            assert box["height"] >= 44
        card.get_by_label("approve", exact=True).first.check()
        card.get_by_role("button", name="Answer").click()
        expect(card.get_by_role("alert")).to_contain_text("choose what is to be done")
        card.get_by_role("group", name="restart").nth(1).get_by_label("deny").check()
        card.get_by_label("Reason, if you say no (restart)").nth(1).fill("not web-2")
        card.get_by_role("button", name="Answer").click()
        expect(card).to_have_count(0)
    until_status(server, run_id, "completed")
    with client(server) as http:
        told = http.get(f"/api/crew/runs/{run_id}/events").text
    assert "restarted web-1" in told
    assert "restarted web-2" not in told
    assert "not web-2" in told


def test_what_is_being_written_stays(browser: Browser, server: ServerProcess):
    """While the inbox is filled anew."""
    first = waiting(server, "restart some")
    with opened_page(browser) as page:
        page.goto(f"{server.url}/inbox")
        page.get_by_label("Your answer").fill("half an ans")
        second = waiting(server, "restart one")
        page.evaluate("window.dispatchEvent(new Event('focus'))")
        expect(page.locator(".inbox > li:not(.ended)")).to_have_count(2)
        expect(page.get_by_label("Your answer")).to_have_value("half an ans")
        # only those about a call of a tool, as the address says
        page.get_by_label("tool", exact=True).select_option("restart")
        expect(page.locator(".inbox > li:not(.ended)")).to_have_count(1)
        expect(page.locator(".inbox > li:not(.ended)")).to_contain_text("web-1")
        expect(page.locator(".inbox > li.ended")).to_have_count(0)
        page.reload()
        expect(page.locator(".inbox > li:not(.ended)")).to_have_count(1)
        assert page.url.endswith("/inbox?tool=restart")
        with client(server) as http:
            found = http.get("/api/crew/inbox", params={"tool": "restart", "agent_id": "a"}).json()
            assert [one["run_id"] for one in found["runs"]] == [second]
            assert http.get("/api/crew/inbox", params={"agent_id": "b"}).json()["runs"] == []
    with client(server) as http:
        for run_id in (first, second):
            http.post(f"/api/crew/runs/{run_id}/cancel")
    until_status(server, first, "cancelled")
    until_status(server, second, "cancelled")


def test_the_crew(browser: Browser, tmp_path: Path):
    """Its agents, its tools and what they may do, its graph and its limits."""
    with serving(copy_example("on-call", tmp_path)) as server, opened_page(browser) as page:
        page.goto(f"{server.url}/crew")
        expect(page.locator(".graph .node")).to_have_count(7)
        page.locator("summary", has_text="settings").click()
        expect(page.locator("details[open] th", has_text="max_handoffs")).to_be_visible()
        page.get_by_role("link", name="Tools (").click()
        row = page.locator("#view tbody tr").filter(has=page.get_by_role("link", name="restart"))
        # a person is asked about each call
        expect(row.locator("td").nth(2)).to_have_text("yes")
        expect(page.locator("section#restart")).to_contain_text("echo")


def test_in_vietnamese(browser: Browser, server: ServerProcess):
    """As the browser says; a person may choose the other language, and it stays."""
    with opened_page(browser, locale="vi-VN") as page:
        page.goto(server.url)
        expect(page.locator("#send")).to_have_text("Bắt đầu")
        assert page.locator("html").get_attribute("lang") == "vi"
        page.select_option("#language", "en")
        expect(page.locator("#send")).to_have_text("Start")
        page.reload()
        expect(page.locator("#send")).to_have_text("Start")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_read_it(browser: Browser, tmp_path: Path, scheme: str):
    """Axe finds nothing serious on any page, in both colours and languages, on a desk and a phone."""
    with serving(copy_example("on-call", tmp_path)) as server:
        for shown in ({"locale": "vi-VN"}, PHONE):
            with opened_page(browser, color_scheme=scheme, **shown) as page:
                begin(page, server, "the site is slow")
                expect(page.locator(".asking")).to_be_visible()
                address = page.url
                for path in (address, server.url, f"{server.url}/inbox", f"{server.url}/crew"):
                    page.goto(path)
                    expect(page.locator("#view > *")).to_be_visible()
                    check(page)
                page.goto(address)
                page.locator("[name=approve]").click()
                expect(page.locator(".note.done")).to_be_visible()
                check(page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_read_what_is_asked_and_what_failed(
    browser: Browser, tmp_path: Path, scheme: str
):
    """Words, several calls, a run that is at work, and one that has failed."""
    entry = {"kind": "python", "function": "acts.py:restart", "requires_approval": True}
    rules = [
        {"agent": "a", "hears": "break", "fail": "refused"},
        {"agent": "a", "hears": "long", "say": "x", "delay_seconds": 600},
        {"agent": "a", "hears": "both", "say": "", "calls": [call("web-1"), call("web-2")]},
        {"agent": "a", "say": "**which** hosts?"},
    ]
    routing = {"agent_behaviors": {"a": {"wait_for_signal": True}}}
    folder = write_crew(
        tmp_path, {"a": {"tools": ["restart"]}}, rules, {"restart": entry}, routing=routing
    )
    (folder / "acts.py").write_text(ACTS)
    with serving(folder) as server, opened_page(browser, color_scheme=scheme) as page:
        for query, shown in (
            ("break", ".note.error"),
            ("both", ".asking .choices"),
            ("words", ".asking textarea"),
            ("long", ".spinner"),
        ):
            begin(page, server, query)
            expect(page.locator(shown).first).to_be_visible()
            check(page)


def test_a_list_of_runs_has_an_address(browser: Browser, server: ServerProcess):
    """Its filters and its pages hold after a reload, on the way back, and for whom the link is sent."""
    waiting(server, "restart some more")
    with client(server) as http:
        for n in range(60):
            http.post("/api/crew/run", json={"query": f"restart all four hosts {n}"})
    with opened_page(browser) as page:
        page.goto(server.url)
        rows = page.locator("table.runs tbody tr")
        page.select_option("[name=status]", "completed")
        page.get_by_role("searchbox").fill("four hosts")
        expect(rows).to_have_count(50)
        expect(rows.first).to_contain_text("four hosts")
        # pressed for a while, as by a person: what leaving the search does meanwhile takes no click
        page.get_by_role("button", name="more").click(delay=300)
        expect(rows).to_have_count(60)
        # the browser tells of an address a moment after it is there
        expect(page).to_have_url(re.compile("pages=2"))
        link = page.url
        assert parse_qs(urlsplit(link).query) == {
            "status": ["completed"],
            "text": ["four hosts"],
            "pages": ["2"],
        }
        page.reload()
        expect(rows).to_have_count(60)
        rows.nth(55).get_by_role("link").click()
        page.wait_for_url("**/runs/*")
        page.go_back()
        expect(rows).to_have_count(60)
        expect(page).to_have_url(link)
        expect(page.locator("[name=status]")).to_have_value("completed")
        page.select_option("[name=status]", "paused")
        page.get_by_role("searchbox").fill("")
        expect(rows.first).to_contain_text("restart")
    with opened_page(browser) as page:
        page.goto(link)
        expect(rows := page.locator("table.runs tbody tr")).to_have_count(60)
        expect(page.get_by_role("searchbox")).to_have_value("four hosts")
        page.goto(f"{server.url}/?status=nosuch&agent_id=gone")
        expect(page.locator("[name=status]")).to_have_value("")
        expect(page.get_by_text("is left out: status=nosuch, agent_id=gone")).to_be_visible()
        expect(rows).to_have_count(50)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/inbox?agent_id=nobody&zz=1", "agent_id=nobody, zz=1"),
        ("/costs?by=nope&days=9", "by=nope, days=9"),
        ("/audit?action=nope&since=x", "action=nope, since=x"),
        ("/search?q=slow&zz=1", "zz=1"),
        ("/tools?x=1", "x=1"),
        ("/crew?x=1", "x=1"),
        ("/automation?x=1", "x=1"),
        ("/revisions?zz=1", "zz=1"),
        ("/compare?zz=1", "zz=1"),
    ],
)
def test_what_an_address_says_wrongly(
    path: str, said: str, browser: Browser, server: ServerProcess
):
    """Is said on each page, and what it knows is not."""
    with opened_page(browser) as page:
        page.goto(server.url + path)
        expect(page.get_by_text(f"is left out: {said}", exact=False)).to_be_visible()
        page.goto(server.url + path.partition("?")[0])
        expect(page.locator("#view > *").first).to_be_visible()
        assert page.get_by_text("is left out").count() == 0


def test_an_address_without_a_page(browser: Browser, server: ServerProcess):
    """Is said by the console; programs get a problem document."""
    with opened_page(browser) as page:
        answer = page.goto(f"{server.url}/inboks?x=1")
        assert answer is not None
        assert answer.status == 404
        expect(page.get_by_text("This is not there.")).to_be_visible()
        expect(page.get_by_role("link", name="Inbox")).to_be_visible()
    with client(server) as http:
        found = http.get("/inboks")
        assert (found.status_code, found.json()["status"]) == (404, 404)


def test_the_inbox_of_an_owner(browser: Browser, server: ServerProcess):
    run_id = waiting(server, "which")
    with opened_page(browser) as page:
        page.goto(f"{server.url}/inbox?owner=nobody-here")
        expect(page.get_by_text("Nobody waits for you.")).to_be_visible()
        page.locator("input[name=owner]").fill("")
        page.locator("input[name=owner]").blur()
        expect(page.locator(f"a[href$='{run_id}']")).to_be_visible()
