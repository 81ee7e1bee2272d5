"""The options that every writing format has, as type checkers see them in the keywords of `dump_motion`."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from collections.abc import Collection


class CommonKeywords(TypedDict, total=False):
    """What each format's `WriteOptions` has; the format declares its own keywords beside them."""

    precision: int | None
    drop: Collection[str]
