"""JSON schemas with descriptions, which are the docstrings that stand below the fields of a model."""

from __future__ import annotations

import ast
import inspect
from itertools import pairwise
from typing import TYPE_CHECKING

from pydantic.json_schema import GenerateJsonSchema

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core.core_schema import ModelSchema


class DescribedSchema(GenerateJsonSchema):
    """Describes each field that says nothing else by its docstring.

    pydantic's own `use_attribute_docstrings` reads the sources whenever a model is imported, which costs each
    start of motiond a tenth of a second; only schemas need them.
    """

    def model_schema(self, schema: ModelSchema) -> JsonSchemaValue:
        """Return the schema of a model."""
        made = super().model_schema(schema)
        for name, said in _field_docstrings(schema["cls"]).items():
            if name in made.get("properties", {}):
                made["properties"][name].setdefault("description", said)
        return made


def _field_docstrings(model: type[BaseModel]) -> dict[str, str]:
    """Return the docstrings of a model's fields by name, inherited ones included."""
    said: dict[str, str] = {}
    for kind in reversed(model.__mro__):
        if set(inspect.get_annotations(kind)) & set(model.model_fields):
            said |= _docstrings_in(kind)
    return said


def _docstrings_in(kind: type) -> dict[str, str]:
    (definition,) = ast.parse(inspect.cleandoc("\n" + inspect.getsource(kind))).body
    assert isinstance(definition, ast.ClassDef)  # noqa: S101 - that is what `getsource` gives
    return {
        field.target.id: inspect.cleandoc(below.value.value)
        for field, below in pairwise(definition.body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(below, ast.Expr)
        and isinstance(below.value, ast.Constant)
        and isinstance(below.value.value, str)
    }
