"""Descriptions of a JSON schema, from the docstrings of attributes."""

from pydantic import Field, create_model

from tools.schemas.described import Described


class Base(Described):
    """A model."""

    name: str
    """What it is
    called.
    """
    size: int = Field(0, alias="Size", description="how large")
    """Not this one."""
    bare: int = 0


class Longer(Base):
    """One that extends it."""

    more: Base | None = Field(None, alias="More")
    """Another one."""


def test_attributes_are_described_by_their_docstrings():
    """Their own, and those of what they extend; an alias, and what Field says, count."""
    properties = Longer.model_json_schema()["properties"]
    descriptions = {name: shape.get("description") for name, shape in properties.items()}
    assert descriptions == {
        "name": "What it is\ncalled.",
        "Size": "how large",
        "bare": None,
        "More": "Another one.",
    }


def test_a_model_without_source_has_a_schema():
    """As in a program whose sources are left out."""
    made = create_model("Made", __base__=Base, other=(int, 0))
    properties = made.model_json_schema()["properties"]
    assert properties["name"]["description"] == "What it is\ncalled."
    assert "description" not in properties["other"]
