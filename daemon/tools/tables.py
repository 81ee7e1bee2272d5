"""Tables for a terminal, which fit its width as far as no name has to be cut for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich import box
from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console

EDGES = 2  # what `SIMPLE_HEAD` takes beside the columns
GAPS = (3, 2, 1)  # between columns, as far as there is room


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table."""

    title: str
    right: bool = False
    folds: bool = False


def print_rows(console: Console, columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> None:
    """Print a table.

    Where it is wider than the console, cells are wrapped between words and columns stand closer; where that
    is not enough, it stays wider, as half a name is none.
    """
    cells = [list(row) for row in rows]
    widths, gap = _widths(console.width, columns, cells)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, gap // 2, 0, (gap - 1) // 2))
    for column, width in zip(columns, widths, strict=True):
        justify = "right" if column.right else "left"
        table.add_column(Text(column.title), justify=justify, overflow="fold", width=width)  # type: ignore[arg-type] # a literal
    for row in cells:
        table.add_row(*map(Text, row))
    before, console.width = console.width, max(console.width, _total(widths, gap))
    try:
        console.print(table)
    finally:
        console.width = before


def _total(widths: Sequence[int], gap: int) -> int:
    return EDGES + sum(widths) + gap * (len(widths) - 1)


def _widths(room: int, columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> tuple[list[int], int]:
    """Return how wide each column is, and what stands between two.

    A column is as wide as its longest cell, or as its longest word where there is no room for more.
    """
    in_columns = [(column.title, *(row[number] for row in rows)) for number, column in enumerate(columns)]
    widths = [max(map(cell_len, texts)) for texts in in_columns]
    least = [
        _longest_word(texts[:1] if column.folds else texts)
        for column, texts in zip(columns, in_columns, strict=True)
    ]
    gap = next((gap for gap in GAPS if _total(least, gap) <= room), GAPS[-1])
    while (excess := _total(widths, gap) - room) > 0:
        widest = max(range(len(widths)), key=lambda number: widths[number] - least[number])
        spare = widths[widest] - least[widest]
        if not spare:
            break
        widths[widest] -= min(spare, excess)
    return widths, gap


def _longest_word(texts: Sequence[str]) -> int:
    return max((cell_len(word) for text in texts for word in text.split()), default=0)
