"""The web console and the page of forty lines, in a real browser."""

import subprocess
import sys
from pathlib import Path

import httpx2
from playwright.sync_api import Browser, expect

from tests.support.browser import NEEDS_CHROMIUM
from tests.support.crews import ROOT, copy_example, write_crew
from tests.support.processes import clean_environment, client, serving

pytestmark = NEEDS_CHROMIUM


def test_a_run_with_a_pause(browser: Browser, tmp_path: Path):
    """Asked, paused, answered, done; then found again in the list of runs; nothing on the page breaks."""
    with serving(copy_example("it-support", tmp_path)) as server:
        page = browser.new_page()
        broken: list[str] = []
        page.on("pageerror", lambda error: broken.append(str(error)))
        page.on(
            "console",
            lambda message: broken.append(message.text) if message.type == "error" else None,
        )
        page.goto(server.url)
        expect(page.locator("h1")).to_have_text("it-support")
        expect(page.locator("#agents li")).to_have_count(3)
        page.fill("#query", "máy chậm")
        page.click("#send")
        expect(page.locator("#send")).to_have_text("Answer")
        page.fill("#query", "máy này, từ sáng nay")
        page.keyboard.press("Enter")
        expect(page.locator(".done")).to_contain_text("terminal")
        expect(page.locator("#events")).to_contain_text("CPU usage")
        expect(page.locator("#runs button")).to_have_count(1)
        page.reload()
        page.click("#runs button")
        expect(page.locator(".done")).to_contain_text("terminal")
        expect(page.locator("#events .speech")).to_have_count(7)
        assert broken == []


def test_a_yes_is_a_button(browser: Browser, tmp_path: Path):
    """The call that needs it is named."""
    with serving(copy_example("pausing", tmp_path)) as server:
        page = browser.new_page()
        page.goto(server.url)
        page.fill("#query", "A table, please")
        page.click("#send")
        expect(page.locator("#send")).to_have_text("Answer")
        page.fill("#query", "four")
        page.click("#send")
        expect(page.locator("#yes")).to_have_text("approve")
        page.click("#yes")
        expect(page.locator("#events")).to_contain_text("table for 4")


def test_what_is_approved_is_shown(browser: Browser, tmp_path: Path):
    """Every argument, with what would hide a part of it; it is denied by a button."""
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
        page = browser.new_page()
        page.goto(server.url)
        page.fill("#query", "go")
        page.click("#send")
        asked = page.locator("#events .asked")
        for shown in ("pay", "bob\\u202egnp.exe", '"amount": 10', "x\\u0007y"):
            expect(asked).to_contain_text(shown)
        assert "\u202e" not in asked.inner_text()
        page.click("#no")
        expect(page.locator("#events")).to_contain_text("Denied by a person")


def test_a_call_is_changed_and_approved_for_the_run(browser: Browser, tmp_path: Path):
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
        page = browser.new_page()
        page.goto(server.url)
        page.fill("#query", "go")
        page.click("#send")
        page.get_by_text("Change the arguments").click()
        page.get_by_label("Arguments of pay").fill('{"to": ')
        page.click("#yes")
        expect(page.locator("#events")).to_contain_text("JSON")
        page.get_by_label("Arguments of pay").fill('{"to": "joe"}')
        page.get_by_label("approve pay for the rest of this run").check()
        page.click("#yes")
        expect(page.locator("#events")).to_contain_text("paid joe")
        expect(page.locator("#events")).to_contain_text("paid eve")
        expect(page.locator("#events .asked")).to_have_count(1)
        page.screenshot(path=str(tmp_path / "approved.png"), full_page=True)


def test_a_token_is_asked_for(browser: Browser, tmp_path: Path):
    """By a page, or in a link; then a cookie has it, which no script can read."""
    token = "0123456789abcdef-console"
    with serving(copy_example("hello", tmp_path), CREW_API_TOKENS=token) as server:
        page = browser.new_page()
        page.goto(server.url)
        page.fill("#token", "wrong-wrong-wrong-wrong")
        page.click("button")
        expect(page.locator("[role=alert]")).to_have_text("This is none of the server's tokens.")
        page.fill("#token", token)
        page.click("button")
        expect(page.locator("h1")).to_have_text("hello")
        page.fill("#query", "Hello")
        page.click("#send")
        expect(page.locator(".done")).to_be_visible()
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
        expect(page.locator("main")).to_contain_text("Which machine is it?")
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
        page = browser.new_page()
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
