"""Writes a motion in the format that is named, or that the path's suffix names, by that format's options."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from motiond.text import nearest

from .errors import FormatError, Problem
from .registry import motion_writers

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping
    from typing import Unpack

    from .io.losses import CommonKeywords
    from .model.motion import Motion
    from .registry import MotionWriter
    from .seq.writer import Keywords as SeqKeywords
    from .xmdi.writer import Keywords as XmdiKeywords

    class WriteKeywords(CommonKeywords, SeqKeywords, XmdiKeywords, total=False):
        """The options of all formats, for type checkers; at run time each format has its own."""


def dump_motion(
    motion: Motion,
    path: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002 - what everyone calls it
    **options: Unpack[WriteKeywords],
) -> None:
    """Write a motion; an existing file is replaced once all is written.

    Parameters
    ----------
    format : {'seq', 'xmdi'}, optional
        By the path's suffix unless given.
    **options
        The fields of the format's `WriteOptions`: `precision` and `drop`; of .seq `version`; of XMDI
        `tolerance` and `frame_period_s`. None for an option that only another format has is as if not given.

    Raises
    ------
    FormatError
        If the format cannot hold something, each thing named, or the file cannot be written.
    ValueError
        If an option has no such value, or the format no such option.
    TypeError
        If no format has such an option.
    """
    target = Path(path)
    writer = _writer(target, format)
    writer.dump(motion, target, _write_options(writer, options))


def _writer(path: Path, name: str | None) -> MotionWriter:
    suffix = path.suffix.lower()
    for writer in motion_writers():
        if name == writer.NAME or (name is None and suffix in writer.SUFFIXES):
            return writer
    known = [writer.NAME for writer in motion_writers()]
    written = f"written are {', '.join(known)}"
    if name is not None:
        what = f"no motion format is called '{name}'"
        raise FormatError([Problem(str(path), 0, what, written, nearest(name, known))])
    what = f"its suffix '{path.suffix}' names no motion format"
    raise FormatError([Problem(str(path), 0, what, written, "name the format")])


def _write_options(writer: MotionWriter, given: Mapping[str, object]) -> Any:
    """Return the options of a format, or refuse those that it does not have."""
    own = _option_names(writer)
    if not given.keys() <= set(own):
        _refuse_foreign(writer.NAME, own, given)
    return writer.WriteOptions(**{name: value for name, value in given.items() if name in own})


def _refuse_foreign(format_name: str, own: list[str], given: Mapping[str, object]) -> None:
    known = [name for writer in motion_writers() for name in _option_names(writer)]
    for name in given:
        if name not in known:
            raise TypeError(f"dump_motion() got an unexpected keyword argument '{name}'")
    for name in known:
        if name not in own and given.get(name) is not None:
            raise ValueError(f"{name} is {given[name]}; {format_name} has no such option; leave it out")


def _option_names(writer: MotionWriter) -> list[str]:
    return [field.name for field in fields(writer.WriteOptions)]
