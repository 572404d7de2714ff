"""The shape of `embeddings`: vectors by which texts are found beside their words."""

from typing import Annotated

from pydantic import Field

from tools.schemas.yaml_shape import Shape


class EmbeddingsConfig(Shape):
    """A model that makes vectors of texts: those that mean the same are found, too."""

    provider: Annotated[str, Field(min_length=1)]
    """A built-in provider or one of `providers`; it has `/embeddings` in the form of OpenAI."""
    model: Annotated[str, Field(min_length=1)]
    """The model's name at its provider."""
    dimensions: Annotated[int, Field(ge=1, le=16_000)] | None = None
    """How many numbers a vector is to have; as many as the model gives unless given."""
    batch: Annotated[int, Field(ge=1, le=2048)] = 64
    """Texts in one request."""
