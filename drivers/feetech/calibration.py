"""Reads a calibration file of LeRobot: which servo each joint has, its homing offset, and its range.

Such a file is a JSON object with an entry for each joint: `id`, `drive_mode`, `homing_offset`, `range_min`
and `range_max`, positions in ticks.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from motiond.text import nearest, nearest_file, printable

from ..base import DriverConfigError
from ..serial_bus.options import of_actuator
from .protocol import HIGHEST_ID

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from ..serial_bus.options import Place
    from .options import FeetechOptions

MOST_BYTES = 100_000
MOST_TICKS = 4095
_BOUNDS: Mapping[str, tuple[int, int]] = {
    "id": (0, HIGHEST_ID),
    "drive_mode": (0, 1),
    "homing_offset": (-2047, 2047),
    "range_min": (0, MOST_TICKS),
    "range_max": (0, MOST_TICKS),
}


@dataclass(frozen=True, slots=True)
class Calibrated:
    """What a calibration says of one joint. `zero_ticks`: the middle of its range."""

    servo_id: int
    is_inverted: bool
    homing_offset: int
    range_min: int
    range_max: int

    @property
    def zero_ticks(self) -> float:
        """The position at 0 rad: 0 degrees in LeRobot."""
        return (self.range_min + self.range_max) / 2


def load_calibration(path: Path, actuators: Sequence[str]) -> Mapping[str, Calibrated]:
    """Read what a file says of each actuator; a joint of the file may be no actuator.

    Raises DriverConfigError if it cannot be read, with everything that is wrong in it.
    """
    content = _content(path)
    problems = [problem for name in actuators for problem in _wrong(path, name, content)]
    if problems:
        raise DriverConfigError(str(path), "\n".join(map(str, problems)).removeprefix(f"{path}: "))
    return {name: _calibrated(content[name]) for name in actuators}


def _calibrated(entry: Mapping[str, int]) -> Calibrated:
    return Calibrated(
        entry["id"], entry["drive_mode"] == 1, entry["homing_offset"], entry["range_min"], entry["range_max"]
    )


def calibrated(options: FeetechOptions, places: Sequence[Place]) -> Mapping[str, Calibrated]:
    """Return what the calibration file says of each actuator; nothing without a file.

    Raises DriverConfigError if it cannot be read, or is of other servos.
    """
    path = options.calibration
    if path is None:
        return {}
    found = load_calibration(path, [place.actuator for place in places])
    wrong = [place for place in places if found[place.actuator].servo_id != place.servo_id]
    if wrong:
        lines = [
            f"{path}: '{one.actuator}' is servo {found[one.actuator].servo_id}; "
            f"`ids` says {one.servo_id}; correct one of them"
            for one in wrong
        ]
        raise DriverConfigError(str(path), "\n".join(lines).removeprefix(f"{path}: "))
    return found


def with_calibration(options: FeetechOptions, calibration: Mapping[str, Calibrated]) -> FeetechOptions:
    """Return options as they are with a calibration; what they set for an actuator goes before it."""
    if not calibration:
        return options

    def merged(option: str, of_file: str) -> dict[str, object]:
        own = {name: of_actuator(getattr(options, option), name) for name in calibration}
        return {
            name: getattr(joint, of_file) if own[name] is None else own[name]
            for name, joint in calibration.items()
        }

    turned = {name: -1 if joint.is_inverted else 1 for name, joint in calibration.items()}
    return options.model_copy(
        update={
            "direction": {
                name: sign * (-1 if of_actuator(options.direction, name) == -1 else 1)
                for name, sign in turned.items()
            },
            "zero_ticks": merged("zero_ticks", "zero_ticks"),
            "homing_offset_ticks": merged("homing_offset_ticks", "homing_offset"),
        }
    )


def _content(path: Path) -> Mapping[str, Any]:
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except FileNotFoundError as error:
        hint = nearest_file(path) or "correct `calibration`"
        raise DriverConfigError(str(path), "there is no such file", hint=hint) from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DriverConfigError(str(path), "cannot be read", reason, "correct `calibration`") from error
    if len(data) > MOST_BYTES:
        problem, reason = f"is larger than {MOST_BYTES} bytes", "no calibration is"
        raise DriverConfigError(str(path), problem, reason, "correct `calibration`")
    try:
        content = json.loads(data, object_pairs_hook=_without_doubles)
    except RecursionError as error:
        raise DriverConfigError(str(path), "nests too deeply", "", "calibrate again") from error
    except ValueError as error:
        line = f":{error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error).partition(";")[0]
        raise DriverConfigError(f"{path}{line}", "is no JSON", reason, "calibrate again") from error
    if not isinstance(content, dict):
        reason = "it should be an object with an entry for each joint"
        raise DriverConfigError(str(path), "is no calibration", reason, "name a file that LeRobot wrote")
    return content


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        twice = next(name for name, _ in pairs if [one for one, _ in pairs].count(name) > 1)
        raise ValueError(f"'{printable(twice[:60])}' stands there twice")
    return content


def _wrong(path: Path, name: str, content: Mapping[str, Any]) -> Iterator[DriverConfigError]:
    entry = content.get(name)
    if not isinstance(entry, dict):
        known = [printable(one[:60]) for one in list(content)[:1000]]
        there = ", ".join(known[:20]) or "nothing"
        problem = f"'{name}' is no object" if name in content else f"has no joint '{name}'"
        near = "" if name in content else nearest(name, known)
        yield DriverConfigError(str(path), problem, f"it has {there}", near)
        return
    wrong = False
    for key, (lowest, highest) in _BOUNDS.items():
        value = entry.get(key)
        if not isinstance(value, int) or isinstance(value, bool) or not lowest <= value <= highest:
            wrong = True
            problem = (
                f"'{key}' of '{name}' is {_shown(value)}" if key in entry else f"'{name}' has no '{key}'"
            )
            reason = f"it should be a whole number from {lowest} to {highest}"
            yield DriverConfigError(str(path), problem, reason, "calibrate again")
    if not wrong and entry["range_min"] >= entry["range_max"]:
        problem = f"the range of '{name}' is empty, {entry['range_min']} to {entry['range_max']}"
        yield DriverConfigError(str(path), problem, "", "calibrate again")


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}…"
