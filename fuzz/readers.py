"""What must hold for every reader and any file, and small files of each format to begin with."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from motiond.formats import (
    FormatError,
    Motion,
    RobotModel,
    bvh,
    csv,
    hrdf,
    mcap,
    npz,
    pseq,
    ros,
    sdf,
    seq,
    skel,
    urdf,
    webots_motion,
    xmdi,
)
from motiond.formats.io import Source

if TYPE_CHECKING:
    from collections.abc import Sequence

    from motiond.formats.registry import Format

FILES = Path(__file__).parents[1] / "tests" / "files"
MOST_SEED_BYTES = 4096
MEMORY_TIMES = 20

# A document without content has no line to name.
_NOTHING = re.compile(rb"(?:\s++|#[^\n]*+|---|\.\.\.|\xef\xbb\xbf|%[^\n]*+)*+")


@dataclass(frozen=True)
class Reader:
    """One format, with the small files of the test suite.

    Attributes
    ----------
    format : package
        Of `motiond.formats`.
    most_bytes : int
        The memory that reading may take besides twenty times the file: for the parser, and for what a few
        words of the format can stand for.
    binary : bool
        Whether its files have no lines that a refusal could name.
    """

    format: Format[Any]
    most_bytes: int = 2_000_000
    binary: bool = False

    @property
    def name(self) -> str:
        return self.format.NAME

    @property
    def suffix(self) -> str:
        return self.format.SUFFIXES[0]

    @cached_property
    def seeds(self) -> tuple[bytes, ...]:
        found = (path.read_bytes() for path in sorted(FILES.rglob(f"*{self.suffix}")))
        return tuple(data for data in found if 0 < len(data) <= MOST_SEED_BYTES)

    @cached_property
    def words(self) -> tuple[bytes, ...]:
        """Everything in the seeds that looks like a name or a number."""
        return tuple(sorted(set(re.findall(rb"[A-Za-z_][\w:.]*|-?\d[\d.e]*", b" ".join(self.seeds)))))

    def allowance(self, data: bytes) -> int:
        """Return the memory that reading a file may take, in bytes."""
        return self.most_bytes + MEMORY_TIMES * len(data)

    def check(self, data: bytes) -> None:
        """Read a file; the result must be sound robots or motions, or a refusal that names the place."""
        source = Source(FILES / "good" / f"fuzz{self.suffix}", within=(FILES / "good",))
        try:
            found = self.format.load(data, source)
        except FormatError as error:
            _check_refusal(error, data, source, binary=self.binary)
        else:
            _check_result(found)


READERS = {
    reader.name: reader
    for reader in (
        Reader(hrdf),
        Reader(skel),
        Reader(sdf),
        Reader(urdf),
        Reader(seq),
        Reader(webots_motion),
        Reader(bvh),
        # A few key poses may stand for many rows.
        Reader(pseq, most_bytes=200_000_000),
        # Two key frames may stand for ten million positions.
        Reader(xmdi, most_bytes=350_000_000),
        # Each value of YAML takes more than its text.
        Reader(ros, most_bytes=10_000_000),
        # A few bytes may be packed zeros.
        Reader(mcap, most_bytes=350_000_000, binary=True),
        Reader(npz, most_bytes=150_000_000, binary=True),
        Reader(csv),
    )
}


def _check_refusal(error: FormatError, data: bytes, source: Source, *, binary: bool) -> None:
    assert error.problems
    lines = len(data.splitlines()) + 1
    first_line = 0 if binary or _NOTHING.fullmatch(data) else 1
    for problem in error.problems:
        assert problem.problem, problem
        assert problem.file.startswith(str(FILES)), problem
        if problem.file == source.name:
            assert first_line <= problem.line <= lines, problem


def _check_result(found: Sequence[Any]) -> None:
    for one in found:
        if isinstance(one, Motion):
            assert np.isfinite(one.positions).all()
            assert (np.diff(one.times) > 0).all()
        else:
            assert isinstance(one, RobotModel)
            places = one.forward_kinematics(np.zeros(one.dof))
            assert all(pose.shape == (4, 4) for pose in places.values())
