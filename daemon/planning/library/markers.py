"""Markers of a motion: named places, for cues to light, sound and grippers, from a file beside the motion's.

`docs/motions.md` describes the file; whatever is wrong with it comes as one `FormatError`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Self

import numpy as np
import orjson
from pydantic import AfterValidator, Field, ValidationInfo, model_validator

from motiond.formats.io import SizeBound
from motiond.formats.model import SAME_TIME_S
from motiond.text import printable

from ...config.section import Section, SettingError
from ...config.yaml_file import load_yaml

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from motiond.formats import Motion

SUFFIX = ".markers.yaml"
MOST_MARKERS = 1000
SIZE = SizeBound(1_000_000, "a marker file", "shorten the payloads")
LONGEST_NAME = 255


@dataclass(frozen=True, slots=True)
class Marker:
    """A named place on a motion.

    - `time_s`: from the motion's first frame, at speed 1
    - `payload`: goes out with the event as it stands
    - `frame`: the same place in frames of the file; not whole where it lies between two
    """

    name: str
    time_s: float
    payload: Any = None
    frame: float = float("nan")


def marker_file(motion_file: Path, motion: str | None = None) -> Path:
    """Return the path where markers stand; `motion`: which one of a file that holds several."""
    parts = (motion_file.stem, motion) if motion else (motion_file.stem,)
    return motion_file.parent / (".".join(parts) + SUFFIX)


def read_markers(path: Path, motion: Motion) -> tuple[Marker, ...]:
    """Read the markers of a motion, in the order of time.

    Raises
    ------
    FormatError
        With every mistake, each as `file:line: problem; reason; hint`.
    """
    times = _frame_times(motion)
    cues = load_yaml(path, _MarkerFile, {"times": times}, aliases=False, size=SIZE).markers
    markers = [_marker(name, cue, times) for name, cue in cues.items()]
    return tuple(sorted(markers, key=lambda marker: marker.time_s))


def _frame_times(motion: Motion) -> NDArray[np.float64]:
    """Return the time of each frame from the first, in s, shape (frames,), as it is played at speed 1."""
    times: NDArray[np.float64] = motion.times - motion.times[0]
    return np.arange(motion.times.size) / motion.frame_rate if motion.is_uniform else times


def _marker(name: str, cue: _Cue, times: NDArray[np.float64]) -> Marker:
    if cue.frame is not None:
        return Marker(name, float(times[cue.frame]), cue.payload, float(cue.frame))
    time_s = min(cue.time or 0.0, float(times[-1]))
    return Marker(name, time_s, cue.payload, float(np.interp(time_s, times, np.arange(times.size))))


def _named(name: str) -> str:
    if not name.strip():
        raise SettingError("", "a marker has no name; it is asked for by name; write one before the colon")
    if len(name) > LONGEST_NAME:
        reason = f"it has at most {LONGEST_NAME}; shorten it"
        raise SettingError("", f"a marker's name has {len(name)} characters; {reason}")
    if (shown := printable(name)) != name:
        reason = "it goes to logs and terminals; remove what is no letter, sign or space"
        raise SettingError("", f"the marker's name '{shown}' cannot be shown as it stands; {reason}")
    return name


def _json_ready(payload: Any) -> Any:
    """Return a payload that JSON gives back as it was; infinities and dates are none of that."""
    try:
        returned = orjson.loads(orjson.dumps(payload, option=orjson.OPT_PASSTHROUGH_DATETIME))
    except orjson.JSONEncodeError as error:
        raise SettingError("", f"the payload is no JSON; {error}; write it as text, in quotes") from error
    if returned != payload:
        reason = "infinities and numbers that are none do not exist there"
        raise SettingError("", f"the payload is no JSON; {reason}; write them as text, in quotes")
    return payload


class _Cue(Section):
    frame: Annotated[int, Field(strict=True, ge=0)] | None = None
    time: Annotated[float, Field(strict=True, ge=0)] | None = None
    payload: Annotated[Any, AfterValidator(_json_ready)] = None

    @model_validator(mode="after")
    def _check(self, info: ValidationInfo) -> Self:
        if self.frame is None and self.time is None:
            raise SettingError("", "the marker has no place; frame or time says where it is; add one of them")
        if self.frame is not None and self.time is not None:
            raise SettingError("time", "the marker has two places; frame and time both say where; remove one")
        times = (info.context or {})["times"]
        last = f"the last frame is {times.size - 1}, at {times[-1]:g} s; name an earlier one"
        if self.frame is not None and self.frame >= times.size:
            raise SettingError("frame", f"frame {self.frame} is beyond the end; {last}")
        if self.time is not None and self.time > times[-1] + SAME_TIME_S:
            raise SettingError("time", f"{self.time:g} s is beyond the end; {last}")
        return self


class _MarkerFile(Section):
    markers: Annotated[dict[Annotated[str, AfterValidator(_named)], _Cue], Field(max_length=MOST_MARKERS)]
