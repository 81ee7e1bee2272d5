"""Golden traces: where a motion was in each frame when it was as it should be, and where it differs now.

They are traces of dry runs (docs/dry-run.md). A play is held against one frame by frame, not by time: a
machine that is late sends other rows, yet rows of the same path.
"""

from __future__ import annotations

import math
import zipfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from motiond.text import echoed, listed

from .failures import MotiondFailure

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from .traces import Floats

RunSource: TypeAlias = Literal["reference", "feedback"]
UPDATE = "--motiond-update-golden"
PARTS = frozenset({"time_s", "state", "frame", "joints", "units", "result", "reference_position"})
SAME_FRAME = 0.5
MOST_GAPS = 2.0
"""The first and the last sample of a play may be so many times the way between two from its ends."""
OPTIONS = {
    "speed": "--speed",
    "loop": "--loop",
    "ping_pong": "--ping-pong",
    "first": "--first",
    "last": "--last",
    "seam": "--seam",
    "source": "--source",
}
"""Of a request to play, the keys that shape what is played, as options of the program."""


def refuse_bounds(source: str, bounds: Mapping[str, float]) -> None:
    """Raise `MotiondFailure` if there is no such source, or a bound that nothing or anything would keep."""
    __tracebackhide__ = True
    if source not in get_args(RunSource):
        known = f"there are {listed(get_args(RunSource))}"
        raise MotiondFailure(f"assert_like: no source '{echoed(str(source))}'; {known}; choose one of them")
    for unit, bound in bounds.items():
        if not 0.0 <= bound < math.inf:
            reason = "a bound is a finite number, and not negative"
            raise MotiondFailure(f"assert_like: {unit} is {bound}; {reason}; write how far joints may be off")


def play_options(keys: Mapping[str, Any]) -> list[str]:
    """Return the keys of a request to play as options of `motiond play`, as far as they shape the motion."""
    words = []
    for key, option in OPTIONS.items():
        value = keys.get(key)
        if isinstance(value, dict):  # a place, by one of three names
            words += [option, f"{value['time']}s" if "time" in value else str(*value.values())]
        elif value is True:
            words.append(option)
        elif value not in {None, False}:
            words += [option, str(value)]
    return words


@dataclass(frozen=True, slots=True, eq=False)
class GoldenTrace:
    """What a golden trace holds of its motion.

    - `name`: the file's, for messages
    - `code`: how it ended
    - `frames`: increasing, of the file, shape (rows,)
    - `times`: when the motion came to each first, in s from its first row, shape (rows,)
    - `positions`: in rad or m, shape (rows, joints)
    """

    name: str
    joints: tuple[str, ...]
    units: tuple[str, ...]
    code: str
    frames: Floats
    times: Floats
    positions: Floats

    @classmethod
    def read(cls, path: Path, source: RunSource) -> GoldenTrace:
        """Read a golden trace. Raises MotiondFailure if there is none, or it holds something else."""
        __tracebackhide__ = True
        hint = f"`pytest {UPDATE}` makes it; look at it with `motiond plot`, and keep it with your tests"
        try:
            if path.exists() and not zipfile.is_zipfile(path):
                raise MotiondFailure(f"{path}: is no golden trace; it is no `.npz` file; {hint}")
            with np.load(path, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
        except FileNotFoundError:
            raise MotiondFailure(f"{path}: there is no such golden trace; {hint}") from None
        except (OSError, ValueError, zipfile.BadZipFile) as error:
            raise MotiondFailure(f"{path}: cannot be read as a golden trace; {error}; {hint}") from None
        states = arrays["state"] if arrays.keys() >= PARTS else np.empty(0, str)
        begins = int(np.argmax(states == "playing")) if (states == "playing").any() else states.size
        played = begins + np.flatnonzero(states[begins:] != "approaching")
        if not played.size:
            problem = "holds no trace of a play; a golden trace is one of a dry run"
            raise MotiondFailure(f"{path}: {problem}; {hint}")
        # The tick in which the approach ends puts out the first row, too: the later one counts.
        frames, last = np.unique(arrays["frame"][played][::-1], return_index=True)
        rows = played[::-1][last]
        return cls(
            str(path),
            tuple(map(str, arrays["joints"])),
            tuple(map(str, arrays["units"])),
            str(arrays["result"]),
            frames,
            arrays["time_s"][rows] - arrays["time_s"][played[0]],
            arrays[f"{source}_position"][rows],
        )

    def differences(
        self,
        joints: Sequence[str],
        samples: Sequence[Mapping[str, Any]],
        source: RunSource,
        bounds: Mapping[str, float],
    ) -> list[str]:
        """Return what differs, in words, of a play that telemetry shows.

        - `joints`: the order of the samples' positions
        - `bounds`: by unit: `{"rad": 0.01, "m": 0.001}`
        """
        frames = np.array([sample["frame"] for sample in samples], float)
        chosen = np.flatnonzero(_on_the_path(frames))
        if not chosen.size:
            problem = "no sample of telemetry is on the motion; it is too short for the rate of them"
            return [f"{problem}; raise `mqtt.telemetry_hz` in the configuration of the tests"]
        positions = np.array([samples[row][source]["position"] for row in chosen], float)
        frames = frames[chosen]
        others = [*self._other_joints(joints), *self._other_frames(frames)]
        inside = (frames >= self.frames[0]) & (frames <= self.frames[-1])
        rows = [
            self._difference(name, frames[inside], positions[inside, joints.index(name)], bounds)
            for name in self.joints
            if name in joints and inside.any()
        ]
        return [*others, *filter(None, rows)]

    def _other_joints(self, joints: Sequence[str]) -> Iterator[str]:
        for name in self.joints:
            if name not in joints:
                yield f"the robot has no joint '{name}', which it has"
        for name in joints:
            if name not in self.joints:
                yield f"it has no joint '{name}', which the robot has"

    def _other_frames(self, frames: Floats) -> Iterator[str]:
        """Return how a play goes further than the trace, or not as far."""
        between = MOST_GAPS * float(np.abs(np.diff(frames)).max(initial=0.0)) + SAME_FRAME
        for end, there, here in (
            ("begins", self.frames[0], frames.min()),
            ("ends", self.frames[-1], frames.max()),
        ):
            sign = 1.0 if end == "ends" else -1.0
            if sign * (here - there) > SAME_FRAME or sign * (there - here) > between:
                yield f"the motion {end} at frame {here:.0f}, and it {end} at frame {there:.0f}"

    def _difference(self, name: str, frames: Floats, now: Floats, bounds: Mapping[str, float]) -> str:
        """Return where a joint differs by more than its bound; '' if it does not."""
        column = self.joints.index(name)
        unit = self.units[column]
        then = np.interp(frames, self.frames, self.positions[:, column])
        away = np.abs(now - then)
        away[np.isnan(away)] = np.inf
        worst, beyond = int(away.argmax()), int((away > bounds[unit]).sum())
        if not beyond:
            return ""
        time_s = float(np.interp(frames[worst], self.frames, self.times))
        return (
            f"joint '{name}' is at {now[worst]:.6g} {unit} in frame {frames[worst]:.0f} ({time_s:.3f} s), "
            f"and {then[worst]:.6g} {unit} there; it differs by {away[worst]:.4g} {unit}, "
            f"the bound is {bounds[unit]:g} {unit}, passed in {beyond} of {frames.size} samples"
        )


def _on_the_path(frames: Floats) -> Any:
    """Return which samples are on the motion: those of ways towards it, and of rest, have one frame."""
    changes = np.diff(frames) != 0.0
    after = np.concatenate([[False], changes])
    before = np.concatenate([changes, [True]])
    return after & before
