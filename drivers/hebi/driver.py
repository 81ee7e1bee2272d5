"""A group of HEBI modules on the network, by way of the vendor's hebi-py.

The modules are looked up by family and name. They release by themselves when no command came for the command
lifetime, so this driver sends one in every tick, and raises when a pause was longer. hebi-py has no switch
for torque: a module holds while it has a living command, and releases when it has none. A module that was
lost, stopped or released gets empty commands until it is enabled, so that it never jumps to where it should
have been meanwhile.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from ..base import (
    Driver,
    DriverConfigError,
    DriverError,
    DriverOptions,
    LifetimeExpired,
    expired,
    require_lifetime,
    slowest_rate_hz,
)
from ..limits import ActuatorLimits
from .feed_forward import FeedForward
from .feedback import WHERE, named
from .gains import apply_gains, deaf_to_efforts, read_setup
from .listener import Listener
from .lookup import Module, find_group, import_hebi, open_lookup, single_groups
from .options import HebiOptions
from .sender import Mirrors, Sender
from .setup import REPORTS_A_TIMEOUT, describe, refuse_missing, set_up
from .stored_limits import refuse_turns, stored_limits, stored_ranges

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..base import ActuatorCommand, ActuatorState, Booleans, Description
    from .lookup import HebiGroup, HebiLookup

DEFAULT_FEEDBACK_HZ = 100.0
FIRST_FEEDBACK_TIMEOUT_MS = 500
ENABLE_TIMEOUT_MS = 50
INFO_TIMEOUT_MS = 500
SETTLE_S = 0.1
"""How long after `enable` or `disable` modules may still report their state from before it."""


class HebiDriver(Driver):
    """A group of HEBI modules. `sleep`: waits for so many s between two looks."""

    Options: ClassVar[type[DriverOptions]] = HebiOptions
    options: HebiOptions
    where = WHERE
    max_rate_hz = 1000.0

    def __init__(
        self,
        actuators: Sequence[str],
        options: HebiOptions,
        now: Callable[[], float] = time.monotonic,
        look: Callable[[Sequence[str]], HebiLookup] = open_lookup,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        super().__init__(actuators, options, now)
        self._setup = set_up(self.actuators, options)
        self.min_rate_hz = slowest_rate_hz(self._setup.lifetime_s)
        self.modules: tuple[Module, ...] = self._setup.members
        self.warnings[:] = self._setup.warnings
        self._look, self._sleep = look, sleep
        self._group: HebiGroup | None = None
        self._torque = self._halted = self._guided = False
        self._enabled_s = self._switched_s = -np.inf
        self._period_s: float | None = None
        self._mirrors = Mirrors(self._setup.mirrors, len(self.actuators))
        self._lower, self._upper = self._setup.lower, self._setup.upper
        self._allowed = ActuatorLimits.none(len(self.actuators))
        self._deaf_to_efforts = ""
        self._listener: Listener
        self._sender: Sender
        self._feed: FeedForward

    @property
    def devices(self) -> tuple[str, ...]:
        """Each module, as `hebi:family/name`."""
        return tuple(f"hebi:{module}" for module in self.modules)

    @property
    def notes(self) -> tuple[str, ...]:
        """What becomes of each plugin of HEBI's robot configuration."""
        return self._setup.notes

    @classmethod
    def describe(cls, options: DriverOptions) -> Description | None:
        """Return what HEBI's robot configuration has of the robot, if the options name one."""
        return describe(cast("HebiOptions", options))

    def rehearse(self) -> tuple[str, ...]:
        """Read gains and model as `open` does; where hebi-py is missing, warn that they were not read."""
        files = self._setup.files
        if not files:
            return self._setup.warnings
        try:
            hebi = import_hebi()
        except DriverConfigError as error:
            refuse_missing(self._setup)
            problem = f"{WHERE}: whether {' and '.join(map(str, files.values()))} can be used is not known"
            reason = f"hebi-py reads such files and cannot be imported ({error.__cause__})"
            return (*self._setup.warnings, f"{problem}; {reason}; pip install 'motiond[hebi]'")
        self._build(hebi)
        return tuple(self.warnings)

    def _build(self, hebi: Any) -> Any:
        """Make what takes files and no modules, and return the settings to send, if there are any."""
        self.warnings[:] = self._setup.warnings
        refuse_missing(self._setup)
        self._feed = FeedForward(hebi, self._setup.efforts, self._setup.modules, self.warnings)
        if self._period_s is not None:
            self._feed.set_period(self._period_s)
        return read_setup(hebi, self._setup)

    def open(self) -> None:
        """Read all files, find all modules, set them up, and wait for their first feedback."""
        if self._group is not None:
            raise DriverError(WHERE, "is open already", hint="close it first")
        hebi = import_hebi()
        settings = self._build(hebi)
        lookup = self._look(self.options.interfaces)
        self._group = find_group(lookup, self.modules, self.options.lookup_timeout_s, self._sleep)
        try:
            self._listener = Listener(
                hebi,
                self._group,
                single_groups(lookup, self.modules),
                self.modules,
                timeout_s=self._setup.feedback_timeout_s,
                now=self.now,
                notices=self.notices,
                errors=self.errors,
            )
            self._prepare(hebi, self._group, settings)
        except BaseException:
            self.close()
            raise

    def _prepare(self, hebi: Any, group: HebiGroup, settings: Any) -> None:
        counts = len(self.actuators), len(self.modules)
        self._sender = Sender(hebi, group, self._mirrors, counts, self.now)
        group.command_lifetime = round(self._setup.lifetime_s * 1000)
        group.feedback_frequency = self._setup.feedback_hz or DEFAULT_FEEDBACK_HZ
        if settings is not None:
            apply_gains(group, settings, self.modules)
        self._learn_ranges(group)
        self._listener.measure(FIRST_FEEDBACK_TIMEOUT_MS)

    def _learn_ranges(self, group: HebiGroup) -> None:
        info = group.request_info(INFO_TIMEOUT_MS)
        self._deaf_to_efforts = deaf_to_efforts(info, self.modules)
        self._allowed = stored_limits(info, self.modules, self._mirrors, len(self.actuators))
        lower, upper = self._setup.lower, self._setup.upper
        if info is not None:
            stored_lower, stored_upper = (bound[: len(lower)] for bound in stored_ranges(info))
            unset = np.isnan(lower)
            lower, upper = np.where(unset, stored_lower, lower), np.where(unset, stored_upper, upper)
        elif np.isnan(lower).any():
            self.warnings.append(
                f"{WHERE}: the modules did not report their position limits; their turns are not checked; "
                "set `position_range`"
            )
        self._lower, self._upper = lower, upper

    @property
    def limits(self) -> ActuatorLimits:
        """After `open`, the limits that the modules have stored; before, nothing is known."""
        return self._allowed

    def set_period(self, period_s: float) -> None:
        """Set the tick period; the modules report as often, and at 100 Hz at least, unless an option says."""
        super().set_period(period_s)
        require_lifetime(WHERE, self._setup.lifetime_s, period_s)
        if self._setup.feedback_hz is None and self._group is not None:
            # Feedback is read more often than slow motions have rows.
            self._group.feedback_frequency = max(
                1 / period_s, DEFAULT_FEEDBACK_HZ, REPORTS_A_TIMEOUT / self._setup.feedback_timeout_s
            )
        self._period_s = period_s
        if self._group is not None:
            self._feed.set_period(period_s)

    def close(self) -> None:
        """Stop driving; the modules release at the end of the command lifetime."""
        group, self._group = self._group, None
        self._torque = self._halted = self._guided = False
        if group is not None:
            group.feedback_frequency = 0.0

    def _opened(self) -> HebiGroup:
        if self._group is None:
            raise DriverError(WHERE, "is not open", hint="open it first")
        return self._group

    def read(self, state: ActuatorState) -> None:
        """Report the newest feedback that has arrived, without waiting for any.

        Raises CommunicationLost if modules did not report for `feedback_timeout_s`; soon after, they would
        release. Raises LifetimeExpired if modules that should hold report that they have released. Raises
        DriverError if the m-stop, heat or another program keeps modules that should hold from following
        commands.
        """
        self._opened()
        listener = self._listener
        if not listener.fill(state):
            self._refuse_silence()
        self._mirrors.add_heat(state.temperature_c, listener.seen.temperature_c)
        if self.now() - self._switched_s <= SETTLE_S:
            state.torque.fill(np.nan)  # what was received may be from before
        else:
            state.torque[:] = listener.flags.torque[: len(state.torque)]
        if self._torque and (listener.flags.failing or listener.flags.any_unlocked):
            self._refuse_flags()

    def _refuse_silence(self) -> None:
        error = self._listener.silence()
        if error is not None:
            self._loosen(self._listener.lost)
            raise error

    def _refuse_flags(self) -> None:
        flags = self._listener.flags
        failure = flags.failure()
        if failure is not None:
            self._loosen(flags.stopped | flags.hot | flags.foreign)
            raise failure
        unlocked = flags.unlocked & (self._listener.received_s - self._enabled_s > SETTLE_S)
        if unlocked.any() and self._pause_s() <= self._setup.lifetime_s:
            self._loosen(unlocked)
            raise self._expired("they hold no living command, though setpoints were sent")

    def verify(self) -> None:
        """Wait for feedback of now, and raise as `read` does; also for modules that release unseen.

        Raises DriverTimeout, LifetimeExpired, DriverError if modules do not report, have released, or are
        kept from following commands.
        """
        self._opened()
        self._listener.measure(ENABLE_TIMEOUT_MS)
        if not self._torque:
            return
        self._refuse_flags()
        unlocked = self._listener.flags.unlocked
        if unlocked.any():
            self._loosen(unlocked)
            raise self._expired("they hold no living command")

    def write(self, command: ActuatorCommand) -> None:
        """Send a setpoint; a position of NaN repeats the last one, unless a velocity comes alone."""
        self._opened()
        if not self._torque or self._halted:
            return
        if self._sender.any_loose:
            raise self._expired("they were lost, stopped or without a command")
        pause_s, lifetime_s = self._pause_s(), self._setup.lifetime_s
        if pause_s > lifetime_s:
            raise expired(WHERE, "the modules are released", pause_s, lifetime_s)
        self._sender.take(command)
        self._feed_forward()
        self._sender.send()

    def _expired(self, reason: str) -> LifetimeExpired:
        return LifetimeExpired(
            WHERE, f"{named(self.modules, self._sender.loose)} released", reason, "reset and enable the robot"
        )

    def _feed_forward(self) -> None:
        """Add the efforts that carry and accelerate the arm to the commanded ones."""
        if self._feed.adds:
            listener = self._listener
            self._feed.add_to(self._sender.setpoint, listener.measured, listener.seen.orientation, self.now())

    def _pause_s(self) -> float:
        return self.now() - self._sender.sent_s

    def enable(self) -> None:
        """Command the measured positions, so that the modules hold.

        Raises DriverTimeout if some modules do not report. Raises DriverError if the m-stop, heat or another
        program keeps modules from following commands, if a module counts the wrong turn, if two modules of
        one joint report different places, or if gravity compensation does not know which way is down.
        """
        self._take_hold(guided=False)

    def refuse_guiding(self) -> None:
        """Refuse it without gravity compensation; once open, also by masses and modules that cannot do it."""
        problem = "the modules cannot carry the arm's weight"
        if self._setup.efforts.gravity is None:
            reason, hint = "there is no gravity compensation", "set `gravity_compensation` and `hrdf`"
            raise DriverConfigError(WHERE, problem, reason, hint)
        if self._group is None:
            return
        if not self._feed.carries:
            reason = f"{self._setup.efforts.hrdf} has no masses"
            raise DriverConfigError(WHERE, problem, reason, "give its links and bodies masses")
        if self._deaf_to_efforts:
            raise DriverConfigError(
                WHERE, problem, self._deaf_to_efforts, "choose a `control_strategy`, or `gains`, with efforts"
            )

    def guide(self) -> None:
        """Command the efforts that carry the arm, in full at once, and neither positions nor velocities.

        Raises DriverError as `enable` does.
        """
        self.refuse_guiding()
        self._take_hold(guided=True)

    def _take_hold(self, *, guided: bool) -> None:
        self._opened()
        self._listener.measure(ENABLE_TIMEOUT_MS)
        failure = self._listener.flags.failure()
        if failure is not None:
            raise failure
        listener, count = self._listener, len(self.actuators)
        refuse_turns(self._setup.modules, listener.measured[:count], self._lower, self._upper)
        self._mirrors.refuse_apart(self.modules, listener.measured)
        is_carried = guided or self._guided
        self._feed.begin(listener.measured, listener.seen.orientation, self.now(), at_once=is_carried)
        self._sender.tighten()
        if guided:
            self._sender.give_way()
        else:
            self._sender.hold(listener.measured[:count])
        self._sender.effort.fill(np.nan)
        self._feed_forward()
        self._sender.send()
        self._enabled_s = self._switched_s = self.now()
        self._torque, self._halted, self._guided = True, False, guided

    def _loosen(self, which: Booleans) -> None:
        if self._torque:
            self._sender.loosen(which)

    def disable(self) -> None:
        """Send an empty command that lives for 1 ms, after which the modules release."""
        group = self._opened()
        self._torque = self._halted = self._guided = False
        self._switched_s = self.now()
        self._sender.tighten()
        group.command_lifetime = 1
        try:
            self._sender.setpoint.fill(np.nan)
            self._sender.send()
        finally:
            group.command_lifetime = round(self._setup.lifetime_s * 1000)

    def halt(self) -> None:
        """Hold the positions at which the first call finds the modules; the effort fed forward stays."""
        if self._group is None or not self._torque or self._pause_s() > self._setup.lifetime_s:
            return
        if not self._halted:
            self._listener.take(0)
            self._sender.hold(self._listener.measured[: len(self.actuators)])
            self._feed.rest(self._sender.effort)
            self._halted = True
        self._sender.send()
