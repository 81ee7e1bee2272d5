"""JSON schemas with descriptions, which are the docstrings that stand below the fields of a model."""

from __future__ import annotations

import ast
import inspect
from itertools import pairwise
from typing import TYPE_CHECKING

from pydantic.json_schema import GenerateJsonSchema
from typing_extensions import get_original_bases, is_typeddict

if TYPE_CHECKING:
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core.core_schema import ModelSchema, TypedDictSchema


class DescribedSchema(GenerateJsonSchema):
    """Describes each field that says nothing else by its docstring.

    pydantic's own `use_attribute_docstrings` reads the sources whenever a model is imported, which costs each
    start of motiond a tenth of a second; only schemas need them.
    """

    def model_schema(self, schema: ModelSchema) -> JsonSchemaValue:
        """Return the schema of a model."""
        return _described(super().model_schema(schema), schema["cls"])

    def typed_dict_schema(self, schema: TypedDictSchema) -> JsonSchemaValue:
        """Return the schema of a typed dictionary."""
        return _described(super().typed_dict_schema(schema), schema["cls"])


def _described(made: JsonSchemaValue, kind: type) -> JsonSchemaValue:
    """Add the docstrings of fields, inherited ones included, to the schema of a model."""
    bases = get_original_bases(kind) if is_typeddict(kind) else kind.__mro__[1:]
    for base in bases:
        if inspect.get_annotations(base) and base.__module__.startswith("motiond."):
            made = _described(made, base)
    if inspect.get_annotations(kind):
        for name, description in _docstrings_in(kind).items():
            if name in made.get("properties", {}):
                made["properties"][name].setdefault("description", description)
    return made


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
