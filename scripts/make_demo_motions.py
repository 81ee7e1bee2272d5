"""Write the motions in config/motions for the arms in config/robots.

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

FOLDER = Path(__file__).parent.parent / "config" / "motions"


@dataclass(frozen=True, slots=True)
class Arm:
    """Whose motions they are: its joints, where they start and end, and the folder of the files."""

    joints: tuple[str, ...]
    home: Pose
    folder: Path


@dataclass(frozen=True, slots=True)
class Leg:
    """A move to a pose, and how long the robot rests there."""

    pose: Pose
    duration_s: float
    rest_s: float = 0.0


HOME = (0.0, 1.2, 1.7, 0.6, 0.0, 0.0)
UP = (0.0, 1.4, 1.1, 0.9, 0.3, 0.0)
LEFT = (0.25, 1.4, 1.2, 0.9, 0.3, 0.25)
RIGHT = (-0.25, 1.4, 1.0, 0.9, 0.3, -0.25)
DOWN = (0.0, 1.2, 1.7, 0.2, 0.0, 0.0)
LONG = (0.5, 0.9, 0.7, 0.1, 0.6, 0.5)
WIDE = (-0.5, 0.9, 0.7, 0.1, -0.6, -0.5)

SIX_AXIS = Arm(("base", "shoulder", "elbow", "wrist1", "wrist2", "wrist3"), HOME, FOLDER)
WAVE = (Leg(UP, 1.2), Leg(LEFT, 0.8), Leg(RIGHT, 1.0), Leg(LEFT, 1.0), Leg(RIGHT, 1.0), Leg(HOME, 1.4))
NOD = (Leg(DOWN, 1.0), Leg(HOME, 1.0), Leg(DOWN, 1.0), Leg(HOME, 1.0))
STRETCH = (Leg(LONG, 2.5, rest_s=1.0), Leg(WIDE, 3.0, rest_s=1.0), Leg(HOME, 2.5))

SO101 = Arm(
    ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll", "gripper"),
    (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    FOLDER / "so101",
)
RAISED = (0.0, -0.2, -0.7, -0.4, 0.0, 0.3)
TO_RIGHT = (0.25, -0.2, -0.7, -0.4, 0.4, 0.3)
TO_LEFT = (-0.25, -0.2, -0.7, -0.4, -0.4, 0.3)
CLOSED = (0.0, -0.2, -0.7, -0.4, 0.0, -0.2)
GREET = (
    Leg(RAISED, 1.6),
    Leg(TO_RIGHT, 1.0),
    Leg(TO_LEFT, 1.3),
    Leg(TO_RIGHT, 1.3),
    Leg(RAISED, 1.0),
    Leg(CLOSED, 1.0),
    Leg(SO101.home, 1.8),
)


def positions_at(times: Floats, home: Pose, legs: tuple[Leg, ...]) -> Floats:
    """Return positions, shape (times, joints), of a motion that starts in `home` at 0 s."""
    positions = np.tile(np.array(home), (times.size, 1))
    start_s, pose = 0.0, np.array(home)
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
    arm: Arm, name: str, what: str, *, frame_rate: float, legs: tuple[Leg, ...], times: Floats | None = None
) -> None:
    """Write a motion, with frames at the given times or else at the frame rate."""
    at = np.arange(round(length_s(legs) * frame_rate) + 1) / frame_rate if times is None else times
    rows = positions_at(at, arm.home, legs).tolist()
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
        f"    num_parts: {len(arm.joints)}",
        f"    part_labels: [ {', '.join(arm.joints)} ]",
        "    frames:",
    ]
    for time, row in zip(at.tolist(), rows, strict=True):
        stamp = [f"{time:g}"] if times is not None else []
        # Rounding shows in accelerations, times the rate squared: seven places are 0.05 rad/s² at 500 Hz.
        lines.append(f"      - [ {', '.join(stamp + [f'{round(value, 7):.9g}' for value in row])} ]")
    (arm.folder / f"{name}.seq").write_text("\n".join(lines) + "\n")


def main() -> None:
    """Write all of them."""
    SO101.folder.mkdir(parents=True, exist_ok=True)
    write(SIX_AXIS, "wave", "The arm rises, waves twice and returns.", frame_rate=500, legs=WAVE)
    write(SIX_AXIS, "nod", "Two nods of the wrist.", frame_rate=100, legs=NOD)
    what = "A stretch to either side; its frames carry times, and none is needed while the arm rests."
    write(SIX_AXIS, "stretch", what, frame_rate=100, legs=STRETCH, times=moving_times(STRETCH, 0.05))
    write(
        SO101,
        "greet",
        "The arm rises, waves twice, closes its gripper and returns.",
        frame_rate=100,
        legs=GREET,
    )


if __name__ == "__main__":
    main()
