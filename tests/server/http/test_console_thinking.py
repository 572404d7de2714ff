"""What a model thinks, in the console, in a real browser."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, expect

from tests.support.browser import NEEDS_CHROMIUM, begin, opened_page
from tests.support.crews import write_crew
from tests.support.model_server import chunks, model_server
from tests.support.processes import serving

pytestmark = NEEDS_CHROMIUM
ANSWER = chunks({"reasoning_content": "I look, "}, {"reasoning_content": "so"}, {"content": "done"})


@contextmanager
def answering_when(is_open: threading.Event) -> Iterator[str]:
    """A model that answers once a page is open; its base URL."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    async def reply(body: dict[str, Any]) -> bytes:
        await asyncio.to_thread(is_open.wait, 60)
        return ANSWER

    opened = model_server(reply)
    try:
        server = asyncio.run_coroutine_threadsafe(opened.__aenter__(), loop).result()
        yield server.url
        asyncio.run_coroutine_threadsafe(opened.__aexit__(None, None, None), loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def test_thoughts_are_folded(browser: Browser, tmp_path: Path):
    """They stand above the answer, also when it is whole; a page that is opened later has none."""
    is_open = threading.Event()
    with answering_when(is_open) as url:
        folder = write_crew(
            tmp_path,
            {"a": {"provider": "gw", "model": "m-1", "is_terminal": True}},
            providers={"gw": {"base_url": url}},
            settings={"show_thinking": True},
        )
        with serving(folder) as server, opened_page(browser) as page:
            begin(page, server, "go")
            expect(page.locator(".spinner").first).to_be_visible()
            is_open.set()
            folded = page.locator(".speech details.thoughts")
            expect(page.locator(".chip")).to_have_text("completed")
            expect(folded).to_have_count(1)
            expect(folded.locator("p")).to_be_hidden()
            folded.locator("summary").click()
            expect(folded.locator("p")).to_have_text("I look, so")
            page.reload()
            expect(page.locator(".chip")).to_have_text("completed")
            expect(folded).to_have_count(0)
