"""What checks of a robot's body say of goals that are about to begin: found out once, ahead, in a thread."""

from __future__ import annotations

from dataclasses import replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from motiond.text import shortened

from ...api import RequestError
from ...planning import Meanwhile, range_of, slowed_way
from ...trajectory import Track
from .goal import MotionGoal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from motiond.formats.arrays import Floats

    from ...planning import Extent, MotionLibrary, Plan, PlanFindings
    from .goal import Goal

WAY = "on the way"
LONGEST_REASON = 3_500  # of an answer, in characters
KEPT = 100


class Stretch(NamedTuple):
    """Rows that a goal is to go along.

    - `where`: which these are, for messages; '' where that is clear
    - `is_motion`: whether the library has looked at them already, as far as it could
    - `speed`: how fast they are played at most, as a factor of their rate
    - `hint`: what else helps where they are refused, for messages
    """

    track: Track
    where: str
    is_motion: bool = False
    speed: float = 1.0
    hint: str = ""


class BodyChecks:
    """Asks the checks of a library; what they have found is kept, as long as it may be asked again."""

    def __init__(self, library: MotionLibrary) -> None:
        self._library = library
        self._found: dict[tuple[Any, ...], tuple[Track | None, Meanwhile, list[PlanFindings]]] = {}
        self._slowed: dict[tuple[Any, ...], tuple[Track, str]] = {}
        self._ranges: WeakKeyDictionary[Plan, tuple[Floats, Floats]] = WeakKeyDictionary()

    @property
    def are_any(self) -> bool:
        """Whether there is anything to ask."""
        return bool(self._library.checks)

    @property
    def slow(self) -> bool:
        """Whether a way may have to be slower."""
        return any(check.slows for check in self._library.checks)

    @property
    def depend_on_speed(self) -> bool:
        """Whether what is found of rows may change with their speed."""
        return any(check.depends_on_speed for check in self._library.checks)

    @property
    def refuse_unseen(self) -> bool:
        """Whether nothing may move on a way that was not looked at."""
        return any(check.refuses_unseen for check in self._library.checks)

    def look(self, stretches: Sequence[Stretch], meanwhile: Meanwhile) -> list[tuple[Stretch, PlanFindings]]:
        """Return what is found of stretches, which takes as long as it takes the first time."""
        return [
            (stretch, found)
            for stretch in stretches
            if self.are_any and len(stretch.track.positions)
            for found in self._findings(stretch, meanwhile)
        ]

    def refuse(self, motion: str, stretches: Sequence[Stretch], meanwhile: Meanwhile) -> list[str]:
        """Refuse a motion because of what is found of stretches; return the warnings.

        Raises RequestError with all that is against them.
        """
        problems, data = [], dict[str, Any]()
        slowed = ((one, self._slowed.get(place_of(one.track))) for one in stretches)
        warnings = [_said(motion, one, known[1]) for one, known in slowed if known is not None]
        for stretch, found in self.look(stretches, meanwhile):
            refusals = [*found.refusals, *([found.because] if found.slower < 1.0 else [])]
            hint = f", or {stretch.hint}" if stretch.hint else ""
            problems += [_said(motion, stretch, refusal) + hint for refusal in refusals]
            warnings += [_said(motion, stretch, warning) for warning in found.warnings]
            if refusals and found.about is not None:
                data.setdefault("nearest", found.about)
        if problems:
            raise RequestError.of("INVALID_MOTION", shortened("\n".join(problems), LONGEST_REASON), data)
        return warnings

    def too_fast(self, stretches: Sequence[Stretch], meanwhile: Meanwhile) -> str:
        """Return why stretches would have to be slower, where that would help; '' otherwise."""
        return next((one.because for _, one in self.look(stretches, meanwhile) if one.slower < 1.0), "")

    def allow(self, stretches: Sequence[Stretch], meanwhile: Meanwhile) -> bool:
        """Whether nothing is found against stretches."""
        return not any(one.refusals or one.slower < 1.0 for _, one in self.look(stretches, meanwhile))

    def refuse_speed(self, motion: str, track: Track, speed: float, meanwhile: Meanwhile) -> list[str]:
        """Refuse to play a motion's rows faster because of what is found of that; return the warnings.

        Raises RequestError with all that is against it.
        """
        library, at_speed = self._library, replace(meanwhile, speed=speed)
        checks = [one for one in library.checks if one.depends_on_speed]
        found = [one.of_held(track, at_speed, library.joint_map) for one in checks]
        stretch = Stretch(track, f"at speed {speed:g}")
        if problems := [_said(motion, stretch, refusal) for one in found for refusal in one.refusals]:
            raise RequestError.of("INVALID_MOTION", shortened("\n".join(problems), LONGEST_REASON), {})
        return [_said(motion, stretch, warning) for one in found for warning in one.warnings]

    def slowed(self, way_at: Callable[[float], Track], held: Floats) -> Track:
        """Return a way as slow as it has to be, of which `refuse` warns where it is slowed.

        `way_at`: plans it at a share of its speed. `held`: where joints are that it does not drive.
        """
        library, none = self._library, np.zeros_like(held)
        meanwhile = Meanwhile(held, none, none)
        way, speed, because = slowed_way(way_at, library.checks, meanwhile, library.joint_map)
        if because:
            if len(self._slowed) >= KEPT:
                self._slowed.clear()
            self._slowed[place_of(way)] = way, f"slowed to {speed:.3g} of its speed: {because}"
        return way

    def _findings(self, stretch: Stretch, meanwhile: Meanwhile) -> list[PlanFindings]:
        meanwhile = replace(meanwhile, speed=stretch.speed)
        key = _key_of(stretch, meanwhile, self._library.joint_map)
        known = self._found.get(key)
        if known is not None:
            return known[-1]
        ask = "of_held" if stretch.is_motion else "of_way"
        library = self._library
        found = [getattr(one, ask)(stretch.track, meanwhile, library.joint_map) for one in library.checks]
        if not meanwhile.stopped():
            if len(self._found) >= KEPT:
                self._found.clear()
            # Rows that are known by their place must not leave it to others; ways are known by what they are.
            self._found[key] = stretch.track if stretch.is_motion else None, meanwhile, found
        return found

    def meanwhile(self, others: Sequence[MotionGoal], held: Floats, added: Extent | None) -> Meanwhile:
        """Return what other joints do while a goal plays: in the middle of where other goals take them.

        `added`: what is added to all of them.
        """
        held, spread = held.copy(), np.zeros_like(held)
        for goal in others:
            lower, upper = self._range_of(goal)
            driven = goal.plan.driven
            held[driven], spread[driven] = ((lower + upper) / 2)[driven], ((upper - lower) / 2)[driven]
        reach = np.zeros_like(held) if added is None else np.maximum(-added.lower, added.upper)
        return Meanwhile(held, spread, reach, tuple(_tracks_of(others[0])) if len(others) == 1 else ())

    def sums(
        self, goal: MotionGoal, added: Extent, held: Floats, playing: Sequence[Goal]
    ) -> Iterator[tuple[list[Stretch], Meanwhile]]:
        """Yield what a goal is to be added to: what is held, and what each goal leads along that plays."""
        others = [one for one in playing if isinstance(one, MotionGoal) and not one.is_additive]
        if not others:
            none = np.zeros(held.size, dtype=bool)
            still = Track(held[None], np.zeros((1, held.size)), none, goal.rate_hz, 1.0)
            yield [Stretch(still, "where the robot holds", is_motion=True)], self.meanwhile((), held, added)
        for other in others:
            stretches = [
                one._replace(where=f"added to {other.motion}") for one in stretches_of(other, other.all_ways)
            ]
            yield stretches, self.meanwhile([one for one in others if one is not other], held, added)

    def _range_of(self, goal: MotionGoal) -> tuple[Floats, Floats]:
        """Return the lowest and the highest positions on all the rows of a goal, and between these."""
        plan = goal.playback.track
        if plan not in self._ranges:
            self._ranges[plan] = range_of(plan.track)
        ranges = [self._ranges[plan], *map(range_of, _tracks_of(goal)[1:])]
        lower, upper = zip(*ranges, strict=True)
        return np.min(lower, axis=0), np.max(upper, axis=0)


def _said(motion: str, stretch: Stretch, text: object) -> str:
    return f"{motion}: {stretch.where}, {text}" if stretch.where else f"{motion}: {text}"


def _key_of(stretch: Stretch, meanwhile: Meanwhile, joint_map: object) -> tuple[Any, ...]:
    """Return what findings depend on; of a motion's rows, which are kept with it, only which they are."""
    track = stretch.track
    rows: object = place_of(track)
    if not stretch.is_motion:
        digest = blake2b(track.positions[:, track.driven].tobytes(), digest_size=16)
        digest.update(track.velocities[:, track.driven].tobytes())
        rows = digest.digest()
    held = np.where(track.driven, 0.0, meanwhile.held)
    arrays = track.driven, held, meanwhile.spread, meanwhile.added
    parts = (id(part.positions) for part in meanwhile.parts)
    others = (*(one.tobytes() for one in arrays), *parts, id(joint_map))
    return rows, stretch.is_motion, track.rate_hz, track.interpolation, meanwhile.speed, *others


def place_of(track: Track) -> tuple[Any, ...]:
    """Return by what the rows of a track are known: where they are in memory, as long as they are kept.

    A posture is known by itself, as each request to go there makes its own.
    """
    rows = track.positions
    if len(rows) <= 1:
        return rows.shape, track.driven.tobytes(), rows.tobytes()
    return rows.__array_interface__["data"][0], rows.shape, rows.strides


def stretches_of(goal: MotionGoal, ways: Sequence[Track]) -> list[Stretch]:
    """Return what a goal leads along: ways to its first row, or back there, and its own rows."""
    track = goal.playback.track.track
    own = Stretch(track, "", is_motion=True, speed=max(1.0, goal.speed))
    stretches = [own, *(Stretch(way, WAY) for way in ways)]
    if goal.playback.passes.seamless:  # its last row may be another than the motion's
        seam = replace(track, positions=track.positions[-2:], velocities=track.velocities[-2:])
        stretches.append(Stretch(seam, "from its end to its beginning"))
    return stretches


def others_of(goal: MotionGoal, playing: Sequence[Goal]) -> list[MotionGoal]:
    """Return what plays beside a goal, on joints of its own."""
    own = goal.playback.plan.driven
    return [
        other
        for other in playing
        if isinstance(other, MotionGoal) and not other.is_additive and not (other.plan.driven & own).any()
    ]


def _tracks_of(goal: MotionGoal) -> list[Track]:
    return [track for track in (goal.playback.track.track, *goal.all_ways) if len(track.positions)]
