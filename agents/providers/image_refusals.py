"""That a model takes no images, by the words of its refusal; pure."""

import re
from typing import Any

from agents.providers.names import REFUSED

# OpenAI says "Invalid content type. image_url is only supported by certain models", llama.cpp
# "image input is not supported", vLLM "At most 0 image(s) may be provided", Mistral "Image input is
# not enabled for this model", OpenRouter "No endpoints found that support image input", Ollama
# "this model is missing data required for image input", Groq "messages[1].content must be a string"
NO_IMAGES = re.compile(
    rf"\b(?:images?|image_url|input_image|vision|multi-?modal\w*)\b[^\n]{{0,100}}?"
    rf"(?:{REFUSED}|only supported|missing)"
    rf"|(?:{REFUSED}|no endpoints found|missing|at most 0)[^\n]{{0,100}}?"
    r"\b(?:images?|image_url|input_image|vision|multi-?modal\w*)\b"
    r"|content\b[^\n]{0,40}?(?:must|should|expected)[^\n]{0,20}?\bstring\b"
    r"|unknown variant `?image_url|not a (?:multi-?modal|vision)\b",
    re.IGNORECASE,
)
# of an image itself, and not of all of them
OF_AN_IMAGE = re.compile(
    r"too (?:large|big|many|small)|dimension|resolution|decod|corrupt|could not process|size|bytes"
    r"|(?:image|media|file)[ _]?(?:format|type|data)|mime|download|fetch|base64"
    r"|valid image|image is (?:in)?valid|unsupported image|unexpected (?:eof|end)|load \w*\s?image"
    r"|safety|polic(?:y|ies)|violat|reject|moderat",
    re.IGNORECASE,
)
IMAGE_PARTS = frozenset({"image_url", "input_image", "image"})


def refuses_images(body: dict[str, Any], text: str) -> bool:
    """Return whether a refusal is about all images of a request.

    Args:
        body: of the request.
        text: of the refusal.
    """
    if not has_images(body) or OF_AN_IMAGE.search(text) is not None:
        return False
    return NO_IMAGES.search(text) is not None


def has_images(body: dict[str, Any]) -> bool:
    """Return whether images are parts of a request."""
    contents = [one.get("content") for one in (*body.get("messages", ()), *body.get("input", ()))]
    parts = [part for one in contents if isinstance(one, list) for part in one]
    return any(part.get("type") in IMAGE_PARTS for part in parts)
