"""Write the motions in config/motions for the arm in config/robots/six_axis.hrdf.

Each goes from pose to pose by minimum-jerk curves (T. Flash and N. Hogan, "The coordination of arm
movements", J. Neurosci. 5(7), 1985), starts and ends at rest in the same pose, stays below 1 rad/s and
3 rad/s², and keeps the arm above the table.

    python scripts/make_demo_motions.py
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Pose: TypeAlias = tuple[float, ...]

JOINTS = ("base", "shoulder", "elbow", "wrist1", "wrist2", "wrist3")
FOLDER = Path(__file__).parent.parent / "config" / "motions"

HOME = (0.0, 1.2, 1.7, 0.6, 0.0, 0.0)
UP = (0.0, 1.4, 1.1, 0.9, 0.3, 0.0)
LEFT = (0.25, 1.4, 1.2, 0.9, 0.3, 0.25)
RIGHT = (-0.25, 1.4, 1.0, 0.9, 0.3, -0.25)
DOWN = (0.0, 1.2, 1.7, 0.2, 0.0, 0.0)
LONG = (0.5, 0.9, 0.7, 0.1, 0.6, 0.5)
WIDE = (-0.5, 0.9, 0.7, 0.1, -0.6, -0.5)


@dataclass(frozen=True, slots=True)
class Leg:
    """A move to a pose, and how long the robot rests there."""

    pose: Pose
    duration_s: float
    rest_s: float = 0.0


WAVE = (Leg(UP, 1.2), Leg(LEFT, 0.8), Leg(RIGHT, 1.0), Leg(LEFT, 1.0), Leg(RIGHT, 1.0), Leg(HOME, 1.4))
NOD = (Leg(DOWN, 1.0), Leg(HOME, 1.0), Leg(DOWN, 1.0), Leg(HOME, 1.0))
STRETCH = (Leg(LONG, 2.5, rest_s=1.0), Leg(WIDE, 3.0, rest_s=1.0), Leg(HOME, 2.5))


def positions_at(times: Floats, legs: tuple[Leg, ...]) -> Floats:
    """Return positions, shape (times, joints), of a motion that starts in HOME at 0 s."""
    positions = np.tile(np.array(HOME), (times.size, 1))
    start_s, pose = 0.0, np.array(HOME)
    for leg in legs:
        s = np.clip((times - start_s) / leg.duration_s, 0, 1)[:, None]
        positions += (10 * s**3 - 15 * s**4 + 6 * s**5) * (np.array(leg.pose) - pose)
        start_s, pose = start_s + leg.duration_s + leg.rest_s, np.array(leg.pose)
    return positions


def length_s(legs: tuple[Leg, ...]) -> float:
    """Return the duration of a motion."""
    return sum(leg.duration_s + leg.rest_s for leg in legs)


def moving_times(legs: tuple[Leg, ...], spacing_s: float) -> Floats:
    """Return times about `spacing_s` apart while the robot moves; a rest needs none in between."""
    times, start_s = [0.0], 0.0
    for leg in legs:
        count = round(leg.duration_s / spacing_s)
        times += list(start_s + leg.duration_s * np.arange(1, count + 1) / count)
        start_s += leg.duration_s + leg.rest_s
        if leg.rest_s:
            times.append(start_s)
    return np.array(times)


def write(
    name: str, what: str, frame_rate: float, legs: tuple[Leg, ...], times: Floats | None = None
) -> None:
    """Write a motion, with frames at the given times or else at the frame rate."""
    at = np.arange(round(length_s(legs) * frame_rate) + 1) / frame_rate if times is None else times
    rows = positions_at(at, legs).tolist()
    lines = [
        f"# {what}",
        "type: CompositeSeq",
        "content: BodyMotion",
        "format_version: 4",
        f"frame_rate: {frame_rate:g}",
        f"num_frames: {len(rows)}",
        *(["has_frame_time: true"] if times is not None else []),
        "components:",
        "  -",
        "    type: MultiValueSeq",
        "    content: JointDisplacement",
        f"    num_parts: {len(JOINTS)}",
        f"    part_labels: [ {', '.join(JOINTS)} ]",
        "    frames:",
    ]
    for time, row in zip(at.tolist(), rows, strict=True):
        stamp = [f"{time:g}"] if times is not None else []
        # Rounding shows in accelerations, times the rate squared: seven places are 0.05 rad/s² at 500 Hz.
        lines.append(f"      - [ {', '.join(stamp + [f'{round(value, 7):.9g}' for value in row])} ]")
    (FOLDER / f"{name}.seq").write_text("\n".join(lines) + "\n")


def main() -> None:
    """Write all three."""
    FOLDER.mkdir(exist_ok=True)
    write("wave", "The arm rises, waves twice and returns.", 500, WAVE)
    write("nod", "Two nods of the wrist.", 100, NOD)
    what = "A stretch to either side; its frames carry times, and none is needed while the arm rests."
    write("stretch", what, 100, STRETCH, moving_times(STRETCH, 0.05))


if __name__ == "__main__":
    main()
