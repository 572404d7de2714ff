"""The console's page of a person, in a real browser."""

from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, expect

from tests.support.browser import NEEDS_CHROMIUM, opened_page
from tests.support.crews import write_crew
from tests.support.processes import client, serving, until

pytestmark = NEEDS_CHROMIUM
LESSON = '{"remember": [{"text": "owns FPT", "quote": "I own FPT", "exchange": 1}]}'


def remembering(folder: Path) -> Path:
    memory = {
        "recall": {"learn": {"idle_seconds": 0}},
        "core": {
            "notes": {"description": "what else is known"},
            "profile": {
                "description": "how this person invests",
                "schema": {"properties": {"risk": {"enum": ["low", "high"]}}},
            },
            "rules": {"description": "the operator's", "write": [], "start": "be kind"},
        },
    }
    rules = [{"helper": "learn", "say": LESSON}, {"say": "well"}]
    agents = {"a": {"is_terminal": True}}
    return write_crew(folder, agents, rules, memory=memory, conversations={})


def test_a_person_sees_corrects_and_forgets(browser: Browser, tmp_path: Path):
    """With the words that prove something; what is wrong is said beside the button."""
    with serving(remembering(tmp_path)) as server, client(server) as http:
        body = {"query": "I own FPT", "user_id": "ann", "conversation_id": "c1"}
        assert http.post("/api/crew/run", json=body).status_code == 200
        items = "/api/crew/users/ann/recall"
        until(lambda: bool(http.get(items).json()["items"]))
        with opened_page(browser) as page:
            page.goto(server.url)
            page.get_by_role("link", name="Memory").click()
            expect(page.get_by_text("Name a user.")).to_be_visible()
            page.get_by_label("user").fill("ann")
            page.get_by_label("user").blur()
            expect(page).to_have_url(f"{server.url}/memory?user_id=ann")
            expect(page.get_by_text("owns FPT")).to_be_visible()
            expect(page.locator("blockquote")).to_have_text("I own FPT")
            assert Axe().run(page).violations_count == 0
            page.get_by_label("notes").fill("is on call")
            page.locator("section", has_text="what else is known").get_by_role(
                "button", name="Save"
            ).click()
            expect(page.locator("section", has_text="what else is known")).to_contain_text(
                "version 1"
            )
            profile = page.locator("section", has_text="how this person invests")
            profile.get_by_role("textbox").fill('{"risk": "medium"}')
            profile.get_by_role("button", name="Save").click()
            expect(profile.get_by_role("alert")).to_contain_text("must be one of low, high")
            profile.get_by_role("textbox").fill('{"risk": "high"}')
            profile.get_by_role("button", name="Save").click()
            expect(profile).to_contain_text("version 1")
            rules = page.locator("section", has_text="the operator's")
            expect(rules.get_by_role("button")).to_have_count(0)
            page.get_by_label("Something to remember").fill("likes tea")
            page.get_by_role("button", name="Remember", exact=True).click()
            expect(page.get_by_text("likes tea")).to_be_visible()
            page.get_by_label("Search in what is remembered").fill("tea")
            page.get_by_label("Search in what is remembered").blur()
            expect(page.get_by_text("owns FPT")).to_have_count(0)
            page.get_by_label("Search in what is remembered").fill("")
            page.get_by_label("Search in what is remembered").blur()
            page.get_by_role("button", name="Forget: owns FPT").click()
            expect(page.get_by_text("owns FPT")).to_have_count(0)
            page.get_by_label("user").fill("eve")
            page.get_by_label("user").blur()
            expect(page.get_by_text("Nothing is remembered.")).to_be_visible()
        assert [one["text"] for one in http.get(items).json()["items"]] == ["likes tea"]
        assert http.get("/api/crew/users/ann/core/profile").json()["value"] == {"risk": "high"}


def test_a_crew_without_memory_has_no_such_page(browser: Browser, tmp_path: Path):
    folder = write_crew(tmp_path, {"a": {"is_terminal": True}}, [{"say": "x"}])
    with serving(folder) as server, opened_page(browser) as page:
        page.goto(server.url)
        expect(page.get_by_role("link", name="Crew")).to_be_visible()
        expect(page.get_by_role("link", name="Memory")).to_be_hidden()
