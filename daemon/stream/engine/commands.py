"""What the daemon's commands do in the stream process: each is obeyed, or refused with a notice."""

from __future__ import annotations

import math
import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from motiond.drivers import DriverError

from ...ipc import messages
from ...ipc.states import ACTIVE, TAKEN_OVER, ResultCode, State
from ...trajectory import Route, WayError, map_shared
from .displacement import joined
from .execution import Chained, Execution, Tolerances
from .player import TOO_LATE

if TYPE_CHECKING:
    from collections.abc import Callable

    from motiond.drivers import Driver
    from motiond.formats.arrays import Floats

    from ...trajectory import Track
    from ..timing import Schedule
    from .actuators import Actuators
    from .following import Following
    from .layers import Layers
    from .player import Foreseen, Player
    from .teaching import Teaching
    from .watch import Watch

    Command: TypeAlias = messages.Command | messages.Notice


BESIDE = (ACTIVE | {State.IDLE}) - {State.TEACHING, State.FOLLOWING}
"""States of the base in which goals play beside it."""


def error_of(call: Callable[[], None]) -> str:
    """Return what a driver's call raises, which is an answer and not the process's end; '' if nothing."""
    try:
        call()
    except Exception as error:  # noqa: BLE001 - whatever a driver raises
        return str(error) or type(error).__name__
    return ""


def recover(driver: Driver, command: messages.Recover) -> messages.Recovered:
    """Let errors of actuators go, and return what became of it."""
    act = driver.reboot if command.by == "reboot" else driver.clear
    return messages.Recovered(command.actuators, command.by, error_of(lambda: act(command.actuators)))


class CommandHandler:
    """Obeys the commands to one robot, between two ticks."""

    def __init__(
        self,
        *,
        layers: Layers,
        teaching: Teaching,
        following: Following,
        actuators: Actuators,
        watch: Watch,
        schedule: Schedule,
        report: Callable[[messages.Notice], None],
        refused: list[messages.Ended],
    ) -> None:
        self._layers, self._teaching, self._actuators = layers, teaching, actuators
        self._player = layers.base
        self._following = following
        self._watch, self._schedule = watch, schedule
        self._report, self._refused = report, refused
        self.shutting_down = False
        self._foreseen: tuple[str, Foreseen] | None = None
        self._taking_over: _TakingOver | None = None
        self._acts: dict[type, Callable[[], None]] = {
            messages.Heartbeat: lambda: None,
            messages.Disable: self._disable,
            messages.Estop: layers.estop,
            messages.Reset: self._reset,
            messages.Shutdown: lambda: self.shut_down("the daemon shuts down"),
        }

    def shut_down(self, message: str) -> None:
        """Stop softly, and take no play any more."""
        self.shutting_down = True
        self._layers.stop(ResultCode.CANCELED, message)

    def obey(self, command: Command, fds: list[int]) -> None:
        """Do what a command asks for, and close its descriptors.

        Raises DriverError if the driver fails at it.
        """
        self._drop_taking_over(command)
        try:
            match command:
                case messages.Play():
                    (self._hand_over if command.takes_over else self._play)(command, fds)
                case messages.Chain():
                    self._chain(command, fds)
                case messages.Speed():
                    self._set_speed(command)
                case messages.Enable():
                    self._enable(command)
                case messages.Resume():
                    self._resume(command)
                case messages.Seek():
                    self._seek(command, *fds)
                case messages.Teach():
                    self._teach(command)
                case messages.Stop():
                    code, goal_id = ResultCode(command.code), command.goal_id
                    self._layers.stop(code, command.message, command.details, goal_id)
                case _:
                    self._obey_other(command)
        finally:
            for fd in fds:
                os.close(fd)

    def _obey_other(self, command: Command) -> None:
        """Obey what moves nothing by itself, or needs nothing beside its type."""
        match command:
            case messages.Recover():
                self._recover(command)
            case messages.Inject():
                self._inject(command.fault)
            case messages.Follow():
                self._follow(command)
            case messages.Foresee():
                self._foresee(command)
            case messages.Target() | messages.Chunk() | messages.FollowStop():
                self._following.take(command)
            case messages.Pause():
                self._pause(command)
            case messages.Unchain():
                self._player.unchain(command.goal_id)
            case _:
                self._acts[type(command)]()

    def _inject(self, fault: dict[str, Any]) -> None:
        try:
            self._actuators.driver.inject(fault)
        except DriverError as error:
            self._report(messages.Happened("fault_refused", str(error)))

    def _recover(self, command: messages.Recover) -> None:
        """Let errors of actuators go, of a robot that is at rest and does not hold, or is in fault."""
        player = self._player
        if player.state is State.FAULT or (player.state is State.IDLE and not player.torque):
            done = recover(self._actuators.driver, command)
            if player.state is State.FAULT and not done.error:  # who is not, learns it in the next tick
                done = replace(done, still=error_of(self._actuators.read))
            self._report(done)
            return
        problem = f"the robot is {player.state} with torque {'on' if player.torque else 'off'}"
        self._report(messages.Recovered(command.actuators, command.by, problem))

    # -- torque ---------------------------------------------------------------------------------------------

    def _enable(self, enable: messages.Enable) -> None:
        """Take hold where the joints are; nothing changes where torque is on or the robot is halted."""
        if self._player.state is State.IDLE and not self._player.torque and not _expired(enable.expires_at):
            self._take_hold()

    def _disable(self) -> None:
        if self._player.state is State.IDLE and not self._layers.any:
            self._actuators.driver.disable()
            self._player.release()

    def _reset(self) -> None:
        """Hold where the robot was halted if torque was on; leave alone what holds as it was left."""
        if self._player.state is not State.ESTOPPED:
            return
        held = self._player.torque
        self._player.reset()
        if held:
            self._take_hold()
        elif not self._actuators.any_holds:
            self._actuators.driver.disable()

    def _take_hold(self) -> None:
        self._actuators.take_hold(self._watch.checks, self._schedule.clock.now())
        self._player.hold(self._actuators.measured)
        self._watch.start_holding()

    def _teach(self, teach: messages.Teach) -> None:
        late = _expired(teach.expires_at)
        if late or self.shutting_down:
            self._teaching.refuse(f"it {late}" if late else "the robot shuts down")
        elif self._layers.any:
            self._teaching.refuse(f"the robot is {self._layers.state}; it cannot be taught now")
        else:
            self._teaching.begin(teach.mode)

    def _follow(self, follow: messages.Follow) -> None:
        late = _expired(follow.expires_at)
        if late or self.shutting_down:
            refusal = f"it {late}" if late else "the robot shuts down; it cannot follow now"
        elif self._layers.any:
            refusal = f"the robot is {self._layers.state}; it cannot follow now"
        else:
            refusal = self._following.begin(follow)
        if refusal:
            self._refused.append(messages.Ended(follow.goal_id, ResultCode.INVALID_GOAL, refusal, 0.0))

    # -- motion ---------------------------------------------------------------------------------------------

    def _pause(self, pause: messages.Pause) -> None:
        if (player := self._layers.player_of(pause.goal_id)) is not None:
            player.pause()

    def _resume(self, resume: messages.Resume) -> None:
        player = self._layers.player_of(resume.goal_id)
        if late := _expired(resume.expires_at):
            self._report(messages.Happened("warning", f"not resumed; it {late}"))
        elif player is self._player:
            self._resume_base(player)
        elif player is not None and not self._stop_moved(player):
            player.resume()

    def _stop_moved(self, player: Player) -> bool:
        """Stop a goal that is paused beside others if its joints were moved; return whether they were.

        The way back would have to be planned with all that plays.
        """
        layers = self._layers
        if player.state is not State.PAUSED or (layers.addition and player is layers.addition.player):
            return False
        found = self._watch.moved(layers.joints_of(player))
        if found is not None:
            refusal = f"{_moved(found)}; beside others it does not go back; look for what moved it"
            player.stop(ResultCode.PATH_TOLERANCE_VIOLATED, refusal, found)
        return found is not None

    def _resume_base(self, player: Player) -> None:
        if player.slowing and not self._layers.any:  # in full motion, the checks must not forget
            self._watch.start_motion()
        if player.state is not State.PAUSED or player.execution is None:
            player.resume()
            return
        back, refusal = self._plan_back(player.held, player.execution.rate_hz)
        if refusal:
            player.stop(ResultCode.PATH_TOLERANCE_VIOLATED, refusal)
        elif back is None:
            player.resume()
        else:
            player.resume(back.track, back.turned)
            self._go_back(back)

    def _plan_back(self, target: Floats, rate_hz: float) -> tuple[_Back | None, str]:
        """Plan the way back of joints that were moved while they were held; or return why there is none."""
        start = self._watch.displaced()
        if start is None:
            return None, ""
        turned = self._watch.ways.nearest(start, target)
        if refusal := self._watch.ways.refusal(start, target + turned):
            found = self._watch.ways.describe(start, self._player.position)
            return None, f"{_moved(found)}; {refusal}"
        return self._plan_way(start, target, turned, rate_hz)

    def _plan_from_beyond(self, approach: Track, motion: Track) -> tuple[_Back | None, str]:
        """Plan the way of joints that were moved from where it begins straight to its end, and as slowly."""
        start = self._watch.displaced()
        if start is None:
            return None, ""
        ends_at = approach.positions[-1] if approach.last >= 0 else self._player.position
        target = np.where(motion.driven, ends_at, start)
        turned = self._watch.ways.nearest(start, target)
        return self._plan_way(start, target, turned, motion.rate_hz, from_beyond=True)

    def _plan_way(
        self, start: Floats, target: Floats, turned: Floats, rate_hz: float, *, from_beyond: bool = False
    ) -> tuple[_Back | None, str]:
        ways = self._watch.ways
        found = ways.describe(start, self._player.position)
        try:
            track = ways.plan(start, target + turned, rate_hz, from_beyond=from_beyond)
            track = replace(track, driven=~self._layers.driven) if self._layers.any else track
        except WayError as error:
            what = f"{_moved(found)}; there is no way back; {error}"
            return None, f"{what}; move it back by hand, or switch torque off and on"
        return _Back(start, found, track, turned if turned.any() else None), ""

    def _go_back(self, back: _Back | None, follows: str = "it goes back at approach speed first") -> None:
        """Begin the way back where the joints are, and report it."""
        if back is not None:
            self._player.displace(back.start, back.found)
            message = f"{_moved(back.found)}; {follows}; look for what moved it"
            self._report(messages.Happened("displaced", message, back.found))

    def _play(self, play: messages.Play, fds: list[int]) -> None:
        approach, motion, return_track = (map_shared(fd) for fd in fds)
        turned = _total(play.turned, None)
        period_s, layers = 1.0 / motion.rate_hz, self._layers
        refusal = self._refusal(play, motion)
        if refusal is None and not layers.active:
            refusal = self._actuators.set_period(period_s)
        back, not_before, follows = None, 0, "it goes back at approach speed first"
        if refusal is None and play.from_beyond:
            follows = "it goes on slowly from where it is"
            back, refusal = self._plan_from_beyond(approach, motion)
            if back:
                approach, turned = back.track, _total(play.turned, back.turned)
        elif refusal is None and not play.beside:
            back, refusal = self._plan_back(self._player.position, motion.rate_hz)
            if back:
                approach, turned = back.before(approach), _total(play.turned, back.turned)
        if not refusal and play.start_s is not None:
            # The tick in which the play is taken is its first, and number 0 of the grid.
            not_before = 1 + self._schedule.start_grid_for(period_s, play.start_s)
            refusal = _too_late(not_before, approach.last + 2, period_s)
        if refusal:
            self._refused.append(messages.Ended(play.goal_id, ResultCode.INVALID_GOAL, refusal, 0.0))
            return
        if play.start_s is None and not layers.active:
            self._schedule.start_grid(period_s)
        route = Route(approach, motion, return_track, play.passes)
        self._begin(_execution_of(play, route, not_before, turned), play)
        self._go_back(back, follows)

    def _foresee(self, foresee: messages.Foresee) -> None:
        """Report where the robot will be, or why that is not known."""
        goal_id, period_s = foresee.goal_id, self._schedule.period_s
        refusal, foreseen = self._refuse_taking_over(), None
        if not refusal:
            foreseen = self._player.foresee(max(3, math.ceil(foresee.in_s / period_s)))
            refusal = "" if foreseen else f"it goes another way within {foresee.in_s:g} s"
        self._foreseen = (goal_id, foreseen) if foreseen else None
        setpoints = foreseen.rows.tolist() if foreseen else []
        self._report(messages.Foreseen(goal_id, setpoints, period_s, refusal))

    def _hand_over(self, play: messages.Play, fds: list[int]) -> None:
        """Begin a motion from what moves, now or where that was foreseen, or report why that cannot be."""
        approach, motion, return_track = (map_shared(fd) for fd in fds)
        if not play.as_foreseen:
            self._note_unblended(play, self._take_over(play, motion, return_track))
            return
        goal_id, foreseen = self._foreseen or ("", None)
        if foreseen is None or goal_id != play.goal_id:
            self._note_unblended(play, "where it was to begin is not foreseen any more")
            return
        self._taking_over = _TakingOver(play, foreseen, approach, motion, return_track)

    @property
    def is_taking_over(self) -> bool:
        """Whether the last command waits for where it was foreseen that its motion takes over."""
        return self._taking_over is not None

    def take_over_as_foreseen(self) -> None:
        """Begin the motion that is to take over, in the tick in which what moves is where that was foreseen.

        Raises DriverError if the driver fails at it.
        """
        taking_over = self._taking_over
        if taking_over is None or self._player.awaits(taking_over.foreseen):
            return
        play, foreseen, approach, motion, return_track = taking_over
        self._taking_over = None
        reason = self._refuse_taking_over(play) or self._player.why_not_at(foreseen)
        if not reason:
            turned = _total(play.turned, None)
            reason = self._begin_over(play, Route(approach, motion, return_track, play.passes), turned)
        self._note_unblended(play, reason)

    def _drop_taking_over(self, command: Command) -> None:
        """Drop what waits to take over, as a command comes before."""
        if self._taking_over is not None and not isinstance(command, messages.Heartbeat):
            self._note_unblended(self._taking_over.play, "something else was asked for meanwhile")
            self._taking_over = None

    def _note_unblended(self, play: messages.Play, reason: str) -> None:
        """Note why nothing flows into a goal; '' where it does."""
        if reason:
            self._player.unblended.append((play.goal_id, reason))

    def _take_over(self, play: messages.Play, motion: Track, return_track: Track) -> str:
        """Begin a motion from what moves; return why that cannot be, '' where it has begun."""
        player, schedule = self._player, self._schedule
        if refusal := self._refuse_taking_over(play):
            return refusal
        if (moves := player.moves(schedule.period_s)) is None:
            return "it has just begun to move in another way"
        first_s = max(0.0, schedule.deadline_s - schedule.ticked_s)
        begins_at = motion.positions[play.passes.first]
        try:
            way, turned = self._watch.ways.hand_over(
                moves, begins_at, motion.driven, first_s=first_s, rate_hz=motion.rate_hz
            )
        except WayError as error:
            return str(error)
        route = Route(way, motion, return_track, play.passes)
        return self._begin_over(play, route, turned if turned.any() else None)

    def _begin_over(self, play: messages.Play, route: Route, turned: Floats | None) -> str:
        """Begin a route, whose approach goes on from how the robot moves; return why not, or ''."""
        period_s = 1.0 / route.motion.rate_hz
        if (too_slow := self._actuators.set_period(period_s)) is not None:
            return too_slow
        self._schedule.go_on(period_s)
        message = f"{play.motion} was asked to replace it, and has taken over on the way"
        self._player.take_over(_execution_of(play, route, 0, turned), message)
        return ""

    def _refuse_taking_over(self, play: messages.Play | None = None) -> str:
        """Return why what moves is not handed over to another motion; '' where it may be."""
        player, playing = self._player, self._player.execution
        if play is not None and (late := _expired(play.expires_at)):
            return f"it {late}"
        if player.state not in TAKEN_OVER or playing is None or self.shutting_down:
            return f"the robot is {player.state}"
        if self._layers.any:
            return "other motions play beside it"
        if player.displaced or self._watch.displaced() is not None:
            return "something has moved the robot"
        if playing.route.motion.interpolation == "hold":
            return "rows are held, so that it moves in steps"
        return ""

    def _begin(self, execution: Execution, play: messages.Play) -> None:
        if not self._layers.any:
            self._watch.start_motion()
        if play.weight is not None:
            self._layers.add(execution, play.weight, play.ramp_s)
        elif play.beside:
            self._layers.begin(execution)
        else:
            self._player.play(execution)

    def _refusal(self, play: messages.Play, motion: Track) -> str | None:
        player, layers = self._player, self._layers
        if late := _expired(play.expires_at):
            return f"it {late}"
        able = player.state in BESIDE if play.beside else player.state is State.IDLE
        able &= player.pursuit is None
        if not able or not player.torque or self.shutting_down:
            return f"the robot is {player.state}{'' if player.torque else ', released'}; it cannot play now"
        if layers.active and (refusal := self._refusal_beside(play, motion)):
            return refusal
        # What it does not move may have been moved meanwhile by what played beside it.
        if play.weight is None and (player.position != np.array(play.start))[motion.driven].any():
            return "the robot is not where the approach was planned from; ask again"
        return None

    def _refusal_beside(self, play: messages.Play, motion: Track) -> str | None:
        """Return why a goal does not play beside what plays already."""
        player = self._player
        if refusal := self._refusal_of_joints(play, motion):
            return refusal
        if 1.0 / motion.rate_hz != self._schedule.period_s:
            rates = f"{motion.rate_hz:g} rows a second, and what plays {1.0 / self._schedule.period_s:g}"
            return f"it has {rates}; only one rate is played at a time"
        if play.start_s is not None or play.from_beyond:
            return "what plays beside others begins at once, from within its limits; play it alone"
        if play.beside and player.displaced is not None:
            return "the robot goes back to where it held; ask again"
        moved = self._watch.displaced() if play.beside else None
        if moved is not None and (moved != player.position)[motion.driven].any():
            return f"{_moved(self._watch.ways.describe(moved, player.position))}; play it alone"
        return None

    def _refusal_of_joints(self, play: messages.Play, motion: Track) -> str | None:
        """Return why a goal's joints are not free; to one that is added, most are."""
        layers, player = self._layers, self._player
        if play.weight is None:
            taken = layers.overlap(motion.driven)
            joint = player.joints[int(taken.argmax())]
            return f"joint '{joint}' moves already; play it afterwards" if taken.any() else None
        if layers.addition is not None:
            return "another goal is added already; stop it first"
        if player.active and player.takes_over:
            return "a motion takes over what moved, on a way that was not checked with it; ask again"
        return "what plays flows into another motion; ask again" if len(player.tracks) > 1 else None

    def _chain(self, chain: messages.Chain, fds: list[int]) -> None:
        """Let what plays flow into the next motion, or report that it does not."""
        player, play = self._player, chain.play
        blend, motion, return_track = (map_shared(fd) for fd in fds)
        playing, reason = player.execution, TOO_LATE
        if self._layers.overlap_of_layers(blend.driven | motion.driven):
            reason = "joints of it move already"
        elif playing is not None and playing.goal_id == chain.before:
            route = Route(blend, motion, return_track, play.passes)
            execution = _execution_of(play, route, 0, _total(play.turned, None))
            reason = player.chain(Chained(execution, play.motion, blend, chain.speed_limit))
        if reason:
            player.unblended.append((play.goal_id, reason))

    def _set_speed(self, speed: messages.Speed) -> None:
        if (player := self._layers.player_of(speed.goal_id)) is not None:
            player.set_speed(speed.speed, speed.clock_acceleration)

    def _seek(self, seek: messages.Seek, fd: int) -> None:
        layers = self._layers
        player, refusal = layers.player_of(seek.goal_id), ""
        if player is None or (player.position != np.array(seek.start))[layers.joints_of(player)].any():
            refusal = "the robot is not where the way was planned from; ask again"
        elif late := _expired(seek.expires_at):
            refusal = f"it {late}"
        elif player is self._player:
            refusal = self._seek_base(seek, map_shared(fd))
        elif not self._stop_moved(player):
            player.seek(map_shared(fd), seek.row, _total(seek.turned, None), goes_on=seek.goes_on)
        if refusal:
            self._report(messages.Happened("not_sought", refusal))

    def _seek_base(self, seek: messages.Seek, track: Track) -> str:
        """Let the base go to a row, or return why not."""
        player = self._player
        back, refusal = self._plan_back(player.position, track.rate_hz)
        if refusal:
            return refusal
        if not self._layers.any:
            self._watch.start_motion()
        turned = _total(seek.turned, back.turned if back else None)
        player.seek(back.before(track) if back else track, seek.row, turned, goes_on=seek.goes_on)
        self._go_back(back)
        return ""


class _TakingOver(NamedTuple):
    """A motion that is to take over where that was foreseen: its command and its tracks."""

    play: messages.Play
    foreseen: Foreseen
    approach: Track
    motion: Track
    return_track: Track


class _Back(NamedTuple):
    """A way back: where it begins, what was moved furthest, and its rows; `turned` as of `Player.resume`."""

    start: Floats
    found: dict[str, Any]
    track: Track
    turned: Floats | None

    def before(self, track: Track) -> Track:
        """Return the way back and a track after it, which begins where this should have led back to."""
        return joined(self.track, track if self.turned is None else track.turned_on(self.turned))


def _total(turned: list[float], further: Floats | None) -> Floats | None:
    """Return what is added to rows in all, shape (joints,); None for nothing."""
    if not turned:
        return further
    return np.array(turned) if further is None else np.array(turned) + further


def _moved(found: dict[str, Any]) -> str:
    where = "from where it was held"
    return f"joint '{found['joint']}' was moved {found['value']:.4g} {found['unit']} {where}"


def _expired(expires_at: float | None) -> str:
    """Return that nobody waits for what was asked any more; here, nothing can keep it before it begins."""
    late_s = 0.0 if expires_at is None else time.time() - expires_at
    return f"expired {late_s:.3f} s ago; send it again, or with more time" if late_s > 0.0 else ""


def _execution_of(play: messages.Play, route: Route, not_before: int, turned: Floats | None) -> Execution:
    return Execution(
        goal_id=play.goal_id,
        route=route,
        speed=play.speed,
        clock_acceleration=play.clock_acceleration,
        path=Tolerances(play.path_tolerance),
        goal=Tolerances(play.goal_tolerance),
        goal_ticks=math.inf if play.goal_time_s == messages.OFF else play.goal_time_s * route.motion.rate_hz,
        not_before=not_before,
        offset=play.offset,
        markers=tuple(play.markers),
        turned=turned,
    )


def _too_late(due: int, earliest: int, period_s: float) -> str | None:
    """Refuse a start in tick `due` if the robot cannot be on the first row before tick `earliest`."""
    if due >= earliest:
        return None
    late_s = (earliest - due) * period_s
    return f"start_at is {late_s:.3f} s too early; the robot is not on the first row by then; set it later"
