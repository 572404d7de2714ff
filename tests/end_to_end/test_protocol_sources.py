"""What an answer cites, as OpenAI's own client has it: whole, in pieces, and fetched again."""

from pathlib import Path
from typing import Any

import httpx2

from tests.end_to_end.test_documents import written
from tests.support.paying_crew import openai_of
from tests.support.processes import client, serving, until


def is_read(http: httpx2.Client) -> bool:
    """Whether the documents of the crew's folder can be found."""
    found = http.get("/api/crew/documents/policy").json()["documents"]
    return [one["status"] for one in found] == ["ready"]


def test_a_response_cites_its_passages(tmp_path: Path):
    with serving(written(tmp_path / "crew")) as server:
        with client(server) as http:
            until(lambda: is_read(http))
        one: Any = openai_of(server)
        whole = one.responses.create(model="test-crew", input="what is the rule")
        message = next(item for item in whole.output if item.type == "message")
        text = message.content[0]
        assert text.type == "output_text"
        assert text.text.startswith("As [1] says: ")
        (cited,) = text.annotations
        assert cited.type == "file_citation"
        assert (cited.filename, cited.index) == ("docs/rules.md", 0)
        pieces = list(
            one.responses.create(model="test-crew", input="what is the rule", stream=True)
        )
        added = [each for each in pieces if each.type.endswith("annotation.added")]
        assert [each.annotation.filename for each in added] == ["docs/rules.md"]
        kinds = [each.type for each in pieces]
        assert kinds.index(added[0].type) < kinds.index("response.output_text.done")
        ended = pieces[-1].response
        again = one.responses.retrieve(ended.id)
        assert again.output == ended.output
        assert again.output[-1].content[0].annotations[0].file_id == cited.file_id
        plain = one.responses.create(model="test-crew", input="hello")
        assert plain.output[-1].content[0].annotations == []
