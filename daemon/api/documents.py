"""JSON schemas of what is exchanged, for documents of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from ..config.described import DescribedSchema

if TYPE_CHECKING:
    from collections.abc import Iterable


def schemas_of(kinds: Iterable[Any]) -> dict[str, Any]:
    """Return the JSON schemas of requests, answers and reports, and of what they hold, by name."""
    adapters = [(kind, "validation", TypeAdapter(kind)) for kind in dict.fromkeys(kinds)]
    _, made = TypeAdapter.json_schemas(
        adapters,  # type: ignore[arg-type] # "validation" is one of its modes
        ref_template="#/components/schemas/{model}",
        schema_generator=DescribedSchema,
    )
    schemas: dict[str, Any] = made["$defs"]
    return dict(sorted(schemas.items()))
