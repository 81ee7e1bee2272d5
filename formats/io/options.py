"""The options that every writing format has, for type checkers of the keywords of `dump_motion`."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from collections.abc import Collection


class CommonKeywords(TypedDict, total=False):
    """The fields that the `WriteOptions` of every format have; each format declares its own beside them."""

    precision: int | None
    drop: Collection[str]
