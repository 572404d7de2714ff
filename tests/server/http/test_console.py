"""The web console and the page of forty lines, in a real browser."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.browser import NEEDS_CHROMIUM, begin, opened_page
from tests.support.crews import ROOT, copy_example, write_crew
from tests.support.processes import clean_environment, client, serving, start_server

pytestmark = NEEDS_CHROMIUM


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page of a person who reads English, on which nothing breaks."""
    with opened_page(browser) as opened:
        yield opened


def test_a_run_with_a_pause(page: Page, tmp_path: Path):
    """Asked, paused, answered, done; its address shows all of it again, and the list finds it."""
    with serving(copy_example("it-support", tmp_path)) as server:
        page.goto(server.url)
        expect(page.locator("h1")).to_have_text("it-support")
        page.fill("#query", "máy chậm")
        page.click("#send")
        expect(page.locator(".chip")).to_have_text("paused")
        page.get_by_label("Your answer").fill("máy này, từ sáng nay")
        page.keyboard.press("Enter")
        expect(page.locator(".note.done")).to_contain_text("terminal")
        expect(page.locator(".talk")).to_contain_text("CPU usage")
        expect(page.locator(".chip")).to_have_text("completed")
        spoken = page.locator(".talk .speech").all_inner_texts()
        page.reload()
        expect(page.locator(".note.done")).to_contain_text("terminal")
        assert page.locator(".talk .speech").all_inner_texts() == spoken
        page.get_by_role("link", name="Runs").click()
        page.fill("[name=text]", "MÁY")
        page.locator("table.runs a").click()
        expect(page.locator(".note.done")).to_contain_text("terminal")
        page.go_back()
        page.select_option("[name=status]", "failed")
        expect(page.locator("table.runs tbody")).to_have_text("No runs.")


def test_a_run_is_shown_whole(page: Page, tmp_path: Path):
    """Members of a group in lanes, ways with their line, the graph lit, a bar for each call, raw events."""
    with serving(copy_example("on-call", tmp_path)) as server:
        page.goto(server.url)
        page.fill("#query", "the site is slow")
        page.click("#send")
        expect(page.locator(".asking")).to_contain_text("restart")
        assert re.fullmatch(r"/runs/[0-9a-f]{32}", urlsplit(page.url).path)
        for lane, tool in (("host", "GetCPUUsage"), ("network", "ResolveDNS")):
            expect(page.locator(f".lanes ol[aria-label={lane}]")).to_contain_text(tool)
        expect(page.locator(".note.way").first).to_contain_text(re.compile(r"crew\.yaml:\d+"))
        # there, to each member, back, and on
        expect(page.locator(".graph .way.taken")).to_have_count(5)
        expect(page.locator(".graph .node.visited")).to_have_count(5)
        bars = page.locator(".waterfall li:not(.lane)").all_inner_texts()
        assert sum("tokens" in bar for bar in bars) == 8
        expect(page.locator(".waterfall .bar.wait")).to_have_count(1)
        # what members do stands together, however it came
        lanes = page.locator(".waterfall .lane")
        expect(lanes).to_have_count(2)
        expect(lanes.filter(has_text="ResolveDNS")).to_have_count(1)
        page.get_by_role("button", name="Zoom in").last.click()
        assert page.evaluate(
            "(one => one.scrollWidth > one.clientWidth)(document.querySelector('.waterfall'))"
        )
        page.locator(".tool summary").first.click()
        expect(page.locator(".tool pre[aria-label=Output]").first).to_contain_text("CPU usage")
        page.get_by_text("Raw events").click()
        expect(page.locator(".raw")).to_contain_text('"type": "handoff"')


def test_the_picture_of_the_documentation(browser: Browser, tmp_path: Path):
    """A run's page; CREW_PICTURES=1 writes it into docs/images, where README has it from."""
    size = {"width": 1280, "height": 800}
    with (
        serving(copy_example("on-call", tmp_path)) as server,
        opened_page(browser, viewport=size) as page,
    ):
        begin(page, server, "the site is slow")
        page.locator("[name=approve]").click()
        expect(page.locator(".note.done")).to_be_visible()
        page.reload()
        expect(page.locator(".note.done")).to_be_visible()
        page.evaluate("scrollTo(0, 0)")
        picture = page.screenshot()
        assert picture.startswith(b"\x89PNG")
        if "CREW_PICTURES" in os.environ:
            (ROOT / "docs" / "images" / "run.png").write_bytes(picture)
    assert "docs/images/run.png" in (ROOT / "README.md").read_text()


def test_what_is_approved_is_shown(page: Page, tmp_path: Path):
    """Every argument, with what would hide a part of it; it is denied with a reason."""
    arguments = {"to": "bob\u202egnp.exe", "amount": 10, "note": "x\u0007y"}
    tools = {"pay": {"kind": "python", "function": "acts.py:pay", "requires_approval": True}}
    rules = [
        {"after": "pay", "say": "{{result.pay}}"},
        {"calls": [{"tool": "pay", "arguments": arguments}]},
    ]
    folder = write_crew(tmp_path / "crew", {"a": {"tools": ["pay"]}}, rules, tools)
    (folder / "acts.py").write_text(
        "def pay(to: str, amount: int, note: str) -> str:\n    return f'paid {to}'\n"
    )
    with serving(folder) as server:
        begin(page, server, "go")
        asked = page.locator(".asked")
        for shown in ("pay", "bob\\u202egnp.exe", '"amount": 10', "x\\u0007y"):
            expect(asked).to_contain_text(shown)
        assert "\u202e" not in asked.inner_text()
        page.get_by_label("Reason, if you say no (pay)").fill("not him")
        page.click("[name=deny]")
        expect(page.locator(".talk")).to_contain_text("Denied by a person: not him")
        expect(page.locator(".speech.mine").last).to_contain_text("deny: pay")


def test_a_call_is_changed_and_approved_for_the_run(page: Page, tmp_path: Path):
    """In the page: other arguments, and yes to the tool from then on."""
    entry = {"kind": "python", "function": "acts.py:pay", "requires_approval": True}
    rules = [
        {"turn": 3, "say": "{{result.pay}}"},
        {"turn": 2, "calls": [{"tool": "pay", "arguments": {"to": "eve"}}]},
        {"calls": [{"tool": "pay", "arguments": {"to": "bob"}}]},
    ]
    folder = write_crew(tmp_path / "crew", {"a": {"tools": ["pay"]}}, rules, {"pay": entry})
    (folder / "acts.py").write_text("def pay(to: str) -> str:\n    return f'paid {to}'\n")
    with serving(folder) as server:
        begin(page, server, "go")
        page.get_by_text("Change the arguments").click()
        page.get_by_label("Its arguments (pay)").fill('{"to": ')
        page.click("[name=approve]")
        expect(page.locator(".asking [role=alert]")).to_contain_text("JSON")
        page.get_by_label("Its arguments (pay)").fill('{"to": "joe"}')
        page.get_by_label("approve this tool for the rest of this run").check()
        page.click("[name=approve]")
        expect(page.locator(".talk")).to_contain_text("paid joe")
        expect(page.locator(".talk")).to_contain_text("paid eve")
        expect(page.locator(".asked")).to_have_count(0)


def test_long_numbers_stay_what_they_are(page: Page, tmp_path: Path):
    """A person approves the number that is sent, also with other arguments beside it."""
    entry = {"kind": "python", "function": "acts.py:pay", "requires_approval": True}
    rules = [
        {"after": "pay", "say": "{{result.pay}}"},
        {"calls": [{"tool": "pay", "arguments": {"account": 12345678901234567890, "note": "a"}}]},
    ]
    folder = write_crew(tmp_path / "crew", {"a": {"tools": ["pay"]}}, rules, {"pay": entry})
    (folder / "acts.py").write_text(
        "def pay(account: int, note: str) -> str:\n    return f'{note} to {account}'\n"
    )
    with serving(folder) as server:
        begin(page, server, "go")
        expect(page.locator(".asked")).to_contain_text("12345678901234567890")
        page.get_by_text("Change the arguments").click()
        box = page.get_by_label("Its arguments (pay)")
        box.fill(box.input_value().replace('"a"', '"b"'))
        page.click("[name=approve]")
        expect(page.locator(".speech").last).to_contain_text("b to 12345678901234567890")


def test_an_end_of_a_line_in_a_text(page: Page, tmp_path: Path):
    """Other ends of lines than the stream's; the run is shown to its end."""
    said = "one\u2028two\u2029three\rfour"
    with serving(write_crew(tmp_path / "crew", {"a": {}}, [{"say": said}])) as server:
        begin(page, server, "go")
        expect(page.locator(".speech").last).to_contain_text("four")
        expect(page.locator("header.run .chip")).to_have_text("completed")


def test_what_a_model_writes_is_text(page: Page, tmp_path: Path):
    """Markdown and tables are shown; HTML, scripts and their links stay what they are: text."""
    said = "# Found\n\n| disk | used |\n| --- | --- |\n| sda | **90 %** |\n\n- one\n- [x] two\n\n"
    said += "<img src=x onerror=alert(1)> <script>alert(2)</script> [here](javascript:alert(3)) "
    said += "[there](https://example.com/a)"
    with serving(write_crew(tmp_path / "crew", {"a": {}}, [{"say": said}])) as server:
        page.on("dialog", lambda dialog: pytest.fail(dialog.message))
        begin(page, server, "<b>go</b>")
        shown = page.locator(".talk .markdown")
        expect(shown.locator("h3")).to_have_text("Found")
        expect(shown.locator("td strong")).to_have_text("90 %")
        expect(shown.locator("li")).to_have_count(2)
        expect(shown).to_contain_text("<img src=x onerror=alert(1)>")
        expect(shown).to_contain_text("[here](javascript:alert(3))")
        expect(shown.locator("a")).to_have_attribute("href", "https://example.com/a")
        expect(page.locator(".speech.mine")).to_contain_text("<b>go</b>")
        assert page.locator(".talk img, .talk script, .speech.mine p b").count() == 0


def test_a_failed_run_is_retried(page: Page, tmp_path: Path):
    """By a button; the page goes on with it. So it does after the server was away."""
    rules = [{"agent": "a", "hears": "never", "say": "x", "delay_seconds": 3600}, {"say": "well"}]
    settings = {"timeout_seconds": 0.5}
    folder = write_crew(tmp_path / "crew", {"a": {}}, rules, settings=settings)
    with serving(folder) as server:
        begin(page, server, "never")
        expect(page.locator(".chip")).to_have_text("failed")
        expect(page.locator(".note.error")).to_contain_text("took longer")
        page.get_by_role("button", name="Retry from the failed step").click()
        # it fails again: there are two of them
        expect(page.locator(".note.error")).to_have_count(2)
        page.get_by_role("button", name="Run again").click()
        expect(page.locator(".note.error")).to_have_count(1)


def test_a_page_outlives_its_server(page: Page, tmp_path: Path):
    """Killed while a run is paused, and started again at the same address: it is answered from there."""
    folder = copy_example("pausing", tmp_path)
    server = start_server(folder)
    port = str(urlsplit(server.url).port)
    begin(page, server, "A table, please")
    expect(page.locator(".asking")).to_be_visible()
    server.kill()
    with serving(folder, "--port", port) as again:
        assert urlsplit(again.url).port == int(port)
        page.get_by_label("Your answer").fill("four")
        page.get_by_role("button", name="Answer").click()
        expect(page.locator(".asked")).to_contain_text("book")


def test_another_person_answers(page: Page, browser: Browser, tmp_path: Path):
    """The page shows it; who comes too late is told."""
    with serving(copy_example("pausing", tmp_path)) as server, opened_page(browser) as other:
        begin(page, server, "A table, please")
        expect(page.locator(".asking")).to_be_visible()
        other.goto(page.url)
        other.get_by_label("Your answer").fill("four")
        other.get_by_role("button", name="Answer").click()
        expect(page.locator(".asked")).to_contain_text("book")
        expect(page.locator(".speech.mine")).to_have_count(2)


def test_two_thousand_events(page: Page, tmp_path: Path):
    """Are shown while the page still answers: no frame takes as long as a person would notice."""
    rules = [
        {"agent": "a", "turn": 200, "say": "done"},
        {"agent": "a", "say": "step", "calls": ["GetSystemInfo"] * 4},
    ]
    # all of it stays in the window, where the script counts its turns
    settings = {"max_rounds": 500, "timeout_seconds": 3000, "max_context_window": 1_000_000}
    agents = {"a": {"tools": ["GetSystemInfo"]}}
    folder = write_crew(tmp_path / "crew", agents, rules, settings=settings)
    with serving(folder) as server, client(server) as http:
        run = http.post("/api/crew/run", json={"query": "go"}).json()
        page.goto(f"{server.url}/runs/{run['run_id']}")
        expect(page.locator(".note.done")).to_be_visible()
        assert page.locator(".talk > li").count() > 900
        events = http.get(f"/api/crew/runs/{run['run_id']}/events").text.count("\nid: ")
        assert events > 1990


def test_a_token_is_asked_for(browser: Browser, tmp_path: Path):
    """By a page, or in a link; then a cookie has it, which no script can read."""
    token = "0123456789abcdef-console"
    with serving(copy_example("hello", tmp_path), CREW_API_TOKENS=token) as server:
        page = browser.new_page(locale="en-US")
        page.goto(f"{server.url}/inbox")
        page.fill("#token", "wrong-wrong-wrong-wrong")
        page.click("button")
        expect(page.locator("[role=alert]")).to_have_text("This is none of the server's tokens.")
        page.fill("#token", token)
        page.click("button")
        expect(page.locator("h1")).to_have_text("hello")
        # where the person wanted to be
        assert urlsplit(page.url).path == "/inbox"
        page.click("nav a")
        page.fill("#query", "Hello")
        page.click("#send")
        expect(page.locator(".note.done")).to_be_visible()
        assert page.evaluate("document.cookie") == ""
        other = browser.new_page()
        other.goto(server.url)
        expect(other.locator("#token")).to_be_visible()
        linked = browser.new_page()
        linked.goto(f"{server.url}/?token={token}")
        expect(linked.locator("h1")).to_have_text("hello")
        assert token not in linked.url


def test_the_page_of_forty_lines(browser: Browser):
    """EventSource from another origin, which the example allows; a pause is answered."""
    source = (ROOT / "examples" / "serving" / "index.html").read_text()
    assert len(source.split("<script>")[1].splitlines()) <= 41
    process = subprocess.Popen(
        [sys.executable, ROOT / "examples" / "serving" / "page.py"],
        env=clean_environment(CREW_DATABASE_URL="memory:"),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    for line in process.stdout:
        if "serving on" in line:
            break
    try:
        page = browser.new_page()
        page.goto("http://127.0.0.1:8000")
        page.fill("[name=q]", "máy chậm")
        page.click("button")
        expect(page.locator("main")).to_contain_text("Máy nào gặp sự cố")
        page.fill("[name=q]", "máy này")
        page.click("button")
        expect(page.locator("main")).to_contain_text("Khuyến nghị")
        with httpx2.Client(trust_env=False) as http:
            assert len(http.get("http://127.0.0.1:8080/api/crew/runs").json()["runs"]) == 1
    finally:
        process.send_signal(2)
        process.wait(10)
        process.stdout.close()


def test_a_broken_edit_is_reported(browser: Browser, tmp_path: Path):
    """On the page, with its place, until it is fixed."""
    folder = copy_example("hello", tmp_path)
    good = (folder / "crew.yaml").read_text()
    with serving(folder) as server, client(server) as http:
        page = browser.new_page(locale="en-US")
        page.goto(server.url)
        expect(page.locator("#crew")).to_have_text("hello")
        expect(page.locator("#config")).to_be_hidden()
        (folder / "crew.yaml").write_text(good + "setings: {}\n")
        assert http.post("/api/crew/reload").status_code == 422
        page.evaluate("window.dispatchEvent(new Event('focus'))")
        expect(page.locator("#config")).to_contain_text("unknown key 'setings'")
        expect(page.locator("#config")).to_contain_text("goes on")
        (folder / "crew.yaml").write_text(good)
        assert http.post("/api/crew/reload").status_code == 200
        page.evaluate("window.dispatchEvent(new Event('focus'))")
        expect(page.locator("#config")).to_be_hidden()
        page.close()
