"""Names as messages and tables list them where whoever reads them may type them: each whole."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from motiond.formats.errors import MOST_LISTED

if TYPE_CHECKING:
    from collections.abc import Collection


def listed_whole(names: Collection[str], more: int = 0) -> str:
    """Return names as `a, b, c`, no more than twenty, and the number of the others.

    Parameters
    ----------
    more : int
        How many there are besides.
    """
    shown = [*islice(names, MOST_LISTED)]
    more += len(names) - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more else "")
