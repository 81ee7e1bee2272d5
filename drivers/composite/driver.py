"""Several back ends as one robot on one clock: an arm on one bus, a gripper on another."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from motiond.text import nearest

from ..base import (
    ActuatorCommand,
    ActuatorState,
    CommunicationLost,
    Driver,
    DriverConfigError,
    DriverError,
    DriverTimeout,
    LifetimeExpired,
)
from ..limits import ActuatorLimits
from ..options import OptionProblem, OptionsError
from ..registry import make_driver
from .options import CompositeOptions, problems_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    from numpy.typing import NDArray

    from ..base import ErrorCounts, Floats

    Make: TypeAlias = Callable[[str, Mapping[str, Any], Sequence[str], Callable[[], float]], Driver]

NEARLY_WHOLE = 1e-6
"""In ticks: rounding of periods and latencies written in decimals must not cause interpolation."""


class SetpointDelay:
    """The setpoints on their way to one part, newest first."""

    def __init__(self, count: int) -> None:
        self.holds_back = False
        self._rows: Floats = np.full((1, 3, count), np.nan)
        self._unset = np.empty((3, count), bool)
        self._newest = 0
        self._whole = 0
        self._fraction = 0.0

    def set_delay(self, ticks: float) -> None:
        """Set the delay in ticks; setpoints on their way are kept."""
        self._whole = int(ticks + NEARLY_WHOLE)
        self._fraction = max(0.0, ticks - self._whole)
        if self._fraction < NEARLY_WHOLE:
            self._fraction = 0.0
        self.holds_back = self._whole > 0 or self._fraction > 0.0
        depth = len(self._rows)
        ages = np.minimum(np.arange(self._whole + 2), depth - 1)
        self._rows = self._rows[(self._newest - ages) % depth][::-1].copy()
        self._newest = len(self._rows) - 1

    def forget(self) -> None:
        """Drop all setpoints on their way."""
        self._rows.fill(np.nan)

    def put(self, values: Floats) -> None:
        """Store a tick's setpoint (3, actuators)."""
        self._newest = (self._newest + 1) % len(self._rows)
        self._rows[self._newest] = values

    def take(self, out: Floats) -> None:
        """Write the setpoint that is due now into `out` (3, actuators)."""
        depth = len(self._rows)
        newer = self._rows[(self._newest - self._whole) % depth]
        if self._fraction == 0.0:
            out[:] = newer
            return
        older = self._rows[(self._newest - self._whole - 1) % depth]
        np.subtract(older, newer, out)
        np.multiply(out, self._fraction, out)
        np.add(out, newer, out)
        np.isnan(out, self._unset)
        np.copyto(out, older, where=self._unset)


WHERE = "driver composite"
GRAVEST_FIRST = (CommunicationLost, DriverTimeout, LifetimeExpired, DriverError)
"""An error of several parts is of the gravest kind among theirs."""


class _Part:
    """One back end, with its setpoints on their way and its last feedback."""

    def __init__(self, name: str, driver: Driver, columns: list[int], divisor: int, latency_s: float) -> None:
        self.name = name
        self.driver = driver
        self.divisor = divisor
        self.latency_s = latency_s
        self.delay = SetpointDelay(len(columns))
        self.holding = False
        self.left_out = False
        self.places = columns
        self._columns = _as_slice(columns)
        self._command = ActuatorCommand(len(columns))
        self._state = ActuatorState(len(columns))

    @property
    def holds(self) -> bool:
        """Whether any of its actuators holds, also as it was left."""
        return self.holding or bool((self._state.torque == 1.0).any())

    def read(self, state: ActuatorState, tick: int) -> None:
        """Fill in the part's columns; feedback of an earlier tick keeps its stamp."""
        if tick % self.divisor == 0 and not self.left_out:
            self.driver.read(self._state)
        state.values[:, self._columns] = self._state.values

    def write(self, command: ActuatorCommand, tick: int) -> None:
        """Delay the part's columns, and send the setpoint that is due if this tick is the part's."""
        setpoint = self._command.values
        setpoint[:] = command.values[:, self._columns]
        if self.delay.holds_back:
            self.delay.put(setpoint)
        if tick % self.divisor == 0 and not self.left_out:
            if self.delay.holds_back:
                self.delay.take(setpoint)
            self.driver.write(self._command)

    def enable(self) -> None:
        """Switch torque on; a part that was left out takes part again."""
        self._take_part(self.driver.enable)

    def catch(self) -> None:
        """Do as `enable` with what moves."""
        self._take_part(self.driver.catch)

    def guide(self) -> None:
        """Carry the weight alone; a part that was left out takes part again."""
        self._take_part(self.driver.guide)

    def _take_part(self, call: Callable[[], None]) -> None:
        self.delay.forget()
        call()
        self.holding, self.left_out = True, False

    def disable(self) -> None:
        """Switch torque off."""
        self.delay.forget()
        self._ask(self.driver.disable)
        self.holding = False
        self._state.torque.fill(np.nan)  # until it is read

    def halt(self, tick: int) -> None:
        """Halt, if this tick is the part's."""
        self.delay.forget()
        if tick % self.divisor == 0:
            self._ask(self.driver.halt)

    def _ask(self, call: Callable[[], None]) -> None:
        """Call; errors of a part that was left out are ignored."""
        try:
            call()
        except Exception:
            if not self.left_out:
                raise

    def leave_out(self) -> None:
        """Halt the part and go on without it; its feedback is NaN from now on."""
        self.left_out = True
        self._state.values[:-1] = np.nan
        self._ask(self.driver.halt)

    def close(self) -> None:
        """Free the bus."""
        self.holding = self.left_out = False
        self.delay.forget()
        self.driver.close()


class CompositeDriver(Driver):
    """Parts that each drive some of the actuators. `make`: makes a part's driver, as `make_driver` does."""

    Options: ClassVar[type[CompositeOptions]] = CompositeOptions
    options: CompositeOptions
    where = WHERE

    def __init__(
        self,
        actuators: Sequence[str],
        options: CompositeOptions,
        now: Callable[[], float] = time.monotonic,
        make: Make = make_driver,
    ) -> None:
        super().__init__(actuators, options, now)
        problems = self._actuators_amiss()
        self._parts = self._make_parts(make, problems)
        if problems:
            raise OptionsError(problems)
        self.max_rate_hz = self._slowest_hz()
        self.min_rate_hz = max(part.driver.min_rate_hz * part.divisor for part in self._parts)
        self._open = self._halted = False
        self._period_s: float | None = None
        self._writes = self._reads = 0

    def _actuators_amiss(self) -> list[OptionProblem]:
        """Return problems for actuators that no part drives, and for those that the robot does not have."""
        parts = self.options.parts
        driven = {actuator for part in parts.values() for actuator in part.actuators}
        missing = [actuator for actuator in self.actuators if actuator not in driven]
        there_are = f"there are {', '.join(self.actuators)}"
        problems = [
            OptionProblem(
                f"part {name}",
                ("parts", name, "actuators"),
                f"unknown actuator '{actuator}'",
                there_are,
                nearest(actuator, missing),
            )
            for name, part in parts.items()
            for actuator in part.actuators
            if actuator not in self.actuators
        ]
        if missing:
            problem = f"no part drives {', '.join(missing)}"
            problems.append(
                OptionProblem(WHERE, ("parts",), problem, hint="add them to a part's `actuators`")
            )
        return problems

    def _make_parts(self, make: Make, problems: list[OptionProblem]) -> tuple[_Part, ...]:
        """Make all parts; problems of their options are added to `problems`."""
        parts: list[_Part] = []
        places = {actuator: place for place, actuator in enumerate(self.actuators)}
        for name, part in self.options.parts.items():
            try:
                driver = make(part.type, part.options, part.actuators, self.now)
            except DriverConfigError as error:
                problems += [
                    replace(problem, option=("parts", *problem.option))
                    for problem in problems_of(name, error)
                ]
                continue
            columns = [places.get(actuator, 0) for actuator in part.actuators]
            parts.append(_Part(name, driver, columns, part.rate_divisor, part.latency_s))
        return tuple(parts)

    def _slowest_hz(self) -> float:
        return min(part.driver.max_rate_hz * part.divisor for part in self._parts)

    def _each(self, act: Callable[[_Part], None]) -> None:
        """Call `act` for all parts even if some fail, then raise one error for all failures.

        Raises DriverError of the gravest kind among the parts' errors, with the name of each part and what it
        reported.
        """
        failed = self._failures(act)
        if failed:
            raise _joined(failed) from failed[0][1]

    def _failures(self, act: Callable[[_Part], None]) -> list[tuple[_Part, Exception]]:
        failed = []
        for part in self._parts:
            try:
                act(part)
            except Exception as error:  # noqa: BLE001 - whatever one part raises, the others must be called
                failed.append((part, error))
        return failed

    def _opened(self) -> None:
        if not self._open:
            raise DriverError(WHERE, "is not open", hint="open it first")

    @property
    def devices(self) -> tuple[str, ...]:
        """Those of all parts."""
        return tuple(device for part in self._parts for device in part.driver.devices)

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes of each part."""
        return tuple(_with_part(part, line) for part in self._parts for line in part.driver.notes)

    @property
    def limits(self) -> ActuatorLimits:
        """Those of all parts, each with its part's name before where it comes from."""
        count = len(self.actuators)
        return ActuatorLimits.none(count).joined(
            part.driver.limits.spread(part.places, count, f"part {part.name}: ") for part in self._parts
        )

    @property
    def errors(self) -> ErrorCounts:
        """Those of all parts."""
        for part in self._parts:
            self._errors.values[:, part.places] = part.driver.errors.values
        return self._errors

    def rehearse(self) -> tuple[str, ...]:
        """Read the files of all parts; one error has all that is wrong."""
        warnings: list[str] = []
        self._each(lambda part: warnings.extend(_with_part(part, line) for line in part.driver.rehearse()))
        return tuple(warnings)

    def open(self) -> None:
        """Open all parts, or none; one error has all that cannot be opened."""
        if self._open:
            raise DriverError(WHERE, "is open already", hint="close it first")
        try:
            self._each(lambda part: part.driver.open())
        except BaseException:
            with suppress(DriverError):
                self.close()
            raise
        self.warnings[:] = [
            _with_part(part, warning) for part in self._parts for warning in part.driver.warnings
        ]
        self.max_rate_hz = self._slowest_hz()
        self._open, self._halted = True, False
        self._begin_ticks()

    def _begin_ticks(self) -> None:
        """Make the next tick one of every part."""
        self._writes = self._reads = 0

    def set_period(self, period_s: float) -> None:
        """Set the tick period; each part gets its own, and all keep the former ones if one refuses."""
        super().set_period(period_s)
        try:
            self._each(lambda part: part.driver.set_period(period_s * part.divisor))
        except DriverError:
            self._restore_period()
            raise
        self._period_s = period_s
        slowest_s = max(part.latency_s for part in self._parts)
        for part in self._parts:
            part.delay.set_delay((slowest_s - part.latency_s) / period_s)
        self._begin_ticks()

    def _restore_period(self) -> None:
        former_s = self._period_s
        if former_s is not None:
            self._failures(lambda part: part.driver.set_period(former_s * part.divisor))

    def read(self, state: ActuatorState) -> None:
        """Read the parts whose turn it is; the feedback of others keeps its stamps."""
        self._opened()
        tick, self._reads = self._reads, self._reads + 1
        failed = self._failures(lambda part: part.read(state, tick))
        self._take_notices()
        if failed:
            self._deal_with(failed)

    def _take_notices(self) -> None:
        for part in self._parts:
            while part.driver.notices:
                self.notices.append(_with_part(part, part.driver.notices.popleft()))

    def write(self, command: ActuatorCommand) -> None:
        """Send the setpoints that are due to the parts whose turn it is."""
        self._opened()
        tick, self._writes = self._writes, self._writes + 1
        failed = self._failures(lambda part: part.write(command, tick))
        if failed:
            self._deal_with(failed)

    def _deal_with(self, failed: list[tuple[_Part, Exception]]) -> None:
        """Halt all parts and raise, or go on without the failed ones while there are others."""
        if self.options.on_part_failure == "stop_all":
            with suppress(DriverError):
                self.halt()
            raise _joined(failed) from failed[0][1]
        for part, error in failed:
            part.leave_out()
            self.notices.append(f"{_with_part(part, error)}; left out until the robot is enabled again")
        if all(part.left_out for part in self._parts):
            raise _joined(failed) from failed[0][1]

    def enable(self) -> None:
        """Switch torque on in all parts; if one fails, the others are as before."""
        self._take_part(_Part.enable)

    def catch(self) -> None:
        """Do as `enable` with parts that move."""
        self._take_part(_Part.catch)

    def refuse_guiding(self) -> None:
        """Refuse it where a part does."""
        self._each(lambda part: part.driver.refuse_guiding())

    def guide(self) -> None:
        """Let each part carry its weight, if all can."""
        self.refuse_guiding()
        self._take_part(_Part.guide)

    def _take_part(self, act: Callable[[_Part], None]) -> None:
        self._opened()
        held = [part for part in self._parts if part.holds]
        try:
            self._each(act)
        except DriverError:
            self._failures(lambda part: None if part in held else part.disable())
            raise
        self._halted = False
        self._begin_ticks()

    def disable(self) -> None:
        """Switch torque off in all parts."""
        self._opened()
        self._halted = False
        self._begin_ticks()
        self._each(_Part.disable)

    def halt(self) -> None:
        """Halt all parts at once, and from then on each as often as it is written."""
        if not self._halted:
            self._halted = True
            self._begin_ticks()
        tick, self._writes = self._writes, self._writes + 1
        self._each(lambda part: part.halt(tick))

    def refuse_reboot(self, actuators: Sequence[str]) -> None:
        """Refuse as the parts of these actuators do."""
        for part, names in self._parts_of(actuators):
            part.driver.refuse_reboot(names)

    def reboot(self, actuators: Sequence[str]) -> None:
        """Restart actuators in their parts; the others are left alone."""
        for part, names in self._parts_of(actuators):
            part.driver.reboot(names)

    def refuse_clear(self, actuators: Sequence[str]) -> None:
        """Refuse as the parts of these actuators do."""
        for part, names in self._parts_of(actuators):
            part.driver.refuse_clear(names)

    def clear(self, actuators: Sequence[str]) -> None:
        """Clear errors of actuators in their parts; the others are left alone."""
        for part, names in self._parts_of(actuators):
            part.driver.clear(names)

    def _parts_of(self, actuators: Sequence[str]) -> Iterator[tuple[_Part, list[str]]]:
        """Yield the parts that have some actuators, with those that each has."""
        for part in self._parts:
            if names := [name for name in actuators if name in part.driver.actuators]:
                yield part, names

    def verify(self) -> None:
        """Ask all parts that take part."""
        self._opened()
        self._each(lambda part: None if part.left_out else part.driver.verify())

    def inject(self, fault: Mapping[str, Any]) -> None:
        """Make a fault happen in one part, or in all if neither `part` nor `actuator` names one."""
        given = dict(fault)
        name = given.pop("part", None)
        names = [part.name for part in self._parts]
        if name is not None and name not in names:
            reason = f"there are {', '.join(names)}"
            raise DriverConfigError(WHERE, f"there is no part '{name}'", reason, nearest(str(name), names))
        actuator = given.get("actuator")
        hit = [
            part
            for part in self._parts
            if name == part.name or (name is None and actuator in {None, *part.driver.actuators})
        ]
        if not hit:
            reason = f"there are {', '.join(self.actuators)}"
            hint = nearest(str(actuator), self.actuators)
            raise DriverConfigError(WHERE, f"there is no actuator '{actuator}'", reason, hint)
        self._each(lambda part: part.driver.inject(given) if part in hit else None)

    def close(self) -> None:
        """Close all parts."""
        self._open = self._halted = False
        self._each(_Part.close)


def _as_slice(columns: list[int]) -> slice | NDArray[np.intp]:
    """Return a slice if the columns are neighbours, as it copies faster than an array of indexes."""
    first, last = columns[0], columns[-1]
    return slice(first, last + 1) if columns == list(range(first, last + 1)) else np.array(columns)


def _with_part(part: _Part, text: object) -> str:
    return f"part {part.name}: {text}"


def _joined(failed: Sequence[tuple[_Part, Exception]]) -> DriverError:
    """Return one error for those of several parts."""
    errors = [error for _, error in failed]
    if all(isinstance(error, DriverConfigError) for error in errors):
        kind: type[DriverError] = DriverConfigError
    else:
        kind = next(
            (kind for kind in GRAVEST_FIRST if any(isinstance(error, kind) for error in errors)), DriverError
        )
    first = errors[0]
    where = _with_part(failed[0][0], first.where if isinstance(first, DriverError) else type(first).__name__)
    lines = [_with_part(part, _text(error)) for part, error in failed]
    actuators = [name for error in errors if isinstance(error, DriverError) for name in error.actuators]
    return kind(where, "\n".join(lines).removeprefix(f"{where}: "), actuators=actuators)


def _text(error: Exception) -> str:
    return str(error) if isinstance(error, DriverError) else f"{type(error).__name__}: {error}"
