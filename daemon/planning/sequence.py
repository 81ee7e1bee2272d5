"""Several motions as one: with blends, ways between, pauses and repeats, planned as one track.

What follows a step begins where that ends. Where two ends differ, and no blend is asked for, there is a way
between them within the bounds of approaches. Rows of a motion at the sequence's rate, and at speed 1, are the
motion's, bit for bit.

    ValueError
    └── SequenceError    it cannot be played; one line for each problem
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from motiond.formats import Motion

from .approach import ApproachError, plan_approach
from .blend import NO_LONGER, BlendError, Overlap, longer_blend, plan_blend
from .checks import Meanwhile, checked, initial_of, slowed_way
from .library.markers import MOST_MARKERS, Marker
from .planner import MOST_ROWS, MOST_VALUES, plan, rows_at, sampled
from .playback import StepBegin
from .violations import PlanError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from motiond.formats.arrays import Booleans, Floats

    from ..config.robot import RobotSettings
    from ..joints import JointMap
    from .blend import Blend
    from .checks import PlanCheck, PlanFindings
    from .planner import Plan

NAME = "sequence"


class SequenceError(ValueError):
    """A sequence cannot be played; `str()` has a line for each problem, as `steps[2].motion: …`."""


@dataclass(frozen=True, slots=True)
class Step:
    """A motion in a sequence.

    - `blend_s`: by how much of its time it overlaps with what comes before it, its own repeats included; 0
      for none
    - `pause_s`: how long the robot rests after each time
    - `repeat`: how often it is played
    - `speed`: a factor
    """

    plan: Plan
    markers: Sequence[Marker]
    blend_s: float = 0.0
    pause_s: float = 0.0
    repeat: int = 1
    speed: float = 1.0


@dataclass(frozen=True, slots=True)
class SequencePlan:
    """A sequence, planned: one plan, its markers, and where its steps begin, ascending.

    - `warnings`: of blends that are longer and ways that are slower than was asked for
    """

    plan: Plan
    markers: tuple[Marker, ...]
    begins: tuple[StepBegin, ...]
    warnings: tuple[str, ...] = ()


def plan_sequence(
    steps: Sequence[Step],
    joint_map: JointMap,
    settings: RobotSettings,
    max_rate_hz: float,
    checks: Sequence[PlanCheck] = (),
) -> SequencePlan:
    """Plan steps as one motion, at the highest rate of theirs; takes as long as a motion of its length.

    `checks`: of the robot's body.

    Raises SequenceError with all problems of all steps.
    """
    assembly = _Assembly(steps, joint_map, settings, checks)
    assembly.assemble()
    rows, driven = np.concatenate(assembly.pieces), assembly.driven
    names = tuple(name for name, moves in zip(joint_map.joints, driven, strict=True) if moves)
    times = np.arange(len(rows)) / assembly.rate_hz
    motion = Motion(NAME, names, assembly.rate_hz, times, rows[:, driven])
    strict = settings.model_copy(update={"on_violation": "reject", "interpolate_recordings": False})
    try:
        planned = checked(plan(motion, joint_map, strict, max_rate_hz), checks, joint_map)
    except PlanError as error:
        raise SequenceError(assembly.placed(error)) from error
    return SequencePlan(planned, tuple(assembly.markers()), tuple(assembly.begins), tuple(assembly.warnings))


class _Assembly:
    """Rows of all joints, laid one after the other.

    - `pieces`: each of shape (rows, joints); the last is what the next may overlap with
    - `begins`: where each step begins
    - `warnings`: as of `SequencePlan`
    """

    def __init__(
        self,
        steps: Sequence[Step],
        joint_map: JointMap,
        settings: RobotSettings,
        checks: Sequence[PlanCheck] = (),
    ) -> None:
        self._steps, self._joint_map, self._settings = steps, joint_map, settings
        self._checks = [check for check in checks if check.slows]
        held = initial_of(joint_map)
        self._meanwhile = Meanwhile(held, np.zeros_like(held), np.zeros_like(held))
        self._lasting: dict[int, float] = {}  # how long blends are, by steps, that had to be longer
        self.warnings: list[str] = []
        self.rate_hz = max(step.plan.rate_hz for step in steps)
        self.driven: Booleans = np.logical_or.reduce([step.plan.driven for step in steps])
        self.pieces: list[Floats] = []
        self.begins: list[StepBegin] = []
        self._count = 0
        self._problems: list[str] = []

    def assemble(self) -> None:
        """Lay out all steps; raises SequenceError."""
        steps = self._steps
        self._refuse_long(sum(step.repeat * (self._rows_of(step) + self._pause(step)) for step in steps))
        cues = sum(step.repeat * (1 + len(step.markers)) for step in steps)
        if cues > MOST_MARKERS:
            reason, hint = f"{MOST_MARKERS} are allowed", "repeat steps less often"
            raise SequenceError(f"steps: {cues} markers, with one for each begin; {reason}; {hint}")
        if steps[0].blend_s and steps[0].repeat == 1:
            self._note("steps[0].blend_s: nothing comes before the first step; leave it out")
        for number, step in enumerate(steps):
            rows = sampled(step.plan, self._rows_of(step))
            for time in range(step.repeat):
                self._refuse_long(self._count)
                self._add(number, step, time, rows)
        if self._problems:
            raise SequenceError("\n".join(self._problems))

    def _refuse_long(self, rows: int) -> None:
        most = min(MOST_ROWS, MOST_VALUES // len(self._joint_map.joints))
        if rows > most:
            takes = f"it has {rows} rows at {self.rate_hz:g} Hz, and {most} are allowed"
            hint = "repeat the whole by `repeat`, or make it shorter"
            raise SequenceError(f"steps: the sequence is too long; {takes}; {hint}")

    def _scale(self, step: Step) -> float:
        """Return how many rows of the sequence one of the motion's is."""
        last = len(step.plan.positions) - 1
        return (self._rows_of(step) - 1) / last if last else 1.0

    def _rows_of(self, step: Step) -> int:
        return rows_at(step.plan, self.rate_hz, step.speed)

    def _pause(self, step: Step) -> int:
        return round(step.pause_s * self.rate_hz)

    def _add(self, number: int, step: Step, time: int, rows: Floats) -> None:
        """Add a motion, after what leads to it, and its pause."""
        if not self.pieces:
            rows = np.where(step.plan.driven, rows, self._first_posture())
            self._append(rows, StepBegin(0, number, time, step.plan.motion))
        else:
            held = self.pieces[-1][-1]
            driven = step.plan.driven
            turned = self._joint_map.nearest(held, rows[0], driven)
            rows = np.where(driven, rows + turned if turned.any() else rows, held)
            try:
                begin = (
                    self._blended(number, step, rows) if step.blend_s else self._led_to(number, step, rows)
                )
            except (BlendError, ApproachError) as error:
                key = "blend_s" if isinstance(error, BlendError) else "motion"
                reason = str(error).removeprefix(f"{step.plan.motion}: ")
                self._note(f"steps[{number}].{key}: {step.plan.motion}: {reason}")
                begin = self._count
                self._append(rows)
            self.begins.append(StepBegin(begin, number, time, step.plan.motion))
        if pause := self._pause(step):
            self._append(np.repeat(self.pieces[-1][-1:], pause, axis=0))

    def _note(self, problem: str) -> None:
        if problem not in self._problems:
            self._problems.append(problem)

    def _append(self, rows: Floats, begin: StepBegin | None = None) -> None:
        if begin is not None:
            self.begins.append(begin)
        self.pieces.append(rows)
        self._count += len(rows)

    def _first_posture(self) -> Floats:
        """Return for each joint the first row of the first step that drives it, shape (joints,)."""
        posture = np.zeros(len(self.driven))
        for step in reversed(self._steps):
            np.copyto(posture, step.plan.positions[0], where=step.plan.driven)
        return posture

    def _warn(self, warning: str) -> None:
        if warning not in self.warnings:
            self.warnings.append(warning)

    def _blended(self, number: int, step: Step, rows: Floats) -> int:
        """Let a motion overlap with what comes before it; return the row on which it begins."""
        before, planned = self.pieces[-1], step.plan
        overlap = Overlap(
            before,
            rows,
            self.driven,
            self.rate_hz,
            planned.motion,
            self._settings.interpolation,
            np.zeros_like(rows[0]),
        )
        blend_s = self._lasting.get(number, step.blend_s)
        blend = plan_blend(overlap, blend_s, self._joint_map, self._settings)
        blend = self._longer(number, overlap, blend)
        self.pieces[-1] = before[: -blend.steps - 1]
        self._count -= blend.steps + 1
        begin = self._count
        self._append(blend.positions)
        self._append(rows[blend.steps + 1 :])
        return begin

    def _longer(self, number: int, overlap: Overlap, blend: Blend) -> Blend:
        """Return a blend that is as long as it has to be for what checks find of it.

        Raises BlendError where none is.
        """

        def found_of(one: Blend) -> list[PlanFindings]:
            return [check.of_way(one.track, self._meanwhile, self._joint_map) for check in self._checks]

        def allows(one: Blend) -> bool:
            return not any(found.refusals or found.slower < 1.0 for found in found_of(one))

        because = next((found.because for found in found_of(blend) if found.slower < 1.0), "")
        if not because:
            return blend
        longer = longer_blend(overlap, blend, self._joint_map, self._settings, allows=allows)
        if longer is None:
            raise BlendError(f"{overlap.name}: {because}, or {NO_LONGER}")
        self._lasting[number] = longer.lasts_s
        by = f"from {blend.lasts_s:.3g} to {longer.lasts_s:.3g} s"
        self._warn(f"steps[{number}].blend_s: {overlap.name}: lengthened {by}: {because}")
        return longer

    def _led_to(self, number: int, step: Step, rows: Floats) -> int:
        """Go to a motion's first row where it differs from the last; return the row on which it begins."""
        ends, joint_map, settings = (self.pieces[-1][-1], rows[0]), self._joint_map, self._settings
        way_at = partial(plan_approach, *ends, self.driven, joint_map, settings, rate_hz=self.rate_hz)
        track, speed, because = slowed_way(
            lambda share: way_at(speed=share), self._checks, self._meanwhile, joint_map
        )
        if because:
            name = f"steps[{number}].motion: {step.plan.motion}"
            self._warn(f"{name}: the way to it is slowed to {speed:.3g} of its speed: {because}")
        way = track.positions
        if len(way):
            self._append(way[1:])
        begin = self._count - 1
        if len(rows) > 1:
            self._append(rows[1:])
        return begin

    def markers(self) -> list[Marker]:
        """Return a marker for each time that a step begins, and the motions' own, in the order of time."""
        found = []
        for begin in self.begins:
            step, name = self._steps[begin.step], f"steps[{begin.step}]"
            payload = {"step": begin.step, "motion": begin.motion, "time": begin.time + 1}
            found.append(Marker(name, begin.row / self.rate_hz, payload, float(begin.row)))
            rows_a_s = step.plan.rate_hz / step.plan.slowed_to * self._scale(step)
            for marker in step.markers:
                row = begin.row + marker.time_s * rows_a_s
                found.append(Marker(f"{name}.{marker.name}", row / self.rate_hz, marker.payload, row))
        return sorted(found, key=lambda marker: marker.time_s)

    def placed(self, error: PlanError) -> str:
        """Return what is beyond a limit, with the step in which it is."""
        if not error.violations:
            return str(error)
        lines = []
        for violation in error.violations:
            step = max(begin.step for begin in self.begins if begin.row <= violation.frame)
            lines.append(f"steps[{step}].motion: {replace(violation, speed_factor=None)}")
        return "\n".join(lines)
