"""What <crew-chat> shows of an exchange that has ended, after a reload of its page."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.server.http.test_chat import TOKEN, Shop, chat_crew, say, shop_of, told
from tests.support.browser import NEEDS_CHROMIUM, opened_page
from tests.support.crews import write_crew
from tests.support.model_server import completion
from tests.support.model_server import http as answer_of
from tests.support.processes import client, free_port, serving, until

pytestmark = NEEDS_CHROMIUM


class Model(ThreadingHTTPServer):
    """A model that is down, until it is not."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.is_up = False
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Answers(BaseHTTPRequestHandler):
    server: Model

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        if self.server.is_up:
            self.wfile.write(answer_of(200, completion("done [END]")))
        else:
            self.wfile.write(answer_of(503, {"error": {"message": "down until noon"}}))

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def test_what_failed_is_tried_again_after_a_reload(browser: Browser, tmp_path: Path):
    """The reason and the button are there again, and the button works."""
    with Model() as model:
        address = f"http://127.0.0.1:{model.server_address[1]}/v1"
        folder = write_crew(
            tmp_path / "crew",
            {"a": {"provider": "far", "model": "m-1", "is_terminal": True}},
            providers={"far": {"base_url": address, "max_retries": 0}},
            conversations={},
        )
        with shop_of(folder) as (shop, _), opened_page(browser) as page:
            page.goto(shop.url)
            log = page.locator("crew-chat ol.log")
            say(page, "hello")
            expect(log.locator("li.bad")).to_contain_text("down until noon")
            page.reload()
            expect(log.locator("li.bad")).to_contain_text("down until noon")
            assert told(page, "error") == []
            model.is_up = True
            log.get_by_role("button", name="Try again").click()
            expect(log.locator("li.crew").last).to_contain_text("done")
            expect(log.locator("li.bad")).to_have_count(0)
            page.wait_for_function("() => window.told.some(([kind]) => kind === 'done')")
        model.shutdown()


def test_what_is_no_longer_kept_is_shown_as_words(browser: Browser, tmp_path: Path):
    """As older exchanges are: without signals and notes, by names; the next question is begun as ever."""
    folder, port = chat_crew(tmp_path, conversations={}), str(free_port())
    with Shop(f"http://127.0.0.1:{port}") as shop, opened_page(browser) as page:
        given = {
            "CREW_API_TOKENS": f"shop+read+run+answer+act_as:{TOKEN}",
            "CREW_CORS_ORIGINS": shop.url,
        }
        log = page.locator("crew-chat ol.log")
        with serving(folder, "--port", port, **given):
            page.goto(shop.url)
            say(page, "hello")
            page.wait_for_function("() => window.told.some(([kind]) => kind === 'done')")
            run = next(one[1] for one in told(page, "done"))
        with serving(folder, "--port", port, **given, CREW_KEEP_EVENTS="1") as server:
            with client(server, headers={"Authorization": f"Bearer {TOKEN}"}) as http:
                until(lambda: '"gap"' in http.get(f"/api/crew/runs/{run}/events").text)
            page.reload()
            expect(log.locator("li.crew")).to_have_count(1)
            expect(log.locator("li.crew .name")).to_have_text("A")
            expect(log.locator("li.crew")).to_contain_text("done")
            expect(log).not_to_contain_text("[END]")
            expect(log).not_to_contain_text("no longer kept")
            expect(page.locator("crew-chat .alert")).to_have_text("")
            say(page, "hello again")
            page.wait_for_function("() => window.told.some(([kind]) => kind === 'done')")
            assert [one[0] for one in page.evaluate("window.told")] == ["run", "done"]
        shop.shutdown()
