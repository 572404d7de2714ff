"""Models with the docstrings of their attributes in their JSON schema."""

import ast
import inspect
import textwrap
from itertools import pairwise
from typing import Any

from pydantic import BaseModel, GetJsonSchemaHandler
from pydantic_core import CoreSchema


class Described(BaseModel):
    """A model; its source is read when its schema is made.

    With `use_attribute_docstrings` pydantic reads it as soon as the class is made: a tenth of the
    time that `crew run` takes to its first event.
    """

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """The schema, with a description of each property that has a docstring."""
        schema = handler(core_schema)
        properties = handler.resolve_ref_schema(schema).get("properties", {})
        for name, text in _docstrings(cls).items():
            alias = cls.model_fields[name].alias if name in cls.model_fields else None
            if (alias or name) in properties:
                properties[alias or name].setdefault("description", text)
        return schema


def _docstrings(model: type[Described]) -> dict[str, str]:
    """Return of the attributes of a model and of those that it extends."""
    found: dict[str, str] = {}
    for parent in reversed(model.__mro__):
        if not issubclass(parent, Described):
            continue
        try:
            source = ast.parse(textwrap.dedent(inspect.getsource(parent)))
        except (OSError, TypeError, SyntaxError):
            # it is not there, or has changed since: a schema needs no descriptions
            continue
        # after a change it may be of anything
        inner = [one for part in source.body if isinstance(part, ast.ClassDef) for one in part.body]
        for field, after in pairwise(inner):
            match field, after:
                case (
                    ast.AnnAssign(target=ast.Name(id=name)),
                    ast.Expr(value=ast.Constant(value=str() as text)),
                ):
                    found[name] = inspect.cleandoc(text)
    return found
