"""A crew's files are edited in the console: checked as one types, kept in the browser, written as a revision."""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.browser import NEEDS_CHROMIUM, check, opened_page
from tests.support.crews import copy_example, write_crew
from tests.support.processes import ServerProcess, client, serving

pytestmark = NEEDS_CHROMIUM
EDITS = {"CREW_EDIT": "1"}


def opened(page: Page, server: ServerProcess) -> None:
    page.goto(f"{server.url}/edit")
    expect(page.locator(".cm-content")).to_be_visible()


def write_at_end(page: Page, text: str) -> None:
    page.locator(".cm-content").click()
    page.keyboard.press("Control+End")
    page.keyboard.insert_text(text)


def test_a_change_is_checked_and_saved(browser: Browser, tmp_path: Path):
    """A mistake with its line; what is certain is mended; what differs, and the new way; one revision with why."""
    folder = copy_example("routing", tmp_path)
    with serving(folder, **EDITS) as server, opened_page(browser) as page:
        opened(page, server)
        expect(page.locator(".differs")).to_have_text("Nothing differs.")
        write_at_end(page, "\nsetings: { max_rounds: 3 }\n")
        problem = page.locator(".problems li.error")
        expect(problem).to_contain_text("unknown key 'setings'")
        expect(page.locator(".files button[aria-current] small")).to_contain_text("• 1 !")
        page.get_by_role("button", name="Mend what is certain").click()
        expect(page.locator(".problems li")).to_have_count(0)
        expect(page.locator(".differs")).to_contain_text("max_rounds")
        page.get_by_role("button", name="Play the rehearsals").click()
        expect(page.locator(".edit-page .rehearsals")).to_contain_text("passed")
        save = page.get_by_role("button", name="Save as a revision")
        save.click()
        assert page.url.endswith("/edit?file=crew.yaml"), "why is asked first"
        page.get_by_label("Why?").fill("three rounds are enough")
        save.click()
        expect(page.locator(".revisions tbody tr").first).to_contain_text("three rounds are enough")
        assert "settings: { max_rounds: 3 }" in (folder / "crew.yaml").read_text()
        assert page.evaluate("Object.keys(localStorage).filter(key => key.includes('draft'))") == []


def test_the_address_names_the_file(browser: Browser, tmp_path: Path):
    """A link to a file opens it; one to a file that is not there says so."""
    with serving(copy_example("routing", tmp_path), **EDITS) as server:
        with opened_page(browser) as page:
            opened(page, server)
            file = page.locator(".files button").filter(has_text="agents/").first
            name = file.inner_text()
            file.click()
            page.reload()
            expect(page.locator(".files button[aria-current]")).to_have_text(name)
            page.goto(f"{server.url}/edit?file=agents/gone.yaml")
            expect(page.get_by_role("status").first).to_contain_text("file=agents/gone.yaml")
            expect(page.locator(".files button[aria-current]")).to_have_text("crew.yaml")


def test_what_may_be_written_is_offered(browser: Browser, tmp_path: Path):
    """Keys and names at the cursor, as the language server knows them; what a key means."""
    with serving(copy_example("routing", tmp_path), **EDITS) as server:
        with opened_page(browser) as page:
            opened(page, server)
            write_at_end(page, "\n")
            page.keyboard.type("sett")
            option = page.locator(".cm-tooltip-autocomplete li").first
            expect(option).to_contain_text("settings")
            option.click()
            expect(page.locator(".cm-content")).to_contain_text("settings: ")
            page.locator(".cm-content").get_by_text("agents", exact=True).first.hover()
            expect(page.locator(".cm-tooltip-hover")).to_contain_text("agents")
            write_at_end(page, "{}\n")
            page.keyboard.type("bud")
            page.locator(".cm-tooltip-autocomplete li").first.click()
            # the cursor is where the first part of the entry is filled in
            page.keyboard.type("night")
            lines = page.locator(".cm-line").all_inner_texts()
            assert lines[-3:] == ["budgets:", "  night:", "    scope: "]


def test_names_are_found_and_changed(browser: Browser, tmp_path: Path):
    """By buttons and keys: where an agent is made, where it is named; another name in all files."""
    routing = {"signals": {"clarifier": [{"signal": "[GO]", "target": "closer"}]}}
    agents: dict[str, Any] = {"clarifier": {}, "closer": {"is_terminal": True}}
    folder = write_crew(tmp_path / "crew", agents, routing=routing)
    with serving(folder, **EDITS) as server, opened_page(browser) as page:
        opened(page, server)
        page.locator(".cm-content").get_by_text("clarifier", exact=True).first.click()
        page.get_by_role("button", name="Where it is named").click()
        places = page.locator("ol.problems").first.get_by_role("button")
        expect(places).to_have_count(3)
        places.last.click()
        expect(page.locator(".files button[aria-current]")).not_to_have_text("agents/closer.yaml")
        page.locator(".files button").filter(has_text="crew.yaml").click()
        page.locator(".cm-content").get_by_text("clarifier", exact=True).first.click()
        page.keyboard.press("F12")
        expect(page.locator(".files button[aria-current]")).to_have_text("agents/clarifier.yaml")
        page.once("dialog", lambda dialog: dialog.accept("asker"))
        page.keyboard.press("F2")
        expect(page.locator(".files button[aria-current]")).to_contain_text("agents/asker.yaml")
        expect(page.locator(".edit-main [role=status]")).to_contain_text("0 errors")
        expect(page.locator(".cm-content")).to_contain_text("id: asker")
        page.get_by_label("Why?").fill("a better name")
        page.get_by_role("button", name="Save as a revision").click()
        expect(page).to_have_url(re.compile("/revisions"))
    assert (folder / "agents" / "asker.yaml").exists()
    assert not (folder / "agents" / "clarifier.yaml").exists()
    assert "clarifier" not in (folder / "crew.yaml").read_text()


def test_a_draft_outlives_the_page(browser: Browser, tmp_path: Path):
    """In this browser, named by its base; of an earlier revision it is offered."""
    folder = copy_example("routing", tmp_path)
    with serving(folder, **EDITS) as server, opened_page(browser) as page:
        opened(page, server)
        write_at_end(page, "\n# a thought\n")
        expect(page.locator(".edit-main [role=status]")).to_contain_text("changed: crew.yaml")
        page.reload()
        expect(page.locator(".cm-content")).to_contain_text("# a thought")
        with client(server) as http:
            found = http.get("/api/crew/files").json()
            texts = {one["path"]: one["text"] for one in found["files"]}
            changed = texts["crew.yaml"].replace("name: ", "# another hand\nname: ", 1)
            body = {"base": found["base"], "why": "another hand", "files": {"crew.yaml": changed}}
            assert http.put("/api/crew/files", json=body).is_success
        page.reload()
        expect(page.get_by_text("This browser has changes to an earlier revision")).to_be_visible()
        expect(page.locator(".cm-content")).to_contain_text("# another hand")
        # what is written meanwhile is another draft
        write_at_end(page, "\n# second\n")
        page.reload()
        expect(page.locator(".cm-content")).to_contain_text("# second")
        page.get_by_role("button", name="Take it up").click()
        # at the same place: both, for a person to choose
        written = page.locator(".cm-content")
        expect(written).to_contain_text("<<<<<<<# a thought=======# second>>>>>>>")
        expect(written).to_contain_text("# another hand")
        expect(page.get_by_text("Others have changed the same lines")).to_contain_text("crew.yaml")


def test_a_draft_keeps_what_others_have_saved(browser: Browser, tmp_path: Path):
    """Its changes are made within theirs; a save of what is served no more says how to go on."""
    folder = copy_example("routing", tmp_path)
    with serving(folder, **EDITS) as server, opened_page(browser) as page:
        opened(page, server)
        write_at_end(page, "\n# a thought\n")
        page.get_by_role("textbox", name="Why?").fill("my thought")
        with client(server) as http:
            found = http.get("/api/crew/files").json()
            texts = {one["path"]: one["text"] for one in found["files"]}
            changed = texts["crew.yaml"].replace("name: ", "# another hand\nname: ", 1)
            body = {"base": found["base"], "why": "another hand", "files": {"crew.yaml": changed}}
            assert http.put("/api/crew/files", json=body).is_success
        page.get_by_role("button", name="Save as a revision").click()
        page.get_by_role("button", name="Load what is served now").click()
        page.get_by_role("button", name="Take it up").click()
        written = page.locator(".cm-content")
        expect(written).to_contain_text("# another hand")
        expect(written).to_contain_text("# a thought")
        page.get_by_role("textbox", name="Why?").fill("my thought")
        page.get_by_role("button", name="Save as a revision").click()
        expect(page).to_have_url(re.compile("/revisions"))
        saved = (folder / "crew.yaml").read_text()
        assert "# another hand\nname: " in saved
        assert saved.rstrip().endswith("# a thought")


def test_what_lets_it_do_more_is_refused(browser: Browser, tmp_path: Path):
    """It is marked before it is saved, and the server says so when it is; a new agent is made, and lit."""
    tools = {"look": {"kind": "command", "argv": ["true"], "description": "look"}}
    folder = write_crew(tmp_path / "crew", {"a": {"tools": ["look"]}}, tools=tools)
    with serving(folder, **EDITS) as server, opened_page(browser) as page:
        opened(page, server)
        page.get_by_role("button", name="tools.yaml").click()
        text = (folder / "tools.yaml").read_text()
        page.locator(".cm-content").click()
        page.keyboard.press("Control+a")
        page.keyboard.press("Delete")
        page.keyboard.insert_text(text.replace("true", "rm"))
        expect(page.locator(".differs li.error")).to_contain_text("not allowed here")
        page.get_by_label("Why?").fill("for a test")
        page.get_by_role("button", name="Save as a revision").click()
        expect(page.get_by_role("alert").last).to_contain_text("CREW_EDIT=all")
        page.once("dialog", lambda dialog: dialog.accept())
        page.get_by_role("button", name="Drop my changes").click()
        expect(page.locator(".differs")).to_have_text("Nothing differs.")
        page.once("dialog", lambda dialog: dialog.accept("second"))
        page.get_by_role("button", name="New agent").click()
        expect(page.locator(".files")).to_contain_text("agents/second.yaml")
        page.screenshot(path=tmp_path / "edit.png", full_page=True)


def test_the_ways_that_a_draft_adds_and_removes(browser: Browser, tmp_path: Path):
    """Are drawn as that, and said to who cannot see them; none of them was taken."""
    routing = {"signals": {"a": [{"signal": "[OLD]", "target": "c"}]}}
    agents: dict[str, Any] = {"a": {}, "b": {}, "c": {"is_terminal": True}}
    folder = write_crew(tmp_path / "crew", agents, [{"say": "x"}], routing=routing)
    with serving(folder, **EDITS) as server, opened_page(browser) as page:
        opened(page, server)
        text = (folder / "crew.yaml").read_text().replace("[OLD]", "[NEW]")
        text = text.replace("target: c", "target: null")
        page.locator(".cm-content").click()
        page.keyboard.press("Control+A")
        page.keyboard.press("Delete")
        page.keyboard.insert_text(text)
        ways = page.locator(".edit-page .graph ul li")
        expect(ways.filter(has_text="[NEW] (added)")).to_have_count(1)
        expect(ways.filter(has_text="[OLD] (removed)")).to_have_count(1)
        expect(ways.filter(has_text="taken")).to_have_count(0)
        expect(page.locator(".edit-page .graph .way.removed")).to_have_count(1)


def test_it_says_so_where_nothing_can_be_edited(browser: Browser, tmp_path: Path):
    """Without CREW_EDIT."""
    folder = write_crew(tmp_path / "crew", {"a": {}})
    with serving(folder) as server, opened_page(browser) as page:
        page.goto(f"{server.url}/edit")
        expect(page.get_by_text("Start the server with CREW_EDIT=1")).to_be_visible()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark"), (320, "light")])
def test_everybody_can_read_it(browser: Browser, tmp_path: Path, width: int, scheme: Any):
    """By axe; on a phone nothing scrolls sideways."""
    look = {"viewport": {"width": width, "height": 800}, "color_scheme": scheme}
    with serving(copy_example("routing", tmp_path), **EDITS) as server:
        with opened_page(browser, **look) as page:
            opened(page, server)
            write_at_end(page, "\nsetings: {}\n")
            expect(page.locator(".problems li.error")).to_be_visible()
            check(page)
            assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")
            page.screenshot(path=tmp_path / f"edit-{width}.png", full_page=True)
