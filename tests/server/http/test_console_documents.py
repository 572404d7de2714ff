"""The console's page of documents, and the passages beside an answer, in a real browser."""

from pathlib import Path
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, FilePayload, expect

from tests.support.browser import NEEDS_CHROMIUM, opened_page
from tests.support.crews import write_crew
from tests.support.documents import ANSWERS, POLICY, RULES, UPLOADS, call
from tests.support.processes import client, serving

pytestmark = NEEDS_CHROMIUM
SCRIPT: list[dict[str, Any]] = [
    {"helper": "describe", "say": '{"summary": "About tea."}'},
    *ANSWERS,
    {"agent": "a", "hears": "loss", "calls": call("SearchDocuments", query="stop loss tea")},
    {"agent": "a", "say": "well"},
]
DOCUMENTS: dict[str, Any] = {
    "policy": POLICY,
    "uploads": {**UPLOADS, "max_files": 2},
    "sent": {"description": "of this conversation"},
}


def written(folder: Path) -> Path:
    (folder / "docs").mkdir()
    (folder / "docs" / "rules.md").write_text(RULES)
    agents = {"a": {"is_terminal": True, "documents": list(DOCUMENTS)}}
    return write_crew(folder, agents, SCRIPT, documents=DOCUMENTS, conversations={})


def file(name: str, text: str) -> FilePayload:
    return {"name": name, "mimeType": "text/plain", "buffer": text.encode()}


def test_documents_are_sent_seen_and_deleted(browser: Browser, tmp_path: Path):
    """By choosing and by dropping; what is refused says why, beside its name."""
    with serving(written(tmp_path)) as server, opened_page(browser) as page:
        page.goto(server.url)
        page.get_by_role("link", name="Documents").click()
        expect(page.get_by_text("docs/rules.md")).to_be_visible()
        expect(page.get_by_label("Choose files")).to_have_count(0)
        page.get_by_label("collection").select_option("sent")
        expect(page.get_by_text("Name a conversation.")).to_be_visible()
        page.get_by_label("collection").select_option("uploads")
        page.get_by_label("user", exact=True).fill("ann")
        page.get_by_label("user", exact=True).blur()
        expect(page.get_by_text("No documents.")).to_be_visible()
        page.get_by_label("Choose files").set_input_files(
            [file("tea.txt", "black tea"), file("x.pdf", "%PDF-1.7"), file("<b>.md", "# Bold")]
        )
        expect(page.get_by_text("x.pdf is pdf; uploads takes")).to_be_visible()
        tea = page.get_by_role("listitem").filter(has_text="tea.txt").filter(has_text="About tea.")
        expect(tea).to_contain_text("ready")
        expect(page.get_by_text("<b>.md").last).to_be_visible()
        drop = """node => {
            const data = new DataTransfer();
            data.items.add(new File(["coffee"], "third.txt"));
            node.dispatchEvent(new DragEvent("dragover", { dataTransfer: data, cancelable: true, bubbles: true }));
            node.dispatchEvent(new DragEvent("drop", { dataTransfer: data, cancelable: true, bubbles: true }));
        }"""
        page.locator(".drop").evaluate(drop)
        expect(page.get_by_text("uploads has 2 documents (max_files)")).to_be_visible()
        assert Axe().run(page).violations_count == 0
        page.get_by_label("Search in documents").fill("black")
        page.get_by_label("Search in documents").blur()
        expect(page.locator("blockquote")).to_have_text("black tea")
        page.get_by_label("Search in documents").fill("")
        page.get_by_label("Search in documents").blur()
        page.on("dialog", lambda dialog: dialog.accept())
        page.get_by_role("button", name="Delete: tea.txt").click()
        expect(page.get_by_role("button", name="Delete: tea.txt")).to_have_count(0)
        page.locator(".drop").evaluate(drop)
        expect(page.get_by_role("button", name="Delete: third.txt")).to_be_visible()


def test_passages_stand_beside_the_answer(browser: Browser, tmp_path: Path):
    """Of the conversation, of the user and of the house; their words come when one is opened."""
    with serving(written(tmp_path)) as server, client(server) as http:
        place = {"user_id": "ann", "conversation_id": "c1"}
        assert http.post("/api/crew/run", json={"query": "hello", **place}).status_code == 200
        with opened_page(browser) as page:
            page.goto(f"{server.url}/conversations/c1?user_id=ann")
            page.get_by_text("Documents: sent").click()
            page.get_by_label("Choose files").set_input_files(file("tea.txt", "a loss of tea"))
            expect(page.get_by_text("About tea.")).to_be_visible()
            run = http.post("/api/crew/run", json={"query": "loss", **place}).json()
            page.goto(f"{server.url}/runs/{run['run_id']}")
            expect(page.get_by_text("Sources", exact=True)).to_be_visible()
            expect(page.get_by_text("❝ [1]")).to_be_visible()
            shown = page.locator(".sources details details")
            expect(shown).to_have_count(2)
            for place_, words in (
                ("docs/rules.md, Rules", "stop loss at 8 %"),
                ("tea.txt", "a loss of tea"),
            ):
                one = shown.filter(has_text=place_)
                one.locator("summary").click()
                expect(one.locator("blockquote")).to_contain_text(words)
            assert Axe().run(page).violations_count == 0


def test_an_image_goes_with_words(browser: Browser, tmp_path: Path):
    """Chosen or pasted, taken away again, sent, and shown in the conversation and the run."""
    paste = """([node, bytes, name]) => {
        const data = new DataTransfer();
        data.items.add(new File([new Uint8Array(bytes)], name, { type: "image/png" }));
        node.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true }));
    }"""
    with serving(written(tmp_path)) as server, opened_page(browser) as page:
        page.goto(server.url)
        page.get_by_role("link", name="Conversations").click()
        page.get_by_role("button", name="New conversation").click()
        choose = page.get_by_label("Attach images")
        choose.set_input_files([file("notes.txt", "x")])
        expect(page.get_by_role("alert")).to_contain_text("no PNG, JPEG or WebP")
        shot = page.screenshot(clip={"x": 0, "y": 0, "width": 80, "height": 60})
        photo = page.screenshot(type="jpeg", clip={"x": 0, "y": 0, "width": 60, "height": 60})
        choose.set_input_files({"name": "shot.png", "mimeType": "image/png", "buffer": shot})
        node = page.get_by_label("Ask the crew")
        node.evaluate(
            "(node, rest) => (" + paste + ")([node, ...rest])", [list(shot), "pasted.png"]
        )
        expect(page.get_by_role("button", name="Remove: pasted.png")).to_be_visible()
        page.get_by_role("button", name="Remove: pasted.png").click()
        choose.set_input_files({"name": "p.jpg", "mimeType": "image/jpeg", "buffer": photo})
        assert Axe().run(page).violations_count == 0
        page.get_by_role("button", name="Send").click()
        images = page.locator("img.sent")
        expect(images).to_have_count(2)
        sizes = (
            "nodes => Promise.all(nodes.map(async one => (await one.decode(), one.naturalWidth)))"
        )
        assert images.evaluate_all(sizes) == [80, 60]
        expect(page.get_by_role("button", name="Remove")).to_have_count(0)
        page.get_by_role("link", name="exchange 1").click()
        expect(page.locator("img.sent")).to_have_count(2)
        assert Axe().run(page).violations_count == 0
