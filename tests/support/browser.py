"""A real browser."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.support.processes import ServerProcess

CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
if CHROMIUM is None and os.environ.get("CI"):
    raise AssertionError("CI needs Chromium: .ci/run installs it")
NEEDS_CHROMIUM = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine")
# a busy machine is slow
expect.set_options(timeout=90_000)
OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@contextlib.contextmanager
def opened_browser() -> Iterator[Browser]:
    """Chromium, for a `with` block."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        yield browser
        browser.close()


@contextlib.contextmanager
def opened_page(browser: Browser, **context: Any) -> Iterator[Page]:
    """A page in English unless said, on which no script and no request may break."""
    opened = browser.new_context(**{"locale": "en-US", **context})
    page, broken = opened.new_page(), list[str]()
    page.on("pageerror", lambda error: broken.append(str(error)))
    # what the server answers while it is away, or to a wrong answer, is no mistake of the page
    page.on(
        "console",
        lambda said: (
            broken.append(said.text)
            if said.type == "error" and "Failed to load resource" not in said.text
            else None
        ),
    )
    yield page
    opened.close()
    assert broken == [], broken


def begin(page: Page, server: ServerProcess, query: str) -> None:
    """Start a run in the console; its page opens."""
    page.goto(server.url)
    page.fill("#query", query)
    page.click("#send")
    page.wait_for_url("**/runs/*")


# what is under 24 px, but for words in a text (WCAG 2.5.8)
SMALL = """() => [...document.querySelectorAll("#view :is(a, button, input, select, summary)")]
  .filter((one) => one.offsetParent && !one.matches("p a, .small a"))
  .map((one) => [one.outerHTML.slice(0, 80), one.getBoundingClientRect()])
  .filter(([, { width, height }]) => width < 23.5 || height < 23.5)
  .map(([html, { width, height }]) => `${html} ${width} ${height}`)"""


def check(page: Page) -> None:
    """Raise AssertionError for what axe calls serious, and for what is too small to hit."""
    found = Axe().run(page).response["violations"]
    serious = [
        (one["id"], [node["html"] for node in one["nodes"]])
        for one in found
        if one["impact"] in ("serious", "critical")
    ]
    assert serious == [], page.url
    assert page.evaluate(SMALL) == [], page.url
