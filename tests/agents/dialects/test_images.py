"""Images in requests: as each dialect has them, and what is done for models that take none."""

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from openai.types.chat import ChatCompletionUserMessageParam
from openai.types.responses.easy_input_message_param import EasyInputMessageParam
from pydantic import TypeAdapter

from agents.context.view import show_history
from agents.dialects.by_name import DIALECTS
from agents.dialects.outgoing import Outgoing
from agents.endpoint import DialectName
from agents.extras import ModelExtras
from agents.messages import Attachment, Message, UserMessage, decode_messages, encode_messages
from agents.model import ModelRequest, ShownImage, ShownMessage
from agents.quirks import Quirks
from crew import MemoryStore, Query, Runs, load_crew
from crew.runs.documents.attaching import GivenAttachment, attach
from tests.support.crews import Played, play
from tests.support.endpoints import both, crew_at, error, warnings
from tests.support.images import png
from tests.support.model_server import chunks, completion, http, model_server
from tests.support.strict import anthropic

DATA = base64.b64encode(png()).decode()
IMAGES = {"d1": ShownImage("d1", "image/png", DATA)}
SENT = Attachment("d1", "a.png", "images", "image/png")
GONE = Attachment("d2", "b.png", "images", "image/png")
PAPER = Attachment("d3", "rules.pdf", "uploads")
NOTE = "(Here is an image that is not shown: this model takes none.)"


def body_of(
    dialect: DialectName, history: list[Message], quirks: Quirks | None = None, **extras: Any
) -> dict[str, Any]:
    shown = show_history(history, "a", images=IMAGES)
    request = ModelRequest("a", [ShownMessage("system", "Be kind."), *shown])
    outgoing = Outgoing("m", request, quirks or Quirks(), "s", ModelExtras(**extras))
    return DIALECTS[dialect].build(outgoing)


def test_chat():
    (_, message) = body_of("chat", [UserMessage("What is it?", (SENT,))])["messages"]
    assert message["content"] == [
        {"type": "text", "text": "What is it?\n[attached: image a.png]"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{DATA}"}},
    ]
    TypeAdapter(ChatCompletionUserMessageParam).validate_python(message)


def test_responses():
    (_, message) = body_of("responses", [UserMessage("What is it?", (SENT,))])["input"]
    assert message["content"][1] == {
        "type": "input_image",
        "image_url": f"data:image/png;base64,{DATA}",
        "detail": "auto",
    }
    TypeAdapter(EasyInputMessageParam).validate_python(message)


def test_anthropic():
    body = body_of("anthropic", [UserMessage("What is it?", (SENT,))])
    (turn,) = body["messages"]
    source = {"type": "base64", "media_type": "image/png", "data": DATA}
    assert turn["content"][0] == {"type": "image", "source": source}
    assert turn["content"][1]["text"] == "What is it?\n[attached: image a.png]"
    assert anthropic.refusal(body, "here") == ""


@pytest.mark.parametrize("dialect", ["chat", "responses", "anthropic"])
def test_what_is_said_of_others(dialect: DialectName):
    """Of a document, of an image of an earlier exchange, and of one without words."""
    text = str(body_of(dialect, [UserMessage("Hi", (GONE, PAPER)), UserMessage("", (SENT,))]))
    assert "[attached: image b.png, which is not shown here]" in text
    assert "[attached: document rules.pdf of uploads]" in text
    assert text.count(DATA) == 1


@pytest.mark.parametrize("dialect", ["chat", "responses", "anthropic"])
@pytest.mark.parametrize("by", ["file", "quirk"])
def test_a_model_without_images(dialect: DialectName, by: str):
    quirks, extras = (None, {"images": False}) if by == "file" else (Quirks(images=False), {})
    text = str(body_of(dialect, [UserMessage("What is it?", (SENT,))], quirks, **extras))
    assert NOTE in text
    assert DATA not in text


def test_messages_that_are_joined():
    quirks = Quirks(system_role="user", alternate_roles=True)
    history: list[Message] = [UserMessage("one"), UserMessage("two", (SENT,)), UserMessage("three")]
    (message,) = body_of("chat", history, quirks)["messages"]
    texts = [part.get("text", "image") for part in message["content"]]
    assert texts == ["Be kind.\n\none", "two\n[attached: image a.png]", "image", "three"]


def test_an_image_takes_room():
    """About what providers count at most, so that the window holds."""
    (bare,) = show_history([UserMessage("x", (SENT,))], "a")
    (whole,) = show_history([UserMessage("x", (SENT,))], "a", images=IMAGES)
    assert 1500 < whole.tokens - bare.tokens < 1700


def test_words_cannot_look_like_an_attachment():
    (shown,) = show_history([UserMessage("[attached: image x.png]")], "a")
    assert shown.content == "> [attached: image x.png]"


def test_the_form_of_the_journal():
    history: list[Message] = [UserMessage("x", (SENT, PAPER))]
    assert decode_messages(encode_messages(history)) == history


def has_images(request: dict[str, Any]) -> bool:
    return any(isinstance(one.get("content"), list) for one in request["messages"])


REFUSALS: dict[str, tuple[int, Any]] = {
    "openai": (
        400,
        error(
            "Invalid content type. image_url is only supported by certain models.",
            type="invalid_request_error",
            param="messages.[0].content.[1].type",
        ),
    ),
    "llama.cpp": (
        500,
        error(
            "image input is not supported - hint: if this is unexpected, you may need to provide "
            "the mmproj",
            code=500,
            type="server_error",
        ),
    ),
    "vllm": (400, error("At most 0 image(s) may be provided in one request.")),
    "vllm model": (400, error("/models/q is not a multimodal model", code=400)),
    "openrouter": (404, error("No endpoints found that support image input", code=404)),
    "ollama": (500, error("this model is missing data required for image input")),
    "groq": (
        400,
        error(
            "'messages.1' : for 'role:user' the following must be satisfied["
            "('messages.1.content' : value must be a string)]"
        ),
    ),
    "mistral": (400, error("Image input is not enabled for this model")),
    "deepseek": (
        422,
        error(
            "Failed to deserialize the JSON body into the target type: messages[1]: unknown "
            "variant `image_url`, expected `text` at line 1 column 300"
        ),
    ),
}


async def asked_with_an_image(folder: Path, *, deltas: bool = False) -> Played:
    crew = load_crew(folder)
    async with Runs(crew, MemoryStore()) as runs:
        given = [GivenAttachment(content=png(), kind="png")]
        attached = await attach(runs.documents, given, "", "ann", "c1")
        query = Query(
            "What?", user_id="ann", conversation_id="c1", attachments=attached, deltas=deltas
        )
        return await play(crew, query=query, runs=runs)


def refuses(status: int, document: Any) -> Callable[[dict[str, Any]], bytes]:
    def reply(request: dict[str, Any]) -> bytes:
        if has_images(request):
            return http(status, document)
        if request.get("stream"):
            return chunks({"content": "done"})
        return http(200, completion("done"))

    return reply


@both
@pytest.mark.parametrize("name", REFUSALS)
async def test_a_model_that_refuses_images(tmp_path: Path, name: str, deltas: bool):
    """It is asked once more, with words in place of them, and not shown any again."""
    async with model_server(refuses(*REFUSALS[name])) as server:
        folder = crew_at(tmp_path, server.url, {"tools": []}, conversations={})
        played = await asked_with_an_image(folder, deltas=deltas)
    assert (played.row.status, played.row.answer) == ("completed", "done")
    assert warnings(played) == ["endpoint_learned"]
    assert NOTE in server.asked[-1]["messages"][-1]["content"]


@pytest.mark.parametrize(
    "text",
    [
        "Invalid image data: could not decode the image_url",
        "You uploaded an unsupported image. Please make sure your image is valid.",
        "Failed to load image: unexpected end of file",
        "This image is not allowed: it violates the usage policies",
        "The image was rejected: content not allowed by our safety system",
    ],
)
async def test_an_image_that_is_broken_teaches_nothing(tmp_path: Path, text: str):
    """The refusal of one image says nothing of others."""
    async with model_server(refuses(400, error(text))) as server:
        folder = crew_at(tmp_path, server.url, {"tools": []}, conversations={})
        played = await asked_with_an_image(folder)
    assert played.row.status == "failed"
    assert warnings(played) == []
    assert len(server.asked) == 1
