"""Fonts for the names in a picture, whatever script they are in: matplotlib's own has no Chinese, say."""

from __future__ import annotations

import logging
import warnings
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from matplotlib.font_manager import FontEntry

BOXES = "Last Resort"
"""The fonts of this name, one of which comes with matplotlib, have a box for every letter."""


def fonts_for(texts: Iterable[str]) -> tuple[list[str], frozenset[str]]:
    """Return the installed fonts that texts need besides the usual one, and the letters that none has."""
    from matplotlib import font_manager  # noqa: PLC0415 - an extra

    missing = {ord(letter) for text in texts for letter in text if letter.isprintable()}
    missing -= _letters(font_manager.findfont(font_manager.FontProperties()))
    families = []
    for font in _installed():
        if not missing:
            break
        if not font.name.startswith(BOXES) and missing & (letters := _letters(font.fname)):
            families.append(font.name)
            missing -= letters
    return families, frozenset(map(chr, missing))


def _installed() -> Iterator[FontEntry]:
    """Yield all fonts; those last that were installed since matplotlib has made the list that it keeps."""
    from matplotlib import font_manager  # noqa: PLC0415 - an extra

    manager = font_manager.fontManager
    known = [*manager.ttflist]
    yield from known
    for file in sorted({*font_manager.findSystemFonts()} - {font.fname for font in known}):
        with suppress(OSError, RuntimeError):  # it is broken
            manager.addfont(file)
    yield from manager.ttflist[len(known) :]


def _letters(file: str) -> set[int]:
    from matplotlib.ft2font import FT2Font  # noqa: PLC0415 - an extra

    try:
        font = FT2Font(file)
        font.set_size(8, 72)  # a font of pictures, as of emoji, has no such size
        return set(font.get_charmap())
    except (OSError, RuntimeError):
        return set()


@contextmanager
def drawn_with(families: list[str], *, as_text: bool) -> Iterator[None]:
    """Let texts be drawn with further fonts. `as_text`: who shows an SVG has the fonts."""
    from matplotlib import rc_context, rcParams  # noqa: PLC0415 - an extra

    about_fonts = logging.getLogger("matplotlib.font_manager")
    level = about_fonts.level
    with rc_context(), warnings.catch_warnings():
        rcParams["font.family"] = [*rcParams["font.family"], *families]
        if as_text:
            rcParams["svg.fonttype"] = "none"
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        about_fonts.setLevel(logging.ERROR)  # a font that has one weight is as good
        try:
            yield
        finally:
            about_fonts.setLevel(level)
