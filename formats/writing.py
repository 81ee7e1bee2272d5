"""Which format a motion is written in.

In come a motion and a path, out goes a file of the format that is named, or that the path's suffix names.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from .errors import FormatError, Problem, nearest
from .seq import reader as seq
from .seq import writer as seq_writer
from .xmdi import reader as xmdi
from .xmdi import writer as xmdi_writer

if TYPE_CHECKING:
    import os
    from collections.abc import Collection

    from .model.motion import Motion

_FORMATS: dict[str, tuple[str, ...]] = {one.NAME: one.SUFFIXES for one in (seq, xmdi)}


def dump_motion(
    motion: Motion,
    path: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002 - what everyone calls it
    *,
    precision: int | None = 9,
    drop: Collection[str] = (),
    version: int | None = None,
    tolerance: float | None = None,
    frame_period_s: float | None = None,
) -> None:
    """Write a motion; an existing file is replaced once all is written.

    Parameters
    ----------
    format : {'seq', 'xmdi'}, optional
        By the path's suffix unless given.
    precision : int, optional
        Significant digits, 1 to 12; None writes as many as give the same bits back.
    drop : collection of str
        What may be lost, such as the names of components; whatever else the format cannot hold is refused.
    version : int, optional
        Of .seq, 1 to 4; 4 unless given.
    tolerance : float, optional
        Of XMDI, in rad or m: how far lines between key frames may pass from rows; 1e-6 unless given.
    frame_period_s : float, optional
        Of XMDI: 0.032 unless given.

    Raises
    ------
    FormatError
        If the format cannot hold something, each thing named, or the file cannot be written.
    ValueError
        If an option has no such value, or the format no such option.
    """
    target = Path(path)
    name = _format(target, format)
    if name == seq.NAME:
        _refuse_options(name, {"tolerance": tolerance, "frame_period_s": frame_period_s})
        newest = seq_writer.VERSIONS[-1] if version is None else version
        seq_writer.dump(motion, target, version=newest, precision=precision, drop=drop)
    else:
        _refuse_options(name, {"version": version})
        reduction = xmdi_writer.Reduction(
            xmdi_writer.DEFAULT_TOLERANCE if tolerance is None else tolerance,
            xmdi_writer.FRAME_PERIOD_S if frame_period_s is None else frame_period_s,
        )
        xmdi_writer.dump(motion, target, reduction, precision=precision, drop=drop)


def _format(path: Path, name: str | None) -> str:
    written = f"written are {', '.join(_FORMATS)}"
    if name is not None:
        if name not in _FORMATS:
            what = f"no motion format is called '{name}'"
            raise FormatError([Problem(str(path), 0, what, written, nearest(name, _FORMATS))])
        return name
    for known, suffixes in _FORMATS.items():
        if path.suffix.lower() in suffixes:
            return known
    what = f"its suffix '{path.suffix}' names no motion format"
    raise FormatError([Problem(str(path), 0, what, written, "name the format")])


def _refuse_options(name: str, options: dict[str, float | None]) -> None:
    for option, value in options.items():
        if value is not None:
            raise ValueError(f"{option} is {value}; {name} has no such option; leave it out")
