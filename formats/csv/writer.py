"""A motion to a table: a line of titles, then a row for each time, in SI with all digits."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import orjson

from motiond.text import quoted

from ..errors import FormatError, Problem, Problems
from ..io.writers.digits import ALL_DIGITS, CHUNK_NUMBERS, check_digits, rounded_within
from ..io.writers.motion_writing import joint_names, unwritable, written_series
from ..io.writers.output import replacing
from ..model.mapping import si_unit
from .header import read_header
from .reader import COMPONENTS
from .titles import LITERAL, Title, read_title, resolve

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from ..arrays import Floats
    from ..model.motion import Motion
    from .titles import Role

OPTIONS: frozenset[str] = frozenset()
TSV, OF_OTHERS = ".tsv", (".pos", ".mot", ".sto")
TIME = "time"
# A spreadsheet takes what begins like this for a formula, and the others may be taken for separators.
_QUOTED = re.compile(r"[=+@-]|.*[,;\t]", re.DOTALL)


def dump(
    motion: Motion, path: Path, *, precision: int | None = ALL_DIGITS, drop: Collection[str] = ()
) -> None:
    """Write a motion, as `dump_motion` does: `.tsv` with tabs, all others with commas."""
    check_digits(precision)
    if (suffix := path.suffix.lower()) in OF_OTHERS:
        problem, hint = f"{suffix} is another program's", "name it .csv or .tsv"
        raise FormatError([Problem(str(path), 0, problem, "such files are read, not written", hint)])
    reason = "a table has columns of joints alone, a value for each row"
    series = written_series(motion, COMPONENTS.values(), path, drop, reason=reason)
    if problems := unwritable(motion, path, series):
        raise FormatError(problems)
    parts = _parts(motion, series)
    separator = b"\t" if suffix == TSV else b","
    titles = [TIME, *(title for part in parts for title in part.titles)]
    line = _line(titles, separator.decode())
    _refuse_names(path, parts, line + separator.join([b"0.5"] * len(titles)))
    with replacing(path) as out:
        out.write(line)
        out.writelines(_rows(motion.times, parts, precision, separator))


@dataclass(frozen=True, slots=True)
class _Part:
    """Columns of one kind, one for each joint."""

    role: Role
    joints: Sequence[str]
    titles: Sequence[str]
    values: Floats  # shape (rows, joints)


def _parts(motion: Motion, series: Mapping[str, Floats]) -> list[_Part]:
    joints = joint_names(motion)
    units = motion.metadata.get("units", {})
    titles = [_title(name, units.get(name, "")) for name in joints]
    return [
        _Part("position", joints, titles, motion.positions),
        *(
            _Part(role, joints, [f"{joint}.{role}" for joint in joints], series[name])
            for role, name in COMPONENTS.items()
            if name in series
        ),
    ]


def _title(name: str, unit: str) -> str:
    """Return the title of a joint's positions, by which its unit and its name come back as they are."""
    is_plain = unit and read_title(name) == Title(name, name)
    return f"{name} [{si_unit(unit)}]" if is_plain else f"{name}{LITERAL}"


def _line(titles: Sequence[str], separator: str) -> bytes:
    """Return the line of titles."""
    out = io.StringIO()
    by_need, always = (
        csv.writer(out, delimiter=separator, lineterminator="", quoting=quoting)
        for quoting in (csv.QUOTE_MINIMAL, csv.QUOTE_ALL)
    )
    for index, title in enumerate(titles):
        out.write(separator if index else "")
        (always if _QUOTED.match(title) else by_need).writerow([title])
    return out.getvalue().encode("utf-8", "surrogateescape") + b"\n"


def _refuse_names(path: Path, parts: Sequence[_Part], beginning: bytes) -> None:
    """Refuse names that would not come back from a file that begins with these two lines."""
    if wrong := _names_that_change(parts, beginning):
        problem, reason = f"joint name {quoted(wrong[0])} cannot stand", "it would not be read back"
        raise FormatError([Problem(str(path), 0, problem, reason, "rename the joint")])


def _names_that_change(parts: Sequence[_Part], beginning: bytes) -> list[str]:
    """Return the joints whose titles are not read as they are meant."""
    meant = [(name, part.role) for part in parts for name in part.joints]
    try:
        titles = read_header(beginning, Problems("")).titles[1:]
    except FormatError:
        titles = ()
    read = [(one.name, one.role) for one in resolve([read_title(title) for title in titles])]
    if len(read) != len(meant):
        return [name for name, _ in meant if not name.isprintable()] or [meant[0][0]]
    return [name for (name, role), found in zip(meant, read, strict=True) if found != (name, role)]


def _rows(times: Floats, parts: Sequence[_Part], precision: int | None, separator: bytes) -> Iterator[bytes]:
    """Return the lines of the rows, in pieces; times stay exact, as rounding could make two of them equal."""
    step = max(1, CHUNK_NUMBERS // (1 + sum(len(part.joints) for part in parts)))
    ends = [(part.values.min(axis=0), part.values.max(axis=0)) for part in parts]
    for start in range(0, len(times), step):
        piece = slice(start, start + step)
        columns = [
            rounded_within(part.values[piece], precision, *of) for part, of in zip(parts, ends, strict=True)
        ]
        numbers = np.column_stack([times[piece], *columns])
        listed = orjson.dumps(numbers, option=orjson.OPT_SERIALIZE_NUMPY)[2:-2]
        lines = listed.replace(b"],[", b"\n") + b"\n"
        yield lines if separator == b"," else lines.replace(b",", separator)
