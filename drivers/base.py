"""The contract of every driver: what the stream process may ask of actuators, and what it gets.

A driver takes commands for all actuators at once and reports their states. It lives in the stream process;
each of its calls is bounded in time, and `read`, `write` and `halt` allocate and log only when they fail.

    Exception
    └── DriverError             a driver could not do what was asked; names the port, family or actuator
        ├── DriverConfigError   its options are wrong; nothing was opened
        ├── DriverTimeout       no answer in time (also a TimeoutError)
        ├── CommunicationLost   the bus or a module is gone
        └── LifetimeExpired     setpoints ended for too long, so the actuators released themselves
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
from pydantic import BaseModel, ConfigDict

from motiond.text import nearest_file

from .limits import ActuatorLimits

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Counts: TypeAlias = NDArray[np.int64]
    Booleans: TypeAlias = NDArray[np.bool_]


class DriverError(Exception):
    """A driver could not do what was asked.

    Attributes
    ----------
    where : str
        What failed: the port, the family and name, or the actuator.
    problem, reason, hint : str
        What is wrong, why that is so, and what helps; `reason` and `hint` may be empty.
    actuators : list of str
        Those that it is about, as far as that is known.
    """

    exit_code: ClassVar[int] = 2

    def __init__(
        self, where: str, problem: str, reason: str = "", hint: str = "", *, actuators: Sequence[str] = ()
    ) -> None:
        super().__init__(f"{where}: " + "; ".join(part for part in (problem, reason, hint) if part))
        self.where, self.problem, self.reason, self.hint = where, problem, reason, hint
        self.actuators = [*actuators]


class DriverConfigError(DriverError):
    """The options of a driver are wrong; nothing was opened."""


class DriverTimeout(DriverError, TimeoutError):
    """No answer in time."""


class CommunicationLost(DriverError):
    """The bus or a module is gone."""


class LifetimeExpired(DriverError):
    """No setpoint came for longer than the command lifetime, so the actuators are limp until enabled."""


MOST_NOTICES = 100
PERIODS_A_LIFETIME = 3
"""A command must outlive two lost ticks, or a mere hiccup would release the actuators."""


def require_lifetime(where: str, lifetime_s: float, period_s: float) -> None:
    """Refuse a command lifetime shorter than `PERIODS_A_LIFETIME` ticks.

    Raises
    ------
    DriverConfigError
        If the lifetime is too short; the message has the shortest one that would do.
    """
    shortest_s = PERIODS_A_LIFETIME * period_s
    if lifetime_s < shortest_s:
        raise DriverConfigError(
            where,
            f"a command lifetime of {lifetime_s:g} s is too short for a tick rate of {1 / period_s:g} Hz",
            f"it must last {PERIODS_A_LIFETIME} ticks",
            f"set `command_lifetime_s` to {shortest_s:g} or more",
        )


def slowest_rate_hz(lifetime_s: float | None) -> float:
    """Return the slowest tick rate that `require_lifetime` accepts; 0 where commands never end (None)."""
    return 0.0 if lifetime_s is None else PERIODS_A_LIFETIME / lifetime_s


def expired(where: str, problem: str, pause_s: float, lifetime_s: float) -> LifetimeExpired:
    """Return the error of actuators that have released because no setpoint came for too long."""
    reason = f"no setpoint came for {pause_s:.3f} s, and `command_lifetime_s` is {lifetime_s:g}"
    return LifetimeExpired(where, problem, reason, "reset and enable the robot")


class DriverOptions(BaseModel):
    """What stands under `driver:` in the configuration besides `type`; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@dataclass(frozen=True, slots=True)
class Description:
    """What a driver's options describe of the robot, for all that the configuration leaves out.

    Attributes
    ----------
    model : Path or None
        The robot's description.
    joints : tuple of str
        Names of the description's joints, in its order.
    poses : mapping of str to mapping of str to float
        Postures by name: positions of joints, in rad or m.
    model_named_at : str
        What names the model: the options, or a file and line.
    """

    model: Path | None = None
    joints: tuple[str, ...] = ()
    poses: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    model_named_at: str = ""

    def require_model(self) -> None:
        """Raise DriverConfigError if the model is not there."""
        if self.model is not None and not self.model.is_file():
            problem, hint = f"the robot's description is {self.model}", nearest_file(self.model)
            raise DriverConfigError(
                self.model_named_at, problem, "there is no such file", hint or "correct the path"
            )


CONTACT = 8
"""Values of a contact: the numbers of both bodies in `Driver.bodies`, where it is, the force."""


class ActuatorState:
    """What the actuators report; `Driver.read` fills it in place, with NaN where nothing is known.

    Parameters
    ----------
    count : int
        How many actuators there are.
    contacts : ndarray, shape (slots, CONTACT), optional
        Becomes the attribute; by default there are no slots.

    Attributes
    ----------
    values : ndarray, shape (7, actuators)
        All of the following, which are views of its rows.
    position, velocity, effort : ndarray, shape (actuators,)
        In rad, rad/s, N·m (or m, m/s, N), on the actuator's side of any reduction.
    temperature_c : ndarray, shape (actuators,)
        Of the motor winding, in °C.
    voltage_v : ndarray, shape (actuators,)
        Of the supply, in V.
    torque : ndarray, shape (actuators,)
        1 where the actuator itself reports that its torque is on, 0 where it is off; NaN where that is not
        known. It is what the device has, not what was asked of it.
    stamp_s : ndarray, shape (actuators,)
        Monotonic time at which each actuator's feedback was received.
    contacts : ndarray, shape (slots, CONTACT)
        What touches, of a driver that knows it: a row for each two bodies, from the first slot on, and NaN in
        the others. A row has the numbers of the bodies in `Driver.bodies`, the lower one first, the centre of
        their contact weighted by force, in m, and the force in all that the first exerts on the second, in N,
        both in the world's frame. Of more than there are slots, those with the largest force.
    """

    __slots__ = (
        "contacts",
        "effort",
        "position",
        "stamp_s",
        "temperature_c",
        "torque",
        "values",
        "velocity",
        "voltage_v",
    )
    position: Floats
    velocity: Floats
    effort: Floats
    temperature_c: Floats
    voltage_v: Floats
    torque: Floats
    stamp_s: Floats
    contacts: Floats

    def __init__(self, count: int, contacts: Floats | None = None) -> None:
        self.values: Floats = np.full((7, count), np.nan)
        self.contacts = np.empty((0, CONTACT)) if contacts is None else contacts
        self.position, self.velocity, self.effort = self.values[:3]
        self.temperature_c, self.voltage_v, self.torque, self.stamp_s = self.values[3:]


class ErrorCounts:
    """How often something went wrong with each actuator since the driver was made; a driver adds in place.

    Parameters
    ----------
    count : int
        How many actuators there are.

    Attributes
    ----------
    values : ndarray, shape (4, actuators)
        All of the following, which are views of its rows, in the order of `NAMES`.
    missed : ndarray, shape (actuators,)
        Questions without a sound answer in time.
    damaged : ndarray, shape (actuators,)
        Answers with a wrong checksum or length; they count as missed as well.
    reported : ndarray, shape (actuators,)
        Errors that the actuator reported of itself, each once when it begins.
    restarts : ndarray, shape (actuators,)
        How often it restarted by itself.
    """

    NAMES: ClassVar = ("missed", "damaged", "reported", "restarts")
    __slots__ = ("damaged", "missed", "reported", "restarts", "values")
    missed: Counts
    damaged: Counts
    reported: Counts
    restarts: Counts

    def __init__(self, count: int) -> None:
        self.values: Counts = np.zeros((len(self.NAMES), count), np.int64)
        self.missed, self.damaged, self.reported, self.restarts = self.values


class ActuatorCommand:
    """One setpoint for all actuators; NaN leaves that quantity of that actuator uncommanded.

    Attributes
    ----------
    values : ndarray, shape (3, actuators)
        All of the following, which are views of its rows.
    position, velocity, effort : ndarray, shape (actuators,)
        In rad, rad/s, N·m (or m, m/s, N), on the actuator's side of any reduction.
    """

    __slots__ = ("effort", "position", "values", "velocity")
    position: Floats
    velocity: Floats
    effort: Floats

    def __init__(self, count: int) -> None:
        self.values: Floats = np.full((3, count), np.nan)
        self.position, self.velocity, self.effort = self.values


class Driver(ABC):
    """Actuators behind one bus, network or simulation.

    Parameters
    ----------
    actuators : sequence of str
        The actuators to drive, in the order of every array.
    options : DriverOptions
        An instance of this class's `Options`.
    now : callable
        Returns monotonic time in seconds; a virtual clock returns virtual time.

    Attributes
    ----------
    where : str
        What messages name, such as `driver toy`; a driver sets it.
    max_rate_hz : float
        The fastest tick rate that the driver accepts.
    min_rate_hz : float
        The slowest one, below which the actuators would release between two ticks; 0 where they never do.
        Slower motions are listed as not playable. See `slowest_rate_hz`.
    contact_slots : int
        How many contacts `read` reports at most; known before `open`. 0 where the driver knows none.
    bodies : tuple of str
        What can touch, by the numbers in `ActuatorState.contacts`; complete after `open`.
    warnings : list of str
        What a user should know although the driver works; complete after `open`, and `motiond check` prints
        what `rehearse` returns before.
    notices : deque of str
        What happened to the actuators that a user should know although it is no failure; the loop removes
        them after each `read` and publishes them as events.

    Raises
    ------
    DriverConfigError
        If there are no actuators, a name occurs twice, or the options do not fit the actuators.
    """

    Options: ClassVar[type[DriverOptions]] = DriverOptions
    where: str = "driver"
    actuators: tuple[str, ...]
    max_rate_hz: float
    min_rate_hz: float = 0.0
    contact_slots: int = 0
    bodies: tuple[str, ...] = ()

    def __init__(
        self, actuators: Sequence[str], options: DriverOptions, now: Callable[[], float] = time.monotonic
    ) -> None:
        self.actuators = tuple(actuators)
        self.options = options
        self.now = now
        self.warnings: list[str] = []
        self.notices: deque[str] = deque(maxlen=MOST_NOTICES)
        self._errors = ErrorCounts(len(self.actuators))
        self._refuse_bad_names()

    def _refuse_bad_names(self) -> None:
        if not self.actuators:
            raise DriverConfigError(self.where, "no actuators to drive", hint="name at least one")
        twice = sorted(name for name, count in Counter(self.actuators).items() if count > 1)
        if twice:
            raise DriverConfigError(
                self.where, f"actuators named twice: {', '.join(twice)}", hint="give each a name of its own"
            )

    @property
    def devices(self) -> tuple[str, ...]:
        """What only one process may drive at a time, each as `kind:name`; known before `open`.

        The stream process holds a lock on each for its life, and waits for one that another holds; it asks
        again before it reopens a driver that has lost its actuators. By default the same driver with the
        same actuators and options is one device. Where nothing is shared, as in a simulation, return ().
        """
        kind = type(self)
        return (f"{kind.__module__}.{kind.__qualname__}:{','.join(self.actuators)} {self.options!r}",)

    @property
    def limits(self) -> ActuatorLimits:
        """What the actuators themselves allow; before `open`, as far as options set it.

        After `open`, also what the actuators have reported. Motions beyond are refused before they move. By
        default nothing is known.
        """
        return ActuatorLimits.none(len(self.actuators))

    @property
    def errors(self) -> ErrorCounts:
        """How often something went wrong with each actuator since the driver was made, also while closed.

        Read about once a second. A driver adds to the arrays in place; by default nothing is counted.
        """
        return self._errors

    @property
    def notes(self) -> tuple[str, ...]:
        """How options were understood, as far as `motiond check` should print it; known before `open`."""
        return ()

    @classmethod
    def describe(cls, options: DriverOptions) -> Description | None:
        """Return what options, with absolute paths, describe of the robot by a file; by default nothing.

        Raises
        ------
        DriverConfigError
            If the file cannot be read, or is wrong.
        """
        del options
        return None

    def rehearse(self) -> tuple[str, ...]:
        """Read the files that `open` will need, without an actuator, and return warnings for `motiond check`.

        Raises
        ------
        DriverConfigError
            If a file cannot be read, or does not fit the actuators.
        """
        return tuple(self.warnings)

    @abstractmethod
    def open(self) -> None:
        """Connect all actuators, or none; torque stays as it was, and what was left guided holds.

        Raises
        ------
        DriverError
            If one cannot be connected; names the port or module and the reason, and nothing stays open.
        """

    def set_period(self, period_s: float) -> None:
        """Set the time between two `write` calls; called at rest, before the first tick at a new rate.

        Raises
        ------
        DriverConfigError
            If the driver cannot keep up, or if the actuators would release between two ticks.
        """
        if period_s * self.max_rate_hz < 1 - 1e-9:
            raise DriverConfigError(
                self.where,
                f"a tick rate of {1 / period_s:g} Hz is too fast",
                f"it takes at most {self.max_rate_hz:g} Hz",
                "lower the rate of the motion",
            )

    @abstractmethod
    def read(self, state: ActuatorState) -> None:
        """Fill `state` with the newest feedback; wait for a fraction of a period at most.

        Called once after each `write`, and between two of a slow motion, up to `max_rate_hz` times a second.
        """

    @abstractmethod
    def write(self, command: ActuatorCommand) -> None:
        """Send one setpoint to all actuators; without torque nothing moves.

        Raises
        ------
        LifetimeExpired
            If the actuators have released themselves since the last setpoint; `enable` takes hold again.
        """

    @abstractmethod
    def enable(self) -> None:
        """Set the goal of each actuator to its measured position, then switch torque on.

        Some may hold already, as they were left. If one cannot, those go on holding, and no others do.
        """

    def catch(self) -> None:
        """Do as `enable` with actuators that somebody moves; by default, it is `enable`.

        Override it where `enable` refuses what moves: the end of teaching must take hold of it.

        Raises
        ------
        DriverError
            If an actuator cannot take hold.
        """
        self.enable()

    @abstractmethod
    def disable(self) -> None:
        """Switch torque off."""

    def refuse_guiding(self) -> None:
        """Refuse to carry the robot's weight where that is not possible; known before `open`.

        By default it is not.

        Raises
        ------
        DriverConfigError
            With the reason.
        """
        problem, reason = "cannot carry the robot's weight", "its actuators take no efforts for that"
        raise DriverConfigError(self.where, problem, reason, "teach with torque off")

    def guide(self) -> None:
        """Switch torque on, carrying the robot's weight alone: actuators give way to a hand, and do not fall.

        A `write` with positions of NaN keeps it so, and nothing else is written. It ends by `enable`,
        `catch`, `disable` or `halt`.

        Raises
        ------
        DriverError
            If an actuator refuses it.
        """
        self.refuse_guiding()

    @abstractmethod
    def halt(self) -> None:
        """Stop at once and hold until `enable` or `disable`; may be called in any state, any number of times.

        The loop calls this in place of `write` in every tick while the emergency stop is latched.
        """

    def refuse_reboot(self, actuators: Sequence[str]) -> None:
        """Refuse to restart actuators that cannot be restarted; known before `open`. By default none can.

        Raises
        ------
        DriverConfigError
            With the reason.
        """
        problem, reason = f"cannot restart {', '.join(actuators)}", "its actuators take no such command"
        raise DriverConfigError(self.where, problem, reason, "switch their power off and on")

    def reboot(self, actuators: Sequence[str]) -> None:
        """Restart actuators, so that their errors go, and return once they answer; torque is off then.

        Called at rest, also while the driver is not open; it then opens what it needs, and closes that.

        Raises
        ------
        DriverError
            If one of them holds, so that it would drop, or does not answer; in the first case none is
            restarted. One whose error lets the driver not open cannot be released otherwise, and is restarted
            although it drops.
        """
        self.refuse_reboot(actuators)

    def refuse_clear(self, actuators: Sequence[str]) -> None:
        """Refuse to clear errors of actuators that keep them; known before `open`. By default all do.

        Raises
        ------
        DriverConfigError
            With the reason, and with what makes the errors go instead.
        """
        names = ", ".join(actuators)
        problem, reason = f"cannot clear errors of {names}", "its actuators take no such command"
        try:
            self.refuse_reboot(actuators)
        except DriverConfigError as error:
            hint = error.hint
        else:
            hint = f"restart them: `motiond reboot ROBOT {' '.join(actuators)}`"
        raise DriverConfigError(self.where, problem, reason, hint)

    def clear(self, actuators: Sequence[str]) -> None:
        """Clear errors that actuators keep, without a restart; none moves, and one that holds goes on so.

        Called at rest, also while the driver is not open; it then opens what it needs, and closes that.

        Raises
        ------
        DriverError
            If one of them would drop by it (then none is cleared), does not answer, or keeps its error.
        """
        self.refuse_clear(actuators)

    def verify(self) -> None:  # noqa: B027 - it is optional
        """Find out now whether all actuators hold and take setpoints; called with torque on, at rest.

        The loop calls this before a motion ends well, and after the machine was suspended, when the
        actuators may have released meanwhile. A driver that learns it from each `read` need do nothing.

        Raises
        ------
        DriverError
            Naming an actuator that has released, restarted, or ignores setpoints.
        """

    def inject(self, fault: Mapping[str, Any]) -> None:
        """Make a fault happen; only simulated actuators can.

        Parameters
        ----------
        fault : mapping
            What goes wrong, where and for how long, by the driver's own keys; values as in JSON.

        Raises
        ------
        DriverConfigError
            If the driver supports no faults, or not this one.
        """
        raise DriverConfigError(
            self.where, f"takes no faults, {dict(fault)} neither", "", "try it on simulated actuators"
        )

    @abstractmethod
    def close(self) -> None:
        """Free the bus; may be called any number of times, also after a failed `open`."""
