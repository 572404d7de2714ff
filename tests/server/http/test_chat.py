"""<crew-chat> in a page of another origin, under a strict policy, in a real browser."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.browser import NEEDS_CHROMIUM, opened_page
from tests.support.crews import copy_example, write_crew
from tests.support.processes import ServerProcess, client, free_port, serving, start_server

pytestmark = NEEDS_CHROMIUM
TOKEN = "shop-0123456789abcdef"
HOSTILE = (
    "**Bold** <img src=x onerror=window.hacked=1> [link](javascript:window.hacked=1) "
    "<script>window.hacked=1</script>\n\n| a | b |\n|---|---|\n| 1 | 2 |"
)
RULES: list[dict[str, Any]] = [
    {"after": "pay", "say": "paid [END]"},
    {
        "hears": "pay",
        "say": "",
        "calls": [{"tool": "pay", "arguments": {"to": "bob\nand more", "n": 7}}],
    },
    {"hears": "ask", "say": "which one?"},
    {"hears": "hostile", "say": f"{HOSTILE} [END]"},
    {"hears": "slow", "say": "slowly, but it comes [END]", "delay_seconds": 3},
    {"hears": "forever", "say": "x", "delay_seconds": 600},
    {"say": "done [END]"},
]
PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>shop</title>
<link rel="stylesheet" href="/shop.css"></head><body>
<main><h1>Shop</h1>{chats}</main>
<script type="module" src="/shop.js"></script></body></html>"""
CHAT = '<crew-chat url="{url}" user="{user}"><h2 slot="head">Help</h2><p slot="empty">Ask us.</p></crew-chat>'
SCRIPT = """
window.told = [];
for (const kind of ["run", "pause", "done", "error", "show"]) {
  document.addEventListener(`crew-${kind}`, ({ detail }) => window.told.push([kind, detail.run ?? null, detail.answer ?? detail.error?.message ?? null]));
}
for (const chat of document.querySelectorAll("crew-chat")) {
  chat.ticket = async () => (await fetch(`/my/ticket?user=${chat.getAttribute("user")}`)).text();
}
import("URL/chat.js");
"""
STYLE = "crew-chat { height: 26rem; border: 1px solid; } main { max-width: 40rem; }"


class Shop(ThreadingHTTPServer):
    """The page of a shop, and its tickets."""

    def __init__(self, crew_url: str, users: tuple[str, ...] = ("ann",)) -> None:
        super().__init__(("127.0.0.1", 0), Pages)
        self.crew_url, self.users = crew_url, users
        self.seconds = 600
        # what is answered in place of a ticket
        self.broken: str | None = None
        self.tickets = 0
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Pages(BaseHTTPRequestHandler):
    server: Shop

    def do_GET(self) -> None:
        shop, path = self.server, self.path.partition("?")[0]
        if path == "/my/ticket":
            shop.tickets += 1
            if shop.broken is not None:
                self.answer("text/plain", shop.broken)
                return
            body = {
                "user_id": self.path.partition("user=")[2],
                "scopes": ["read", "run", "answer"],
                "seconds": shop.seconds,
            }
            made = httpx2.post(
                f"{shop.crew_url}/api/crew/tickets",
                json=body,
                headers={"Authorization": f"Bearer {TOKEN}"},
            )
            self.answer("text/plain", made.json()["ticket"])
        elif path == "/shop.js":
            self.answer("text/javascript", SCRIPT.replace("URL", shop.crew_url))
        elif path == "/shop.css":
            self.answer("text/css", STYLE)
        elif path == "/favicon.ico":
            self.answer("image/x-icon", "")
        else:
            chats = "".join(CHAT.format(url=shop.crew_url, user=user) for user in shop.users)
            self.answer("text/html", PAGE.format(chats=chats))

    def answer(self, kind: str, text: str) -> None:
        data = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        policy = (
            f"default-src 'none'; script-src 'self' {self.server.crew_url}; style-src 'self'; "
            f"connect-src 'self' {self.server.crew_url}; img-src 'self'; "
            "require-trusted-types-for 'script'; trusted-types 'none'; base-uri 'none'"
        )
        self.send_header("Content-Security-Policy", policy)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def chat_crew(folder: Path, **crew: Any) -> Path:
    code = 'def pay(to: str, n: int) -> str:\n    """Pay."""\n    return "ok"\n'
    written = write_crew(
        folder / "crew",
        {"a": {"tools": ["pay"]}},
        RULES,
        {"pay": {"kind": "python", "function": "acts.py:pay", "requires_approval": True}},
        routing={
            "signals": {"a": [{"signal": "[END]", "target": None}]},
            "agent_behaviors": {"a": {"wait_for_signal": True}},
        },
        **crew,
    )
    (written / "acts.py").write_text(code)
    return written


@contextmanager
def shop_of(
    folder: Path, users: tuple[str, ...] = ("ann",), **environment: str
) -> Iterator[tuple[Shop, ServerProcess]]:
    """A shop and the crew that it has a chat with."""
    port = free_port()
    tokens = {"CREW_API_TOKENS": f"shop+read+run+answer+act_as:{TOKEN}", **environment}
    with Shop(f"http://127.0.0.1:{port}", users) as shop:
        origins = {"CREW_CORS_ORIGINS": shop.url}
        with serving(folder, "--port", str(port), **tokens, **origins) as server:
            yield shop, server
        shop.shutdown()


def say(page: Page, text: str, place: int = 0) -> None:
    box = page.locator("crew-chat").nth(place)
    expect(box.locator("button.main").last).to_be_enabled()
    box.locator("form.ask textarea").fill(text)
    box.locator("form.ask textarea").press("Enter")


def told(page: Page, kind: str) -> list[Any]:
    found: list[Any] = page.evaluate("window.told")
    return [one for one in found if one[0] == kind]


def test_a_conversation_in_a_shop(browser: Browser, tmp_path: Path):
    """Words, hostile ones as text, a question, an approval with every argument; all of it after a reload."""
    with shop_of(chat_crew(tmp_path, conversations={})) as (shop, _), opened_page(browser) as page:
        page.goto(shop.url)
        log = page.locator("crew-chat ol.log")
        expect(page.get_by_text("Ask us.")).to_be_visible()
        say(page, "hostile")
        expect(log.locator("strong")).to_have_text("Bold")
        expect(log.locator("td").first).to_have_text("1")
        expect(page.get_by_text("Ask us.")).to_be_hidden()
        assert log.locator("img").count() == 0
        assert log.locator("script").count() == 0
        assert log.locator("a").count() == 0
        assert page.evaluate("window.hacked") is None
        say(page, "ask")
        expect(log).to_contain_text("which one?")
        expect(page.locator("crew-chat form.ask textarea")).to_have_attribute(
            "placeholder", "Your answer"
        )
        page.reload()
        expect(log).to_contain_text("which one?")
        expect(page.locator("crew-chat form.ask textarea")).to_have_attribute(
            "placeholder", "Your answer"
        )
        say(page, "the first")
        expect(log.locator("li.me").last).to_contain_text("the first")
        expect(log.locator("li.crew").last).to_contain_text("done")
        say(page, "pay")
        card = page.locator("crew-chat .card")
        expect(card.locator("pre").first).to_contain_text('"to": "bob\\nand more"')
        expect(card.locator("pre").first).to_contain_text('"n": 7')
        page.screenshot(path=tmp_path / "shop.png")
        page.reload()
        card.get_by_role("button", name="Approve").click()
        expect(log).to_contain_text("paid")
        expect(card).to_have_count(0)
        assert [one[2] for one in told(page, "done")][-1] == "paid [END]"
        page.reload()
        # the newest exchange as it was: what the person has decided is one of its steps
        expect(log).to_contain_text("paid")
        expect(log.locator("li.me")).to_have_count(4)
        log.locator("details.steps > summary").last.click()
        expect(log.locator("details.steps").last).to_contain_text("Approve: pay")
        page.screenshot(path=tmp_path / "reloaded.png")
        # the page has heard of its end before
        assert told(page, "done") == []
        say(page, "hello")
        expect(log.locator("li.me")).to_have_count(5)
        expect(log.locator("li.me ~ li.crew").last).to_contain_text("done")
        page.wait_for_function("() => window.told.filter(([kind]) => kind === 'done').length === 1")
        assert [one[0] for one in page.evaluate("window.told")] == ["run", "done"]
        page.reload()
        # an older one in words alone; a decision is none of the person's
        expect(log.locator("li.me")).to_have_count(5)
        expect(log.locator("li.note").first).to_contain_text("pay")
        expect(log.locator("li.note").last).to_have_text("Approve")


def test_it_outlives_the_server(browser: Browser, tmp_path: Path):
    """Killed while a run is at work, and back on the same port: one run, its whole answer."""
    folder = chat_crew(tmp_path, conversations={})
    port = free_port()
    with Shop(f"http://127.0.0.1:{port}") as shop, opened_page(browser) as page:
        given = {
            "CREW_API_TOKENS": f"shop+read+run+answer+act_as:{TOKEN}",
            "CREW_CORS_ORIGINS": shop.url,
        }
        first = start_server(folder, "--port", str(port), **given)
        page.goto(shop.url)
        say(page, "slow")
        expect(page.locator("crew-chat .spinner").first).to_be_visible()
        first.kill()
        expect(page.locator("crew-chat .alert")).to_contain_text("The connection is lost")
        with serving(folder, "--port", str(port), **given) as server:
            log = page.locator("crew-chat ol.log")
            expect(log).to_contain_text("slowly, but it comes")
            expect(page.locator("crew-chat .alert")).to_have_text("")
            with client(server) as http:
                shown = {"Authorization": f"Bearer {TOKEN}"}
                assert len(http.get("/api/crew/runs", headers=shown).json()["runs"]) == 1
        shop.shutdown()


def test_tickets_that_fail_and_end(browser: Browser, tmp_path: Path):
    """What is wrong is said, and nothing is lost; one that has ended is replaced unseen."""
    with shop_of(chat_crew(tmp_path, conversations={})) as (shop, _), opened_page(browser) as page:
        shop.broken = "no.ticket"
        page.goto(shop.url)
        expect(page.locator("crew-chat .alert")).to_contain_text("Authorization")
        say(page, "hello there")
        expect(page.locator("crew-chat form.ask textarea")).to_have_value("hello there")
        shop.broken, shop.seconds = None, 1
        say(page, "hello there")
        log = page.locator("crew-chat ol.log")
        expect(log.locator("li.crew").last).to_contain_text("done")
        before = shop.tickets
        page.wait_for_function(
            "() => (window.since ??= Date.now(), Date.now() - window.since > 2500)"
        )
        say(page, "and again")
        expect(log.locator("li.me")).to_have_count(2)
        # of the second question; those of the first one are there already
        expect(log.locator("li.me ~ li.me ~ li.crew").last).to_contain_text("done")
        assert shop.tickets > before


def test_two_in_one_page_and_no_conversations(browser: Browser, tmp_path: Path):
    """Each has its own; a crew that keeps no conversations answers one run after the other; a run is stopped."""
    users = ("ann", "bob")
    with shop_of(chat_crew(tmp_path), users) as (shop, _), opened_page(browser) as page:
        page.goto(shop.url)
        say(page, "from ann", 0)
        say(page, "from bob", 1)
        logs = [page.locator("crew-chat").nth(place).locator("ol.log") for place in (0, 1)]
        for log, name, other in ((logs[0], "ann", "bob"), (logs[1], "bob", "ann")):
            expect(log.locator("li.crew").last).to_contain_text("done")
            expect(log).to_contain_text(f"from {name}")
            expect(log).not_to_contain_text(f"from {other}")
        say(page, "ask", 0)
        expect(logs[0]).to_contain_text("which one?")
        page.reload()
        expect(logs[0]).to_contain_text("which one?")
        say(page, "forever", 0)
        stop = page.locator("crew-chat").first.get_by_role("button", name="Stop")
        expect(page.locator("crew-chat").first.locator("p.spinner")).to_be_visible()
        stop.click()
        expect(logs[0]).to_contain_text("Stopped.")


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark"), (320, "light")])
def test_a_page_of_its_own(browser: Browser, tmp_path: Path, width: int, scheme: Any):
    """With the console's own session; in Vietnamese; no sideways scroll on a phone."""
    folder = chat_crew(tmp_path, conversations={})
    size = {"width": width, "height": 800}
    look = {"viewport": size, "color_scheme": scheme, "locale": "vi"}
    with serving(folder) as server, opened_page(browser, **look) as page:
        page.goto(f"{server.url}/chat")
        say(page, "pay")
        expect(page.locator("crew-chat .card")).to_be_visible()
        expect(page.get_by_role("button", name="Đồng ý")).to_be_visible()
        page.screenshot(path=tmp_path / f"chat-{width}.png")
        wide = page.evaluate("document.documentElement.scrollWidth > innerWidth")
        assert not wide


def test_the_example(browser: Browser, tmp_path: Path):
    """A visitor of the shop orders tea, and agrees to it."""
    folder, port = copy_example("chat", tmp_path), free_port()
    shop = f"http://127.0.0.1:{port}"
    with serving(folder, CREW_CORS_ORIGINS=shop) as server:
        with subprocess.Popen(
            [sys.executable, folder / "shop.py", str(port)],
            env={**os.environ, "CREW_URL": server.url},
            stdout=subprocess.PIPE,
            text=True,
        ) as program:
            assert program.stdout is not None
            assert shop in program.stdout.readline()
            with opened_page(browser, viewport={"width": 960, "height": 640}) as page:
                page.goto(shop)
                say(page, "Hello")
                expect(page.locator("crew-chat")).to_contain_text("Welcome to the tea shop")
                say(page, "Two packs of sencha, please")
                page.locator("crew-chat").get_by_role("button", name="Approve").click()
                expect(page.locator("crew-chat")).to_contain_text("18 EUR")
                page.screenshot(path=tmp_path / "chat.png")
            program.terminate()


def test_the_script_is_public(tmp_path: Path):
    """For every page; by its digest for ever; small."""
    folder = chat_crew(tmp_path)
    with serving(folder, CREW_API_TOKENS=TOKEN) as server, client(server) as http:
        answer = http.get("/chat.js", headers={"Origin": "https://shop.example.com"})
        assert answer.status_code == 200
        assert answer.headers["cross-origin-resource-policy"] == "cross-origin"
        assert answer.headers["access-control-allow-origin"] == "*"
        assert answer.headers["content-type"].startswith("text/javascript")
        assert http.get("/chat").status_code == 401
        assert json.dumps(answer.text).count("innerHTML") == 0
