"""Turns a play request into what the stream process needs: passes, an approach, tolerances, shared tracks."""

from __future__ import annotations

import logging
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakValueDictionary

import numpy as np

from motiond.text import echoed, listed, nearest, rounded_down, shortened

from ...api import RequestError
from ...clock import unix_less_monotonic
from ...ipc.messages import OFF, Chain, Follow, Play
from ...joints import JointMapError, TwistError, TwistMap, joint_bounds
from ...planning import (
    NO_LONGER,
    ApproachError,
    BlendError,
    Extent,
    Pace,
    PlanError,
    PlaybackError,
    ToleranceError,
    at_rate,
    checked,
    clock_acceleration,
    clock_acceleration_of,
    conflict_of,
    extent_added,
    extent_of,
    farthest,
    join_tolerances,
    left_beside,
    longer_blend,
    overlap_of,
    plan_approach,
    plan_blend,
    plan_playback,
    plan_pose,
    plan_taking_over,
    refuse_out_of_reach,
    whole,
    whole_of,
)
from ...trajectory import FULL_RAMP, OnlineLimits, Route, Track, WayError, longest_stop
from .body_checks import WAY, BodyChecks, Stretch, others_of, place_of, stretches_of
from .follow_goal import FollowGoal
from .goal import MotionGoal
from .shared_tracks import SharedTracks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from motiond.formats import Interpolation, RobotModel
    from motiond.formats.arrays import Floats

    from ...api import GotoRequest, PlayRequest, StartFollowRequest
    from ...clock import ClockMonitor, ClockState
    from ...config.robot import RobotSettings
    from ...ipc.messages import Foreseen
    from ...joints import JointBounds, JointMap
    from ...planning import (
        Blend,
        Entry,
        GoalTolerances,
        Meanwhile,
        MotionLibrary,
        Overlap,
        Plan,
        Playback,
        SequencePlan,
    )
    from .goal import Goal


log = logging.getLogger(__name__)

IN_STEP_S = 0.02
"""So long a joint takes to its acceleration where a frame is moved, as twists come about as often."""
POSE_RATE_HZ = 200.0  # of ticks on the way to a posture
LONGEST_STOP = 4.0  # in units of stop_duration_s: of a way from what moves, which is planned as it begins
FARTHEST_S = 86_400.0
LONGEST_REASON = 3_500  # of an answer, in characters
MOST_WAYS = 50
LONGER = "choose a longer `blend_s` or none"
CLOCK_HINT = "let chrony keep its time, or raise max_clock_error_s"
HANDOVER_S = 0.01  # from a request to the first tick of its approach, at most, where all is well


@dataclass(frozen=True, slots=True)
class PreparedGoal:
    """A goal made ready to begin: the command, the descriptors that it brings, and what its answer says.

    - `needs_s`: how long it takes to its first row
    """

    command: Play | Follow
    fds: tuple[int, ...]
    answer: dict[str, Any]
    needs_s: float


class PlannedBlend(NamedTuple):
    """A blend, the way back between the passes of the motion that it leads to, and what to warn of."""

    blend: Blend
    back: Track
    warnings: list[str]


class WayOver(NamedTuple):
    """The way by which a goal takes over from what moves, as it was looked at.

    - `turned` (ndarray, shape (joints,)): what is added to the rows of the goal, in rad
    - `warnings`: of what was found
    """

    way: Track
    turned: Floats
    warnings: list[str]


class _Added(NamedTuple):
    """What is added to all else: by which goal, what it adds with the weight 1, and its weight."""

    goal_id: str
    motion: str
    extent: Extent
    weight: float


class GoalPlanner:
    """Makes one robot's goals, and owns the shared memory of its motions.

    Parameters
    ----------
    name : str
        The robot's, for messages.
    settings : RobotSettings
    library : MotionLibrary
        With the joints and their limits, which may become others.
    clock : ClockMonitor, optional
        Of the machine; without it no appointed time is refused for a bad clock.
    model : RobotModel, optional
        The robot's description, where it has one.

    Attributes
    ----------
    clock : ClockMonitor or None
    """

    def __init__(
        self,
        name: str,
        settings: RobotSettings,
        library: MotionLibrary,
        clock: ClockMonitor | None = None,
        model: RobotModel | None = None,
    ) -> None:
        self._name = name
        self._model = model
        self._settings = settings
        self._library = library
        self.clock = clock
        self._tracks = SharedTracks(name)
        self._at_rates: WeakValueDictionary[tuple[Plan, float], Plan] = WeakValueDictionary()
        self._added: _Added | None = None
        self._body = BodyChecks(library)
        self._slowed_ways: dict[tuple[Any, ...], Track] = {}
        self.warn: Callable[[str], None] = partial(log.warning, "%s: %s", name)

    @property
    def joint_map(self) -> JointMap:
        """The robot's joints, with the limits that hold now."""
        return self._library.joint_map

    @property
    def _bounds(self) -> JointBounds:
        return joint_bounds(self.joint_map, self._settings)

    def playback_for(self, request: PlayRequest, entry: Entry | None = None) -> Playback:
        """Return the playback of the motion that a request names; `entry` is one that is not in the library.

        Raises RequestError if there is none, or not at that speed, not in that way, or not at that time.
        """
        if request.start_at is not None:
            refuse_far(self._name, request.start_at - time.time())
        self._refuse_bad_clock(request)
        return self._laid_out(self.whole_motion(request.motion, entry), request)

    def playback_of(self, sequence: SequencePlan, request: PlayRequest) -> Playback:
        """Return the playback of a sequence, as often as a request asks for it; raises RequestError."""
        playback = replace(whole(sequence.plan, sequence.markers), begins=sequence.begins)
        return self._laid_out(playback, request)

    def at_rate(self, goal: MotionGoal, rate_hz: float) -> Playback:
        """Return the playback of a goal at another rate; takes as long as to plan its motion.

        Raises RequestError where that would break a limit.
        """
        own = goal.own.plan
        plan = self._at_rates.get((own, rate_hz))
        if plan is None:
            try:
                plan = at_rate(own, rate_hz, self.joint_map, self._settings)
                plan = checked(plan, self._library.checks, self.joint_map)
            except PlanError as error:
                raise RequestError.of("INVALID_MOTION", shortened(str(error), LONGEST_REASON)) from error
            self._at_rates[own, rate_hz] = plan
        return self._laid_out(whole_of(plan, goal.own), goal.request)

    def _laid_out(self, playback: Playback, request: PlayRequest) -> Playback:
        try:
            playback = plan_playback(
                playback,
                self.joint_map,
                first=request.first,
                last=request.last,
                count=0 if request.loop == "forever" else request.loop,
                ping_pong=request.ping_pong,
                seam=request.seam,
                tolerance=self._bounds.start_tolerance,
            )
        except PlaybackError as error:
            raise RequestError.of("INVALID_MOTION", error, error.data) from error
        refuse_speed(playback.track, request.speed)
        return playback

    def whole_motion(self, motion: str, entry: Entry | None = None) -> Playback:
        """Return a motion as it is planned, by default that of the library.

        Raises RequestError if there is none, or it cannot be played.
        """
        entry = entry or self._library.get(motion)
        if entry is None:
            raise RequestError(
                "UNKNOWN_MOTION", self._library.joint_map.robot, *self._library.unknown(motion)
            )
        if entry.is_unread:
            problem, hint = f"{motion} is being read and checked", "wait until the motions are published"
            raise RequestError("BUSY", self._name, problem, hint=hint)
        if entry.plan is None:
            raise RequestError.of("INVALID_MOTION", shortened(entry.reason, LONGEST_REASON))
        if not self._is_checked(entry.plan):
            problem = f"{motion} is being checked against the limits that the actuators have reported"
            raise RequestError("BUSY", self._name, problem, hint="wait until the motions are published")
        return whole(entry.plan, entry.markers)

    def _is_checked(self, plan: Plan) -> bool:
        """Whether a plan was checked against the limits that hold now."""
        return plan.limits is self.joint_map.limits

    def _refuse_unchecked(self, plan: Plan) -> None:
        """Refuse a goal that was planned before the robot's actuators reported other limits."""
        if not self._is_checked(plan):
            problem = "the robot's limits have changed since it was planned"
            reason = "its actuators reported others"
            raise RequestError("INVALID_MOTION", plan.motion, problem, reason, "play it again")

    def _refuse_bad_clock(self, request: PlayRequest) -> None:
        if request.start_at is not None and self.clock is not None:
            checked_clock(self._name, self.clock)

    def playback_to(self, request: GotoRequest, rate_hz: float = POSE_RATE_HZ) -> Playback:
        """Return the playback to the posture that a request names or lists; raises RequestError.

        `rate_hz`: of its ticks, which is that of what it is to play beside.
        """
        if (request.pose is None) == (request.joints is None):
            problem = "a posture is either a pose or joints"
            raise RequestError("INVALID_REQUEST", self._name, problem, hint="give one of the two")
        return self._playback_to(request.pose, request.joints, rate_hz)

    def playback_to_park(self) -> Playback:
        """Return the playback to the pose `park`; raises RequestError if the joints cannot go there."""
        return self._playback_to("park", None)

    def is_parked(self, reference: Sequence[float]) -> bool:
        """Whether setpoints are those of the pose `park`, on any turn; raises RequestError as above."""
        park, held = self.playback_to_park(), np.array(reference)
        pose = park.ends_at + self.joint_map.nearest(held, park.ends_at, park.plan.driven)
        return bool((pose == held)[park.plan.driven].all())

    def _playback_to(
        self, pose: str | None, joints: Mapping[str, float] | None, rate_hz: float = POSE_RATE_HZ
    ) -> Playback:
        poses = self._settings.poses
        if pose is not None and pose not in poses:
            known = f"there are {listed(poses)}" if poses else "there are no poses at all"
            problem = f"no pose '{echoed(pose)}'"
            raise RequestError("UNKNOWN_POSE", self._name, problem, known, nearest(pose, poses))
        positions = poses[pose] if pose is not None else joints or {}
        rate_hz = min(rate_hz, self._library.max_rate_hz)
        try:
            return whole(plan_pose(pose or "goto", positions, self.joint_map, self._settings, rate_hz))
        except (PlanError, JointMapError) as error:
            raise RequestError.of("INVALID_MOTION", error) from error

    def follow_goal(
        self, request: StartFollowRequest, joints: Sequence[str] | None, asked_by: str | None = None
    ) -> FollowGoal:
        """Return the goal of following targets of some joints, by default of all that follow no other.

        Raises RequestError for joints, a rate or a frame that cannot be.
        """
        joint_map, most_hz, where = self.joint_map, self._library.max_rate_hz, f"{self._name}/follow/start"
        free = dict.fromkeys(np.flatnonzero(joint_map.leaders == np.arange(len(joint_map.joints))).tolist())
        names = joints or [joint_map.joints[joint] for joint in free]
        if len(set(names)) < len(names):
            raise RequestError("INVALID_REQUEST", where, "'joints' names one twice", hint="leave one out")
        if unknown := [name for name in names if name not in joint_map.joints]:
            problem, known = f"no joint '{echoed(unknown[0])}'", f"it has {listed(joint_map.joints)}"
            hint = nearest(unknown[0], joint_map.joints)
            raise RequestError("INVALID_REQUEST", where, problem, known, hint)
        numbers = [joint_map.joints.index(name) for name in names]
        if mimics := [name for name, number in zip(names, numbers, strict=True) if number not in free]:
            problem, reason = f"joint '{mimics[0]}' has no targets", "it follows another joint"
            raise RequestError("INVALID_REQUEST", where, problem, reason, "name that instead")
        if request.rate_hz is not None and request.rate_hz > most_hz:
            problem, reason = f"rate_hz is {request.rate_hz:g}", f"the driver takes at most {most_hz:g}"
            raise RequestError("INVALID_REQUEST", where, problem, reason, "lower it")
        return FollowGoal(
            request=request,
            names=tuple(names),
            joints=tuple(numbers),
            setpoints_hz=request.rate_hz or min(POSE_RATE_HZ, most_hz),
            limits=self._follow_limits.of_leaders(
                numbers, joint_map.leaders, joint_map.multipliers, joint_map.offsets
            ),
            stop_s=self._longest_stop_s(),
            twist=self._twist_map(request, names),
            asked_by=asked_by,
            transaction=request.transaction,
        )

    def _twist_map(self, request: StartFollowRequest, names: Sequence[str]) -> TwistMap | None:
        if request.frame is None:
            return None
        try:
            return TwistMap(
                self._model,
                self.joint_map,
                request.frame,
                names,
                velocity=self._follow_limits.velocity,
                acceleration=self._twist_accelerations(),
                reference=request.reference,
                free=request.free,
            )
        except TwistError as error:
            raise RequestError.of("INVALID_REQUEST", error) from error

    @property
    def _follow_limits(self) -> OnlineLimits:
        """What all joints keep while they follow, as in the stream process (`FollowLimits`)."""
        bounds, limits = self._bounds, self.joint_map.limits
        known = limits.lower, limits.upper, limits.velocity, limits.acceleration
        approach = bounds.velocity, bounds.acceleration, bounds.jerk
        return OnlineLimits.of_known(known, approach, self._settings.stop_duration_s)

    def _twist_accelerations(self) -> Floats:
        """Return by how much velocities of twists change a second, shape (joints,).

        At most by what joints may accelerate, and reach within `IN_STEP_S` by their jerk: they come to their
        accelerations together then.
        """
        limits = self._follow_limits
        return np.minimum(limits.acceleration, IN_STEP_S * limits.jerk)

    def _longest_stop_s(self) -> float:
        """Return a bound of how long a soft stop takes from any state within the limits, in s.

        The acceleration first goes to 0, then down and back to it.
        """
        limits = self._follow_limits
        return float(np.max(limits.velocity / limits.acceleration + 2.0 * limits.acceleration / limits.jerk))

    @contextmanager
    def prepare(
        self, goal: Goal, start: Sequence[float], playing: Sequence[Goal] = ()
    ) -> Iterator[PreparedGoal]:
        """Make a goal ready to begin from the setpoints that the robot holds; descriptors stay this object's.

        - `playing`: what it begins beside

        Raises RequestError if there is no way from there, no time or memory for it, or a tolerance cannot be
        meant; also if the robot's limits have changed since the goal was planned.
        """
        match goal:
            case FollowGoal():
                yield self._prepared_follow(goal, start)
            case MotionGoal() if goal.is_additive:
                with self._prepared_addition(goal, start, playing) as prepared:
                    yield prepared
            case MotionGoal():
                with self._prepared_motion(goal, start, playing) as prepared:
                    yield prepared

    def _prepared_follow(self, goal: FollowGoal, start: Sequence[float]) -> PreparedGoal:
        request = goal.request
        command = Follow(
            goal_id=goal.goal_id,
            joints=[*goal.joints],
            mode="velocity" if request.mode == "twist" else request.mode,
            rate_hz=goal.setpoints_hz,
            timeout_s=request.timeout_s,
            path_tolerance=[OFF if value is None else value for value in self._bounds.path],
            start=[*start],
            catches_up=request.leader is not None,
            expires_at=goal.expires_at,
        )
        answer = {"joints": [*goal.names], "rate_hz": goal.setpoints_hz}
        return PreparedGoal(command, (), answer, needs_s=0.0)

    @contextmanager
    def _prepared_motion(
        self, goal: MotionGoal, start: Sequence[float], playing: Sequence[Goal]
    ) -> Iterator[PreparedGoal]:
        playback, request, held = goal.playback, goal.request, np.array(start)
        self._refuse_unchecked(playback.plan)
        tolerances = self._tolerances(request)
        turned = self.joint_map.nearest(held, playback.begins_at, playback.plan.driven)
        self._refuse_out_of_reach(playback, turned)
        goal.blended_rows, goal.holds, goal.turned = 0, list(start), turned
        self._warn_anew(goal)
        begins_at = playback.begins_at + turned
        approach, back = self._approach(goal, held, begins_at, held), self._way_back(goal, held)
        ramp = self.clock_acceleration(playback, goal.speed)
        goal.gentlest = min(goal.gentlest, ramp, approach.clock_acceleration, back.clock_acceleration)
        goal.ways, goal.blend, goal.back, goal.ramp = [approach], None, back, ramp
        self._refuse_beyond_sum(goal, goal.speed, held)
        self._refuse_by_body(goal, stretches_of(goal, [approach, back]), held, playing)
        command = _play_of(
            goal,
            start,
            tolerances,
            ramp,
            start_s=self._start_s(request, approach),
            expires_at=goal.expires_at,
            turned=_where_any(turned),
        )
        with self._lent(goal, approach, back) as (fds, motion):
            away = farthest(held, begins_at, playback.plan.driven, self.joint_map)
            answer = {"approach_s": len(approach.positions) / approach.rate_hz, "start_distance": away}
            yield PreparedGoal(command, (fds[0], motion, fds[1]), answer, _needs_s(approach))

    # -- checks of the robot's body -------------------------------------------------------------------------

    @property
    def looks_ahead(self) -> bool:
        """Whether there is anything for `look_ahead` to do."""
        return self._body.are_any

    def look_ahead(
        self,
        goal: MotionGoal,
        start: Sequence[float],
        playing: Sequence[Goal],
        row: int | None,
        stopped: Callable[[], bool],
    ) -> None:
        """Look at all that a goal would lead along, so that `prepare` or `way_to` (`row`) knows; in a thread.

        Parameters as of these. Once it is `stopped`, what is found does not matter any more.
        """
        held = np.array(start)
        with suppress(RequestError):  # which `prepare` raises
            if goal.is_additive:
                added = extent_added(
                    goal.playback, self._way_back(goal), speed=goal.speed, ramp_s=goal.request.ramp_s
                ).scaled(goal.request.weight)
                for stretches, meanwhile in self._body.sums(goal, added, held, playing):
                    self._body.look(stretches, replace(meanwhile, stopped=stopped))
                return
            meanwhile = replace(self._meanwhile(goal, held, playing), stopped=stopped)
            if row is not None:
                self._body.look([Stretch(self._way_to(goal, row, held)[0], WAY)], meanwhile)
                return
            turned = self.joint_map.nearest(held, goal.playback.begins_at, goal.playback.plan.driven)
            approach = self._approach(goal, held, goal.playback.begins_at + turned, held)
            self._body.look(stretches_of(goal, [approach, self._way_back(goal, held)]), meanwhile)

    def key_of(
        self, goal: MotionGoal, start: Sequence[float], playing: Sequence[Goal], row: int | None
    ) -> tuple[Any, ...]:
        """Return what `look_ahead` depends on, the same for each goal that leads along the same rows."""
        held = np.array(start)
        meanwhile = self._meanwhile(goal, held, playing)
        driven = goal.playback.plan.driven
        others = (
            meanwhile.held[~driven].tobytes(),
            meanwhile.spread.tobytes(),
            meanwhile.added.tobytes(),
            *(one.goal_id for one in playing),
        )
        playback, request = goal.playback, goal.request
        own = place_of(playback.track.track), playback.passes, row, playback.plan.rate_hz, goal.speed
        how = request.weight, request.ramp_s, goal.is_additive, goal.from_beyond, held[driven].tobytes()
        return (*own, *how, *others, id(self.joint_map))

    def _meanwhile(self, goal: MotionGoal, held: Floats, playing: Sequence[Goal]) -> Meanwhile:
        """Return what joints do that a goal does not drive, beside what plays and with what is added."""
        added = self._added and self._added.extent.scaled(self._added.weight)
        return self._body.meanwhile(others_of(goal, playing), held, added)

    def _refuse_by_body(
        self, goal: MotionGoal, stretches: Sequence[Stretch], held: Floats, playing: Sequence[Goal]
    ) -> None:
        """Refuse a goal for what checks of the robot's body find; raises RequestError."""
        if self._body.are_any:
            meanwhile = self._meanwhile(goal, held, playing)
            self.warn_of(goal, self._body.refuse(goal.motion, stretches, meanwhile))

    def _warn_anew(self, goal: MotionGoal) -> None:
        """Warn of what was found as a goal was planned, and of nothing that was found of it before."""
        goal.warnings = []
        self.warn_of(goal, goal.notes)

    def warn_of(self, goal: MotionGoal, warnings: Sequence[str]) -> None:
        """Warn of what was found of a goal, which its result says as well."""
        for warning in warnings:
            if warning not in goal.warnings:
                goal.warnings.append(warning)
            self.warn(warning)

    # -- what is added to others ----------------------------------------------------------------------------

    @contextmanager
    def _prepared_addition(
        self, goal: MotionGoal, start: Sequence[float], playing: Sequence[Goal]
    ) -> Iterator[PreparedGoal]:
        """Make a goal ready that is added to all that plays, or is held; from then on, that leaves it room.

        Raises RequestError with the weight that would do, where a limit would be broken.
        """
        playback, request, held = goal.playback, goal.request, np.array(start)
        self._refuse_unchecked(playback.plan)
        self._refuse_in_steps(playback.track.interpolation, goal.motion)
        if playback.advance.any():
            problem, reason = "it cannot be added", "each of its passes leads further"
            raise RequestError("INVALID_MOTION", goal.motion, problem, reason, "add one that comes back")
        back, ramp = self._way_back(goal), clock_acceleration_of(request.ramp_s)
        added = extent_added(playback, back, speed=goal.speed, ramp_s=request.ramp_s)
        base = Extent.held(held)
        for other in playing:
            if isinstance(other, MotionGoal):
                self._refuse_in_steps(other.playback.track.interpolation, other.motion)
                base = base.joined(_extent_of(other, other.fastest, held))
        if conflict := conflict_of(base, added, request.weight, self.joint_map):
            hint = f"a weight of {conflict.weight:.2g} would do" if conflict.weight else "no weight would do"
            problem, weight = "it cannot be added", conflict.weight
            raise RequestError("INVALID_MOTION", goal.motion, problem, conflict.what, hint, weight=weight)
        if self._body.are_any:
            for stretches, meanwhile in self._body.sums(goal, added.scaled(request.weight), held, playing):
                self.warn_of(goal, self._body.refuse(goal.motion, stretches, meanwhile))
        goal.gentlest = min(ramp, back.clock_acceleration)
        goal.ways, goal.back, goal.ramp = [], back, ramp
        command = _play_of(
            goal, start, self._tolerances(request), ramp, expires_at=goal.expires_at, turned=[]
        )
        joints = len(held)
        nothing = Track(np.empty((0, joints)), np.empty((0, joints)), back.driven, goal.rate_hz, ramp)
        with self._lent(goal, nothing, back) as (fds, motion):
            yield PreparedGoal(command, (fds[0], motion, fds[1]), {"approach_s": 0.0}, needs_s=0.0)
        self._added = _Added(goal.goal_id, goal.motion, added, request.weight)

    def _refuse_in_steps(self, interpolation: Interpolation, motion: str) -> None:
        if interpolation == "hold":
            problem, reason = "nothing is added where it plays", "it goes from row to row in steps"
            raise RequestError("INVALID_MOTION", motion, problem, reason, "set another interpolation")

    def _refuse_beyond_sum(self, goal: MotionGoal, speed: float, held: Floats) -> None:
        """Refuse a goal that would break a limit with what is added to it."""
        if (added := self._added) is None:
            return
        self._refuse_in_steps(goal.playback.track.interpolation, goal.motion)
        base = _extent_of(goal, speed, held)
        if conflict := conflict_of(base, added.extent, added.weight, self.joint_map):
            problem = f"{added.motion} is added to it"
            hint = f"stop {added.motion}"
            if conflict.weight:
                hint += f", or add it with a weight of {conflict.weight:.2g}"
            raise RequestError(
                "INVALID_MOTION", goal.motion, problem, conflict.what, hint, weight=conflict.weight
            )

    def forget_added(self, goal_id: str) -> None:
        """Mark that a goal adds nothing any more."""
        if self._added is not None and self._added.goal_id == goal_id:
            self._added = None

    @property
    def _left(self) -> JointMap:
        """The robot's joints, with the limits that what is added leaves to all else."""
        added = self._added
        if added is None:
            return self.joint_map
        return left_beside(added.extent.scaled(added.weight), self.joint_map)

    def _way_back(self, goal: MotionGoal, held: Floats | None = None) -> Track:
        """Return the way from the last row to the first one; empty where no pass follows another so.

        `held`: as of `_approach`.
        """
        playback, ends_at = goal.playback, goal.playback.ends_at
        next_begins_at = playback.begins_at + playback.advance if playback.returns else ends_at
        return self._approach(goal, ends_at, next_begins_at, held)

    @contextmanager
    def _lent(self, goal: MotionGoal, *tracks: Track) -> Iterator[tuple[list[int], int]]:
        """Yield the descriptors of tracks, and that of the motion's own."""
        playback = goal.playback
        is_lent = playback.passes.seamless or not self._is_in_library(playback.plan)
        own = [playback.track.track] if is_lent else []
        with self._tracks.lent(goal.motion, *tracks, *own) as fds:
            yield fds, fds[-1] if is_lent else self._tracks.fd(playback.plan)

    def blend_of(
        self, before: MotionGoal, goal: MotionGoal, held: Sequence[float], playing: Sequence[Goal] = ()
    ) -> PlannedBlend:
        """Plan how a goal flows into another, at its rate, and the speeds of both.

        `held` is where other joints hold, `playing` what plays as well. Where a check of the body asks for
        slower ways, the blend is as much longer as it has to be. Raises RequestError if it would break a
        limit, or does not fit.
        """
        goal.take_rate(before.rate_hz)
        for playback in (before.playback, goal.playback):
            self._refuse_unchecked(playback.plan)
        speed = max(before.speed, goal.speed)
        pace = Pace(speed, goal.speed, self.clock_acceleration(goal.playback, goal.speed))
        try:
            overlap = overlap_of(
                before.playback, goal.playback, np.array(held), self.joint_map, before.blended_rows
            )
            refuse_out_of_reach(goal.playback, before.turned_last + overlap.turned, self.joint_map)
            blend = plan_blend(overlap, goal.blend_s, self.joint_map, self._settings, pace)
        except (BlendError, PlaybackError) as error:
            raise RequestError.of("INVALID_MOTION", error, error.data) from error
        self._refuse_short_rest(goal, blend, speed)
        back, warnings = self._way_back(goal, np.array(held)), list[str]()
        if self._body.are_any:
            meanwhile, hint = self._meanwhile(goal, np.array(held), playing), LONGER
            if because := self._body.too_fast(_stretches_of(blend, speed), meanwhile):
                longer = self._longer(goal, overlap, blend, pace, meanwhile)
                if longer is not None:
                    by = f"from {blend.lasts_s:.3g} to {longer.lasts_s:.3g} s"
                    warnings.append(f"{goal.motion}: its blend is lengthened {by}: {because}")
                blend, hint = longer or blend, NO_LONGER
            if speed > 1.0:
                hint = f"lower `speed` from {speed:g}, {hint}"
            stretches = [*stretches_of(goal, [back]), *_stretches_of(blend, speed, hint)]
            warnings += self._body.refuse(goal.motion, stretches, meanwhile)
        return PlannedBlend(blend, back, warnings)

    def _longer(
        self, goal: MotionGoal, overlap: Overlap, blend: Blend, pace: Pace, meanwhile: Meanwhile
    ) -> Blend | None:
        """Return a longer blend that is slow enough for what the body bears; None where none is."""

        def allows(one: Blend) -> bool:
            fits = self._rows_to_rest(goal, one, pace.speed) is None
            return fits and self._body.allow(_stretches_of(one, pace.speed), meanwhile)

        return longer_blend(overlap, blend, self.joint_map, self._settings, pace, allows=allows)

    def _refuse_short_rest(self, goal: MotionGoal, blend: Blend, speed: float) -> None:
        """Refuse a blend behind which the motion could not come to rest where it has to."""
        if (needs := self._rows_to_rest(goal, blend, speed)) is not None:
            problem, reason = "it would have to slow down within the blend", f"{needs:.0f} rows are needed"
            raise RequestError("INVALID_MOTION", goal.motion, problem, reason, "leave blend_s out")

    def _rows_to_rest(self, goal: MotionGoal, blend: Blend, speed: float) -> float | None:
        """Return how many rows a motion needs behind a blend to come to rest, where it has less."""
        playback, rate_hz = goal.playback, blend.rate_hz
        leg = Route(blend.track, playback.track.track, blend.track, playback.passes).leg(0)
        ramp = min(blend.clock_acceleration, self.clock_acceleration(playback, speed))
        needs = speed * longest_stop(speed, ramp / rate_hz, self._settings.max_skip_s * rate_hz)
        return needs if leg.eases_out and leg.length - blend.steps < needs else None

    @property
    def foresees(self) -> bool:
        """Whether a way on which a goal takes over has to be looked at before (`look_over`)."""
        return self._body.refuse_unseen

    def look_over(self, goal: Goal, foreseen: Foreseen) -> WayOver:
        """Return the way by which a goal takes over where that was foreseen; in a thread.

        It is as slow as checks ask for. Raises RequestError if there is none, or for what they find of it.
        """
        if foreseen.reason:
            raise RequestError("INVALID_REQUEST", self._name, foreseen.reason)
        goal = self._taking_over(goal)
        playback, setpoints = goal.playback, np.array(foreseen.setpoints)
        turned = np.zeros(setpoints.shape[1])

        def way_at(speed: float) -> Track:
            way, turned[:] = plan_taking_over(
                setpoints,
                playback.begins_at,
                playback.plan.driven,
                self.joint_map,
                self._settings,
                period_s=foreseen.period_s,
                rate_hz=goal.rate_hz,
                speed=speed,
            )
            return way

        try:
            way = self._body.slowed(way_at, setpoints[-1]) if self._body.slow else way_at(1.0)
        except WayError as error:
            raise RequestError("INVALID_MOTION", goal.motion, str(error)) from error
        self._refuse_out_of_reach(playback, turned)
        held = way.positions[-1]
        stretches = stretches_of(goal, [way, self._way_back(goal, held)])
        warnings = self._body.refuse(goal.motion, stretches, self._meanwhile(goal, held, ()))
        return WayOver(way, turned, warnings)

    def _taking_over(self, goal: Goal) -> MotionGoal:
        if not isinstance(goal, MotionGoal) or goal.from_beyond:
            raise RequestError("INVALID_REQUEST", self._name, "it begins from rest")
        return goal

    @contextmanager
    def prepare_take_over(
        self, goal: Goal, over: WayOver | None = None
    ) -> Iterator[tuple[Play, tuple[int, ...]]]:
        """Make a goal ready to begin from what moves; descriptors stay this object's.

        - `over`: the way that was looked at; None where the stream process is to plan it as it begins

        Raises RequestError if there is no memory for it, it plays no rows, or a tolerance cannot be meant.
        """
        goal = self._taking_over(goal)
        playback = goal.playback
        self._refuse_unchecked(playback.plan)
        tolerances = self._tolerances(goal.request)
        back = self._way_back(goal, over.way.positions[-1] if over else None)
        ramp = self.clock_acceleration(playback, goal.speed)
        least = FULL_RAMP / self._settings.stop_duration_s / LONGEST_STOP
        goal.gentlest = min(goal.gentlest, ramp, back.clock_acceleration, least)
        goal.ways, goal.blend, goal.back, goal.ramp = [], None, back, ramp
        goal.blended_rows, goal.holds, goal.turned = 0, [], np.zeros(playback.begins_at.size)
        self._warn_anew(goal)
        way = replace(back, positions=back.positions[:0], velocities=back.velocities[:0])
        if over is not None:
            way, goal.ways, goal.turned = over.way, [over.way], over.turned
            self.warn_of(goal, over.warnings)
        turned = _where_any(goal.turned)
        play = _play_of(goal, [], tolerances, ramp, expires_at=goal.expires_at, turned=turned)
        with self._lent(goal, way, back) as (fds, motion):
            play = replace(play, takes_over=True, as_foreseen=over is not None)
            yield play, (fds[0], motion, fds[1])

    @contextmanager
    def prepare_chain(
        self, before: MotionGoal, goal: MotionGoal, playing: Sequence[Goal] = ()
    ) -> Iterator[tuple[Chain, tuple[int, ...]]]:
        """Make a goal ready to begin by what flows into it; descriptors stay this object's.

        - `playing`: what it begins beside

        Raises RequestError as `blend_of`, or if there is no memory for it.
        """
        if self._added is not None:
            problem, reason = "nothing flows into it", f"{self._added.motion} is added"
            raise RequestError("INVALID_MOTION", goal.motion, problem, reason)
        speed = max(before.speed, goal.speed)
        blend, back, warnings = self.blend_of(before, goal, before.holds, playing)
        tolerances = self._tolerances(goal.request)
        self._warn_anew(goal)
        self.warn_of(goal, warnings)
        ramp = self.clock_acceleration(goal.playback, goal.speed)
        for one in (before, goal):
            one.gentlest = min(one.gentlest, ramp, blend.clock_acceleration, back.clock_acceleration)
            one.fastest = max(one.fastest, speed)
        goal.ways, goal.blend, goal.back, goal.ramp = [], blend.track, back, ramp
        goal.blended_rows, goal.turned = blend.steps, before.turned_last + blend.turned
        goal.holds = (blend.positions[-1] + before.turned_last).tolist()
        play = _play_of(goal, goal.holds, tolerances, ramp, turned=_where_any(blend.turned))
        with self._lent(goal, blend.track, back) as (fds, motion):
            yield Chain(before=before.goal_id, speed_limit=speed, play=play), (fds[0], motion, fds[1])

    @contextmanager
    def way_to(
        self, goal: MotionGoal, row: int, start: Sequence[float], playing: Sequence[Goal] = ()
    ) -> Iterator[tuple[int, list[float]]]:
        """Yield the descriptor of an approach from where the robot holds to a row of its goal's track.

        With it, what is added to the rows from there on (`Seek.turned`). Raises RequestError if there is no
        way from there, or no memory for it.
        """
        way, turned = self._way_to(goal, row, np.array(start))
        self._refuse_by_body(goal, [Stretch(way, WAY)], np.array(start), playing)
        goal.turned = turned
        goal.gentlest = min(goal.gentlest, way.clock_acceleration)
        goal.ways.append(way)
        self._refuse_beyond_sum(goal, goal.speed, np.array(start))
        with self._tracks.lent(goal.motion, way) as (fd,):
            yield fd, _where_any(turned)

    def _way_to(self, goal: MotionGoal, row: int, start: Floats) -> tuple[Track, Floats]:
        track, driven = goal.playback.track, goal.playback.plan.driven
        turned = self.joint_map.nearest(start, track.positions[row], driven)
        self._refuse_out_of_reach(goal.playback, turned)
        return self._approach(goal, start, track.positions[row] + turned, start), turned

    def set_speed(self, goal: MotionGoal, speed: float) -> float:
        """Take a new speed of a goal; return how fast the clock may ramp to it and from it, in 1/s."""
        ramp = min(self.clock_acceleration(goal.playback, one) for one in (goal.speed, speed))
        goal.ramp = max(goal.ramp, ramp)
        self._refuse_beyond_sum(goal, max(goal.speed, speed), np.array(goal.holds))
        goal.speed, goal.fastest = speed, max(goal.fastest, speed)
        goal.looked_at_speed = max(goal.looked_at_speed, speed)
        goal.gentlest = min(goal.gentlest, ramp)
        return ramp

    def looks_at_speed(self, goal: MotionGoal, speed: float) -> bool:
        """Whether `refuse_speed` has anything to look at: joints that hold elsewhere than the plan knew."""
        is_faster = speed > goal.looked_at_speed
        return is_faster and self._body.depend_on_speed and not goal.playback.plan.driven.all()

    def refuse_speed(
        self, goal: MotionGoal, speed: float, held: Sequence[float], playing: Sequence[Goal]
    ) -> list[str]:
        """Refuse a speed for what checks of the robot's body find; return their warnings; in a thread.

        `held` is where other joints hold, `playing` what plays as well. Raises RequestError.
        """
        meanwhile = self._meanwhile(goal, np.array(held), playing)
        return self._body.refuse_speed(goal.motion, goal.playback.track.track, speed, meanwhile)

    def clock_acceleration(self, playback: Playback, speed: float) -> float:
        """Return how fast the clock may ramp at a speed, in 1/s; beyond 1 the path leaves less room."""
        track = playback.track
        if speed <= 1.0 and not playback.passes.seamless and self._added is None:
            return track.clock_acceleration
        rows, velocities, stop_s = track.positions, track.velocities, self._settings.stop_duration_s
        return clock_acceleration(rows, velocities, track.rate_hz, self._left, stop_s, speed=speed)[0]

    def _tolerances(self, request: PlayRequest) -> GoalTolerances:
        try:
            return join_tolerances(
                self.joint_map,
                self._bounds,
                path=request.path_tolerance,
                goal=request.goal_tolerance,
                goal_time_s=request.goal_time_tolerance or self._settings.tolerances.goal_time_s,
            )
        except ToleranceError as error:
            raise RequestError.of("INVALID_REQUEST", error) from error

    def _approach(self, goal: MotionGoal, start: Floats, target: Floats, held: Floats | None = None) -> Track:
        """Return the way of a goal's joints, no faster than checks of the body ask for.

        `held`: where the other joints are; None where it is not to be slower.
        """
        way_at = partial(self._way_at, goal, start, target)
        if held is None or not self._body.slow:
            return way_at(1.0)
        arrays = start, target, goal.playback.plan.driven, held, self._left.limits.acceleration
        rate_hz = goal.playback.plan.rate_hz
        key = rate_hz, goal.from_beyond, id(self.joint_map), *(one.tobytes() for one in arrays)
        way = self._slowed_ways.get(key)
        if way is None:
            way = self._body.slowed(way_at, held)
            if len(self._slowed_ways) >= MOST_WAYS:
                self._slowed_ways.clear()
            self._slowed_ways[key] = way
        return way

    def _way_at(self, goal: MotionGoal, start: Floats, target: Floats, speed: float) -> Track:
        plan, joint_map, settings = goal.playback.plan, self._left, self._settings
        rate_hz, beyond = plan.rate_hz, goal.from_beyond
        try:
            return plan_approach(
                start,
                target,
                plan.driven,
                joint_map,
                settings,
                rate_hz=rate_hz,
                from_beyond=beyond,
                speed=speed,
            )
        except ApproachError as error:
            raise RequestError("INVALID_MOTION", plan.motion, str(error), **error.data) from error

    def _refuse_out_of_reach(self, playback: Playback, turned: Floats) -> None:
        try:
            refuse_out_of_reach(playback, turned, self.joint_map)
        except PlaybackError as error:
            raise RequestError.of("INVALID_MOTION", error, error.data) from error

    def _start_s(self, request: PlayRequest, approach: Track) -> float | None:
        """Return the monotonic time of the first row; None where it is not appointed."""
        if request.start_at is None:
            return None
        self.refuse_virtual("start_at is", "leave it out")
        self._refuse_bad_clock(request)  # it may have become so while the goal waited for others
        start_s = request.start_at - unix_less_monotonic()
        refuse_too_late(request.motion, start_s - time.monotonic(), _needs_s(approach))
        return start_s

    def refuse_virtual(self, problem: str, hint: str) -> None:
        """Refuse what names a time of the real clock where the robot goes by another (INVALID_REQUEST)."""
        if self._settings.clock == "virtual":
            problem, reason = f"{problem} a time of the real clock", "the robot's clock is virtual"
            raise RequestError("INVALID_REQUEST", self._name, problem, reason, hint)

    def forget_dropped(self) -> None:
        """Free the shared memory of motions that the library no longer has, or has replaced."""
        self._tracks.keep_only(self._is_in_library)

    def _is_in_library(self, plan: Plan) -> bool:
        entry = self._library.get(plan.motion)
        return entry is not None and entry.plan is plan

    def close(self) -> None:
        """Free the shared memory."""
        self._tracks.close()


def _stretches_of(blend: Blend, speed: float, hint: str = "") -> list[Stretch]:
    """Return what is led along in a blend at up to a speed, and behind it while that may still be so."""
    parts = [(blend.track, WAY), *([(blend.behind, "behind its blend")] if blend.behind else [])]
    return [Stretch(track, where, speed=max(1.0, speed), hint=hint) for track, where in parts]


def _where_any(turned: Floats) -> list[float]:
    """Return what is added to rows as messages have it: empty for nothing."""
    return turned.tolist() if turned.any() else []


def _extent_of(goal: MotionGoal, speed: float, held: Floats) -> Extent:
    """Return what a goal reaches at no more than a speed; `held` is where other joints hold.

    A blend does not count, as nothing is added to it.
    """
    whole = extent_of(goal.playback.track.track, held, speed=max(1.0, speed), ramp=goal.ramp)
    for way in (*goal.ways, *([goal.back] if goal.back is not None else [])):
        whole = whole.joined(extent_of(way, held))
    turns = np.zeros_like(held) if goal.turned is None else goal.turned
    lower, upper = whole.lower + np.minimum(turns, 0.0), whole.upper + np.maximum(turns, 0.0)
    return replace(whole, lower=lower, upper=upper)


def _play_of(
    goal: MotionGoal,
    start: Sequence[float],
    tolerances: GoalTolerances,
    ramp: float,
    *,
    start_s: float | None = None,
    expires_at: float | None = None,
    turned: list[float],
) -> Play:
    playback = goal.playback
    return Play(
        goal_id=goal.goal_id,
        motion=goal.motion,
        speed=goal.speed,
        start=list(start),
        clock_acceleration=ramp,
        path_tolerance=tolerances.path,
        goal_tolerance=tolerances.goal,
        goal_time_s=tolerances.goal_time_s,
        passes=playback.passes,
        offset=playback.offset,
        markers=playback.marker_rows,
        start_s=start_s,
        from_beyond=goal.from_beyond,
        expires_at=expires_at,
        turned=turned,
        beside=goal.is_beside,
        weight=goal.request.weight if goal.is_additive else None,
        ramp_s=goal.request.ramp_s if goal.is_additive else 0.0,
    )


def _needs_s(approach: Track) -> float:
    """Return how long it takes from a request to the first row, in s."""
    return (len(approach.positions) + 1) / approach.rate_hz + HANDOVER_S


def checked_clock(where: str, clock: ClockMonitor) -> ClockState:
    """Return the state of a clock that is good enough for an appointed time; `where` is for the message.

    Raises RequestError: CLOCK, if the configuration sets a limit and the clock is not synchronised, or its
    estimated error is beyond the limit or unknown.
    """
    state, most_s = clock.state, clock.max_error_s
    if most_s is None:
        return state
    error_s = state.estimated_error_s
    if not state.synchronised:
        problem = "this machine's clock is not synchronised"
    elif error_s is None:
        problem = "nobody estimates the error of this machine's clock"
    elif error_s > most_s:
        problem = f"this machine's clock is off by about {error_s:.3g} s"
    else:
        return state
    reason = f"an appointed time wants it within {most_s:g} s (max_clock_error_s)"
    clock_now = state.payload()
    raise RequestError("CLOCK", where, problem, reason, CLOCK_HINT, clock=clock_now, max_clock_error_s=most_s)


def refuse_far(robot: str, in_s: float) -> None:
    """Refuse a first row so far ahead that a robot would be busy with nothing (INVALID_REQUEST)."""
    if in_s > FARTHEST_S:
        problem, reason = f"start_at is {in_s:.0f} s ahead", f"a robot waits no longer than {FARTHEST_S:g} s"
        raise RequestError("INVALID_REQUEST", robot, problem, reason, "send the request later")


def refuse_too_late(subject: str, in_s: float, needs_s: float) -> None:
    """Refuse a first row that the robot cannot be at in time (TOO_LATE)."""
    late_s, hint = needs_s - in_s, "set it later"
    if late_s > 0.0:
        problem = f"start_at is {late_s:.3f} s too early"
        reason = f"the robot needs {needs_s:.3f} s to the first row"
        raise RequestError("TOO_LATE", subject, problem, reason, hint, too_late_s=late_s, needs_s=needs_s)


def refuse_speed(plan: Plan, speed: float) -> None:
    """Refuse a speed beyond the plan's limits.

    Raises RequestError with the fastest speed and the joint that sets it.
    """
    if speed > plan.max_speed * (1 + 1e-9):
        who = f"joint '{plan.limiting_joint}' allows" if plan.limiting_joint else "motiond plays at most"
        raise RequestError(
            "INVALID_MOTION",
            plan.motion,
            f"speed {speed:g} is too fast",
            f"{who} {rounded_down(plan.max_speed)}",
            "lower the speed",
            max_speed=plan.max_speed,
            joint=plan.limiting_joint,
        )
