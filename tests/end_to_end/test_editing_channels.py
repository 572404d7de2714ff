"""Channels of `notify` are not sent elsewhere by an edit, and their addresses are not shown."""

from pathlib import Path

import pytest
import yaml

from tests.end_to_end.test_editing import folder, put, texts_of
from tests.support.processes import client, serving

__all__ = ["folder"]


def test_where_notices_go_is_not_changed(folder: Path):
    """Their addresses are secrets, and are compared all the same; one with a token is not shown."""
    chat = "https://hooks.example/T00/B00/SeCrEt0SeCrEt0SeCrEt0"
    data = yaml.safe_load((folder / "crew.yaml").read_text())
    channel = {"kind": "webhook", "url": "http://127.0.0.1:9/none"}
    data["notify"] = {"hook": channel, "chat": {"kind": "webhook", "url": chat}}
    (folder / "crew.yaml").write_text(yaml.safe_dump(data, sort_keys=False))
    with serving(folder, CREW_EDIT="1") as server, client(server) as http:
        base, texts = texts_of(http)
        assert chat not in str(texts)
        other = texts["crew.yaml"].replace("http://127.0.0.1:9/none", "http://evil.example/x")
        refused = put(http, base, files={"crew.yaml": other})
        assert (refused.status_code, refused.json()["code"]) == (403, "wider-reach")
        assert "evil" not in refused.text
        assert chat not in http.get("/api/crew/revisions/1").text


@pytest.mark.parametrize("kind", ["webhook", "slack"])
def test_a_secret_address_does_not_hinder_other_edits(folder: Path, kind: str):
    chat = "https://hooks.example/T00/B00/SeCrEt0SeCrEt0SeCrEt0"
    data = yaml.safe_load((folder / "crew.yaml").read_text())
    data["notify"] = {"chat": {"kind": kind, "url": chat}}
    (folder / "crew.yaml").write_text(yaml.safe_dump(data, sort_keys=False))
    with serving(folder, CREW_EDIT="1") as server, client(server) as http:
        base, texts = texts_of(http)
        done = put(http, base, files={"crew.yaml": f"{texts['crew.yaml']}\n# harmless\n"})
        assert done.status_code == 200, done.text
    assert chat in (folder / "crew.yaml").read_text()
