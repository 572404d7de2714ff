"""Search, comparison, automation, audit and revisions in the console, in a real browser."""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.end_to_end.test_history import AGENTS, CREW, RULES
from tests.server.http.test_console_pages import PHONE
from tests.support.browser import NEEDS_CHROMIUM, check, opened_page
from tests.support.crews import write_crew
from tests.support.processes import ServerProcess, client, serving, start_server

pytestmark = NEEDS_CHROMIUM
DAILY = {"daily": {"cron": "0 6 * * *", "query": "all well?"}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    hooks = {"tickets": {"kind": "json", "query": "{/title}"}}
    dead = {"dead": {"kind": "webhook", "url": "http://127.0.0.1:9/x"}}
    more = {"schedules": DAILY, "hooks": hooks, "notify": dead}
    return write_crew(tmp_path / "crew", AGENTS, RULES, **more, **CREW)


def ran(server: ServerProcess, query: str) -> str:
    with client(server) as http:
        run_id: str = http.post("/api/crew/run", json={"query": query}).json()["run_id"]
        return run_id


@pytest.mark.parametrize(
    ("locale", "said"),
    [("en-US", "The server does not answer."), ("vi-VN", "Máy chủ không trả lời.")],
)
def test_a_server_that_does_not_answer(browser: Browser, folder: Path, locale: str, said: str):
    """Is said in the page's words, not in the browser's."""
    server = start_server(folder)
    with opened_page(browser, locale=locale) as page:
        page.goto(f"{server.url}/search")
        box = page.get_by_role("searchbox")
        server.kill()
        box.fill("please")
        box.press("Enter")
        expect(page.locator("#view").get_by_role("alert")).to_have_text(said)


def test_what_is_opened_stands_in_the_address(browser: Browser, folder: Path):
    """And is opened after a reload, and by a link; what was closed stays closed."""
    with serving(folder) as server, opened_page(browser) as page:
        run_id = ran(server, "loud please")
        page.goto(f"{server.url}/runs/{run_id}")
        call = page.locator("details.tool").first
        call.locator("summary").click()
        page.locator("summary", has_text="Raw events").click()
        page.locator("summary", has_text="Timeline").click()
        expect(page).to_have_url(re.compile(r"\?open=call-\d+%2Craw%2Ctimeline$"))
        for _ in range(2):
            page.goto(page.url)
            expect(call.get_by_label("Its arguments")).to_be_visible()
            expect(page.locator("pre.raw")).to_be_visible()
            expect(page.locator("details", has_text="Timeline").last).not_to_have_attribute(
                "open", ""
            )
            expect(page.locator("p.warning")).to_have_count(0)
        call.locator("summary").click()
        page.locator("summary", has_text="Raw events").click()
        page.locator("summary", has_text="Timeline").click()
        expect(page).to_have_url(f"{server.url}/runs/{run_id}")


def test_words_are_found_and_runs_compared(browser: Browser, folder: Path, tmp_path: Path):
    """The address shows the same again; the list of runs says what they come to."""
    with serving(folder) as server, opened_page(browser) as page:
        loud, quiet = ran(server, "loud <b>please</b>"), ran(server, "wait")
        page.goto(server.url)
        expect(page.locator(".totals")).to_contain_text("2 runs: ")
        expect(page.locator(".totals")).to_contain_text("1 paused")
        page.get_by_role("link", name="Search").click()
        box = page.get_by_role("searchbox")
        box.fill("đĩa đầy")
        box.press("Enter")
        hits = page.locator(".hits li")
        expect(hits).to_have_count(2)
        expect(hits.first.locator("mark")).to_have_text("ĐĨA ĐẦY")
        page.screenshot(path=tmp_path / "search.png", full_page=True)
        page.reload()
        expect(hits).to_have_count(2)
        box.fill("nothing like it")
        box.press("Enter")
        expect(page.get_by_role("status")).to_contain_text("Nothing was found.")
        page.goto(f"{server.url}/search?q=please")
        hits.first.get_by_role("link").click()
        expect(page.locator("header.run")).to_be_visible()
        page.goto(f"{server.url}/search?q=đĩa đầy")
        hits.last.get_by_role("link").click()
        expect(page.locator(".reached")).to_contain_text("ĐĨA ĐẦY")
        expect(page.locator(".reached")).to_be_in_viewport()
        with page.expect_download() as download:
            page.get_by_role("link", name="Export as a page").click()
        assert "<script" not in Path(download.value.path()).read_text()
        page.get_by_role("link", name="Compare").click()
        expect(page.get_by_role("textbox", name="a run", exact=True)).to_have_value(loud)
        page.get_by_role("textbox", name="another run").fill(quiet)
        page.get_by_role("button", name="Compare").click()
        expect(page.locator("tr.differs th").first).to_have_text("2 ◀")
        expect(page.locator("tr.differs td").first).to_contain_text("desk → loud by [LOUD]")
        page.screenshot(path=tmp_path / "compare.png", full_page=True)
        page.get_by_role("textbox", name="another run").fill("nix")
        page.get_by_role("button", name="Compare").click()
        expect(page.get_by_role("alert").last).to_have_text("This is not there.")


def test_what_was_served_and_who_did_what(browser: Browser, folder: Path, tmp_path: Path):
    """And the way back, with a reason."""
    with serving(folder, CREW_EDIT="1") as server, opened_page(browser) as page:
        ran(server, "loud")
        desk = folder / "agents" / "desk.yaml"
        before = desk.read_text()
        desk.write_text(before.replace("You are desk.", "You are worse."))
        with client(server) as http:
            assert http.post("/api/crew/reload").json()["changed"]
        page.goto(f"{server.url}/crew")
        page.get_by_role("link", name="Revisions").click()
        rows = page.locator(".revisions tbody tr")
        expect(rows).to_have_count(2)
        expect(rows.first).to_contain_text("is served")
        page.get_by_role("button", name="What differs: 1").click()
        card = page.locator(".revisions .card")
        expect(card.locator("li")).to_contain_text("agent desk: system_prompt, 1 line")
        card.locator("summary").click()
        expect(card.locator("pre")).to_contain_text("+system_prompt: You are worse.")
        page.screenshot(path=tmp_path / "revisions.png", full_page=True)
        back = card.get_by_role("button", name="Go back to it")
        back.click()
        assert desk.read_text() != before, "a reason is missing"
        card.get_by_role("textbox", name="Why?").fill("it was worse")
        back.click()
        expect(rows).to_have_count(3)
        expect(rows.first).to_contain_text("it was worse")
        assert desk.read_text() == before
        page.goto(f"{server.url}/audit")
        expect(page.locator(".audit tbody tr").first).to_contain_text("rollback")
        page.get_by_role("combobox", name="action").select_option("start")
        expect(page.locator(".audit tbody tr")).to_have_count(1)
        page.get_by_label("who").fill("nobody")
        page.get_by_label("who").press("Enter")
        expect(page.locator(".audit tbody tr")).to_contain_text("Nothing is recorded that fits.")
        assert "name=nobody" in page.url
        page.get_by_label("who").fill("")
        page.get_by_label("who").press("Enter")
        page.screenshot(path=tmp_path / "audit.png", full_page=True)
        page.get_by_role("link", name="Automation").click()
        daily = page.get_by_role("region", name="daily")
        expect(daily).to_contain_text("0 6 * * *")
        expect(daily.locator("time")).to_have_count(3)
        daily.get_by_role("button", name="Pause it").click()
        expect(daily).to_contain_text("Paused since")
        on = daily.get_by_role("button", name="Let it go on")
        expect(on).to_be_focused()
        on.click()
        expect(daily).not_to_contain_text("Paused since")
        daily.get_by_role("button", name="Run now").click()
        begun = daily.get_by_role("link", name="It has begun")
        expect(begun).to_have_attribute("href", re.compile(r"^/runs/[0-9a-f]+$"))
        page.reload()
        expect(daily.get_by_label("Last times").locator("li")).to_contain_text("by hand")
        tickets = page.get_by_role("region", name="tickets")
        tickets.locator("summary").click()
        box = tickets.get_by_role("textbox")
        send = tickets.get_by_role("button", name="Send it")
        box.fill('{"text": 1')
        send.click()
        expect(tickets.get_by_role("alert")).to_be_visible()
        box.fill('{"text": 1}')
        send.click()
        expect(tickets.get_by_role("alert")).to_contain_text("name nothing")
        box.fill('{"title": "broken"}')
        send.click()
        expect(tickets.get_by_role("link", name="It has begun")).to_be_visible()
        dead = page.get_by_role("region", name="dead")
        dead.get_by_role("button", name="Send a test").click()
        expect(dead.get_by_role("alert")).to_contain_text("cannot be reached")
        check(page)
        page.screenshot(path=tmp_path / "automation.png", full_page=True)


def changed(server: ServerProcess, folder: Path, count: int = 1) -> None:
    """Change the files, and load them again, some times."""
    with client(server) as http:
        for number in range(count):
            text = (folder / "crew.yaml").read_text()
            (folder / "crew.yaml").write_text(f"{text}# {number}\n")
            assert http.post("/api/crew/reload").status_code == 200


def test_editing_that_is_off_is_said(browser: Browser, folder: Path):
    with serving(folder) as server, opened_page(browser) as page:
        changed(server, folder)
        page.goto(f"{server.url}/revisions?r=1")
        page.get_by_role("textbox", name="Why?").fill("it was worse")
        page.get_by_role("button", name="Go back to it").click()
        expect(page.get_by_text("CREW_EDIT is not set")).to_be_visible()


def test_older_revisions_and_the_present_one(browser: Browser, folder: Path):
    """Older ones come by a button, and by their address; to the one that is served is no way back."""
    with serving(folder) as server, opened_page(browser) as page:
        changed(server, folder, 52)
        page.goto(f"{server.url}/revisions?r=1")
        expect(page.locator("h2", has_text="From 1 to what is served now")).to_be_visible()
        rows = page.locator(".revisions tbody tr")
        expect(rows).to_have_count(50)
        page.get_by_role("button", name="Older").click()
        expect(rows).to_have_count(53)
        expect(page.get_by_role("button", name="Older")).to_be_hidden()
        page.goto(f"{server.url}/revisions?r=53")
        expect(page.locator("h2")).to_contain_text("it took the place of 52")
        expect(page.get_by_label("Why?")).to_have_count(0)
        page.goto(f"{server.url}/revisions?r=9999")
        expect(page.get_by_role("alert")).to_be_visible()


def test_the_way_back_undoes_nothing_unseen(browser: Browser, folder: Path):
    """What was saved since the page was opened is not lost."""
    with serving(folder, CREW_EDIT="1") as server, opened_page(browser) as page:
        changed(server, folder)
        page.goto(f"{server.url}/revisions?r=1")
        page.get_by_label("Why?").fill("it was worse")
        changed(server, folder)
        page.get_by_label("Why?").press("Enter")
        expect(page.locator(".revisions .error")).to_be_visible()
        with client(server) as http:
            assert http.get("/api/crew/revisions").json()["revisions"][0]["number"] == 3


def test_days_are_those_of_who_looks(browser: Browser, folder: Path):
    """`until` is the whole of its day."""
    with serving(folder) as server:
        ran(server, "loud please")
        for zone in ("America/Los_Angeles", "Asia/Ho_Chi_Minh"):
            with opened_page(browser, timezone_id=zone) as page:
                page.goto(server.url)
                day = page.evaluate("new Date().toLocaleDateString('sv')")
                page.goto(f"{server.url}/runs?since={day}&until={day}")
                expect(page.locator(".totals")).to_contain_text("1 runs: ")
                days = "new Date(Date.now() + 86400000).toLocaleDateString('sv')"
                page.goto(f"{server.url}/runs?since={page.evaluate(days)}")
                expect(page.get_by_text("No runs.")).to_be_visible()


@pytest.mark.parametrize(("scheme", "shown"), [("light", {"locale": "vi-VN"}), ("dark", PHONE)])
def test_everybody_can_read_it(browser: Browser, folder: Path, scheme: Any, shown: dict[str, Any]):
    """Axe finds nothing serious, in both languages, on a desk and a phone, in both colours."""
    with serving(folder) as server:
        loud, quiet = ran(server, "loud"), ran(server, "wait")
        pages = ("search?q=loud", "automation", "audit", "revisions?r=1")
        with opened_page(browser, color_scheme=scheme, **shown) as page:
            for path in (*pages, f"compare?a={loud}&b={quiet}"):
                page.goto(f"{server.url}/{path}")
                expect(page.locator("#view > *")).to_be_visible()
                expect(page.locator("#view :is(li, tr, .card)").first).to_be_visible()
                check(page)
