"""HEBI modules on the network, by way of the vendor's hebi-py.

In come commands, out comes feedback of a group of modules that were looked up by family and name. The modules
let go by themselves when no command came for the command lifetime; so this driver sends in every tick, and
says so when a pause was longer. hebi-py has no switch for torque: a module holds while it has a living
command, and lets go when it has none.
"""

from __future__ import annotations

import contextlib
import io
import time
from dataclasses import dataclass
from pathlib import Path  # noqa: TC003 - pydantic resolves the annotations of the options
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from pydantic import Field, model_validator

from drivers.base import (
    CommunicationLost,
    Driver,
    DriverConfigError,
    DriverError,
    DriverOptions,
    DriverTimeout,
    LetGo,
    require_lifetime,
)
from drivers.hebi_config import HebiConfig, Lifetime, load_hebi_config, pair_modules
from drivers.options import Positive, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Self

    from drivers.base import ActuatorCommand, ActuatorState, Floats

WHERE = "driver hebi"
DEFAULT_LIFETIME_S = 0.25
DEFAULT_FEEDBACK_HZ = 100.0
FIRST_FEEDBACK_TIMEOUT_MS = 500
ENABLE_TIMEOUT_MS = 50
LOOKUP_POLL_S = 0.05


class HebiOptions(DriverOptions):
    """What stands under `driver:` with `type: hebi`."""

    config: Path | None = Field(default=None, description="A robot configuration of HEBI's (`*.cfg.yaml`).")
    families: list[str] | str | None = Field(
        default=None, description="One family for all modules, or one for each name; without `config`."
    )
    names: list[str] | None = Field(
        default=None,
        description="Names of the modules in the order of the actuators; else the actuators' own names.",
    )
    interfaces: list[str] = Field(
        default=[], description="Network interfaces to look on; empty: all of them."
    )
    lookup_timeout_s: Positive = Field(default=3.0, description="How long to look for the modules.")
    feedback_frequency_hz: Positive | None = Field(
        default=None, description="How often the modules report; null: as often as commands are sent."
    )
    feedback_timeout_s: Positive = Field(
        default=0.5, description="Modules that did not report for so long count as lost."
    )
    command_lifetime_s: Lifetime | None = Field(
        default=None,
        description="The modules let go when no command came for so long; null: 0.25, or as in `config`.",
    )

    @model_validator(mode="after")
    def _name_modules_once(self) -> Self:
        if (self.config is None) == (self.families is None):
            raise ValueError("give either `config` or `families`")
        if self.config is not None and self.names is not None:
            raise ValueError("`names` stand in the file that `config` names; remove them here")
        return self


@dataclass(frozen=True, slots=True)
class Module:
    """A module as it is addressed on the network."""

    family: str
    name: str

    def __str__(self) -> str:
        return f"{self.family}/{self.name}"


class HebiGroup(Protocol):
    """What this driver uses of `hebi.Group`."""

    feedback_frequency: float
    command_lifetime: int

    def send_command(self, group_command: Any) -> bool:
        """Send a `hebi.GroupCommand` without waiting for an answer."""

    def get_next_feedback(self, timeout_ms: float, reuse_fbk: Any) -> Any:
        """Fill a `hebi.GroupFeedback`, or give None if nothing came in time."""


def import_hebi() -> Any:
    """Import hebi-py, which prints to standard output what optional packages it misses.

    Raises
    ------
    DriverConfigError
        If it is not installed.
    """
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            import hebi  # noqa: PLC0415 - optional, and slow to import
    except ImportError as error:
        raise DriverConfigError(
            WHERE, "hebi-py cannot be imported", str(error), "pip install 'motiond[hebi]'"
        ) from error
    return hebi


def connect(modules: Sequence[Module], interfaces: Sequence[str], timeout_s: float) -> HebiGroup:
    """Look modules up on the network and make a group of them.

    Raises
    ------
    DriverTimeout
        With the modules that are missing and those that were found.
    """
    lookup = import_hebi().Lookup(list(interfaces))
    give_up_s = time.monotonic() + timeout_s
    found: set[Module] = set()
    while not found.issuperset(modules) and time.monotonic() < give_up_s:
        time.sleep(LOOKUP_POLL_S)
        found = {Module(entry.family, entry.name) for entry in lookup.entrylist if entry is not None}
    if not found.issuperset(modules):
        raise missing_modules(modules, found, timeout_s)
    families, names = [module.family for module in modules], [module.name for module in modules]
    group: HebiGroup | None = lookup.get_group_from_names(families, names, timeout_ms=timeout_s * 1000)
    if group is None:
        raise DriverTimeout(WHERE, f"no group of {len(modules)} modules in {timeout_s:g} s", mend="try again")
    return group


def missing_modules(wanted: Sequence[Module], found: set[Module], timeout_s: float) -> DriverTimeout:
    """Say which modules are not on the network, what is, and what may have been meant."""
    known = sorted(map(str, found))
    missing = [str(module) for module in wanted if module not in found]
    hints = [hint for hint in (nearest(name, known) for name in missing) if hint]
    return DriverTimeout(
        WHERE,
        f"not found in {timeout_s:g} s: {', '.join(missing)}",
        f"found {', '.join(known) or 'no modules at all'}",
        " ".join(hints) or "check power, cables and the network",
    )


class HebiDriver(Driver):
    """A group of HEBI modules.

    Parameters
    ----------
    connect : callable
        Makes the group; whoever has another network, or none, brings another one.
    """

    Options: ClassVar[type[DriverOptions]] = HebiOptions
    options: HebiOptions
    max_rate_hz = 1000.0

    def __init__(
        self,
        actuators: Sequence[str],
        options: HebiOptions,
        now: Callable[[], float] = time.monotonic,
        connect: Callable[[Sequence[Module], Sequence[str], float], HebiGroup] = connect,
    ) -> None:
        super().__init__(actuators, options, now)
        config = self._read_config(options)
        self.modules = _modules_for(self.actuators, config)
        self.warnings.extend(config.warnings)
        self._lifetime_s = options.command_lifetime_s or config.command_lifetime_s or DEFAULT_LIFETIME_S
        self._feedback_hz = options.feedback_frequency_hz or config.feedback_frequency_hz
        self._connect = connect
        self._group: HebiGroup | None = None
        self._command: Any = None
        self._feedback: Any = None
        self._torque = self._halted = False
        self._sent_s = 0.0
        self._next_temperature = 0
        count = len(self.actuators)
        self._goal, self._measured, self._effort = np.full((3, count), np.nan)
        self._received_s = np.full(count, np.nan)
        self._temperature_c = np.full(count, np.nan)
        self._known = np.empty(count, bool)

    def _read_config(self, options: HebiOptions) -> HebiConfig:
        if options.config is not None:
            return load_hebi_config(options.config)
        families = [options.families] if isinstance(options.families, str) else list(options.families or ())
        return HebiConfig(*pair_modules(WHERE, families, options.names or list(self.actuators)))

    def open(self) -> None:
        """Find all modules and wait for their first feedback."""
        if self._group is not None:
            raise DriverError(WHERE, "is open already", mend="close it first")
        hebi = import_hebi()
        self._group = self._connect(self.modules, self.options.interfaces, self.options.lookup_timeout_s)
        try:
            count = len(self.actuators)
            self._command, self._feedback = hebi.GroupCommand(count), hebi.GroupFeedback(count)
            self._group.command_lifetime = round(self._lifetime_s * 1000)
            self._group.feedback_frequency = self._feedback_hz or DEFAULT_FEEDBACK_HZ
            self._received_s.fill(self.now())
            self._measure(FIRST_FEEDBACK_TIMEOUT_MS)
        except BaseException:
            self.close()
            raise
        self._torque = self._halted = False

    def set_period(self, period_s: float) -> None:
        """Let the modules report as often as they are commanded, unless another frequency is set."""
        super().set_period(period_s)
        require_lifetime(WHERE, self._lifetime_s, period_s)
        if self._feedback_hz is None and self._group is not None:
            self._group.feedback_frequency = 1 / period_s

    def _opened(self) -> HebiGroup:
        if self._group is None:
            raise DriverError(WHERE, "is not open", mend="open it first")
        return self._group

    def _measure(self, timeout_ms: float) -> None:
        """Take feedback that comes within the time, and refuse to go on without any position."""
        self._take_feedback(timeout_ms)
        silent = [
            str(module)
            for module, position in zip(self.modules, self._measured, strict=True)
            if np.isnan(position)
        ]
        if silent:
            raise DriverTimeout(
                WHERE,
                f"no feedback in {timeout_ms:g} ms from {', '.join(silent)}",
                mend="check power and network",
            )

    def _take_feedback(self, timeout_ms: float) -> bool:
        if self._opened().get_next_feedback(timeout_ms=timeout_ms, reuse_fbk=self._feedback) is None:
            return False
        position = self._feedback.position
        np.isfinite(position, self._known)
        np.copyto(self._measured, position, where=self._known)
        np.copyto(self._received_s, self.now(), where=self._known)
        return True

    def read(self, state: ActuatorState) -> None:
        """Report the newest feedback that has arrived; it does not wait for any.

        Raises
        ------
        CommunicationLost
            If modules did not report for `feedback_timeout_s`.
        """
        came = self._take_feedback(0)
        if came:
            state.velocity[:] = self._feedback.velocity
            state.effort[:] = self._feedback.effort
            self._take_one_temperature()
        state.position[:] = self._measured
        state.temperature_c[:] = self._temperature_c
        state.stamp_s[:] = self._received_s
        if came and self._known.all():
            return
        if self.now() - self._received_s.min() > self.options.feedback_timeout_s:
            raise self._lost()

    def _take_one_temperature(self) -> None:
        """Ask one module a tick; hebi-py takes longer for this than for all positions together."""
        index = self._next_temperature
        self._next_temperature = (index + 1) % len(self.actuators)
        self._temperature_c[index] = self._feedback[index].motor_winding_temperature

    def _lost(self) -> CommunicationLost:
        age_s = self.now() - self._received_s
        lost = [
            str(module)
            for module, module_age_s in zip(self.modules, age_s, strict=True)
            if module_age_s > self.options.feedback_timeout_s
        ]
        return CommunicationLost(
            WHERE,
            f"no feedback for {age_s.max():.2f} s from {', '.join(lost)}",
            f"`feedback_timeout_s` is {self.options.feedback_timeout_s:g}",
            "check power, cables and the network",
        )

    def write(self, command: ActuatorCommand) -> None:
        """Send a setpoint; a position of NaN is sent as the last one, unless a velocity comes alone."""
        self._opened()
        if not self._torque or self._halted:
            return
        pause_s = self._pause_s()
        if pause_s > self._lifetime_s:
            raise LetGo(
                WHERE,
                "the modules let go",
                f"no setpoint came for {pause_s:.3f} s, and `command_lifetime_s` is {self._lifetime_s:g}",
                "enable them again",
            )
        np.isfinite(command.position, self._known)
        if not self._known.all():
            np.copyto(self._goal, np.nan, where=~self._known & np.isfinite(command.velocity))
        np.copyto(self._goal, command.position, where=self._known)
        self._effort[:] = command.effort
        self._send(self._goal, command.velocity, self._effort)

    def _pause_s(self) -> float:
        return self.now() - self._sent_s

    def _send(self, position: Floats, velocity: Floats | float, effort: Floats) -> None:
        self._command.position = position
        self._command.velocity = velocity
        self._command.effort = effort
        if not self._opened().send_command(self._command):
            raise CommunicationLost(
                WHERE,
                "a command could not be sent",
                "the network refused it",
                "check cables and the interface's address",
            )
        self._sent_s = self.now()

    def enable(self) -> None:
        """Command the positions where the modules are measured to be.

        Raises
        ------
        DriverTimeout
            If some have not reported yet.
        """
        self._measured.fill(np.nan)
        self._measure(ENABLE_TIMEOUT_MS)
        self._hold_here()
        self._torque, self._halted = True, False

    def _hold_here(self) -> None:
        self._goal[:] = self._measured
        self._effort.fill(np.nan)
        self._send(self._goal, 0.0, self._effort)

    def disable(self) -> None:
        """Send a command that is empty and lives for 1 ms, after which the modules let go."""
        group = self._opened()
        self._torque = self._halted = False
        group.command_lifetime = 1
        try:
            self._effort.fill(np.nan)
            self._send(self._effort, np.nan, self._effort)
        finally:
            group.command_lifetime = round(self._lifetime_s * 1000)

    def halt(self) -> None:
        """Hold where the first of these calls found the modules; the effort fed forward stays."""
        if self._group is None or not self._torque or self._pause_s() > self._lifetime_s:
            return
        if not self._halted:
            self._take_feedback(0)
            self._goal[:] = self._measured
            self._halted = True
        self._send(self._goal, 0.0, self._effort)

    def close(self) -> None:
        """Leave the modules to themselves; they let go at the end of the command lifetime."""
        group, self._group = self._group, None
        self._torque = self._halted = False
        self._command = self._feedback = None
        if group is not None:
            group.feedback_frequency = 0.0


def _modules_for(actuators: Sequence[str], config: HebiConfig) -> tuple[Module, ...]:
    """Match actuators and modules by name where every actuator has its module, else by order."""
    by_name = {name: Module(family, name) for family, name in zip(config.families, config.names, strict=True)}
    if by_name.keys() >= set(actuators) and len(by_name) == len(config.names):
        return tuple(by_name[name] for name in actuators)
    if len(config.names) != len(actuators):
        raise DriverConfigError(
            WHERE,
            f"{len(config.names)} modules do not go with {len(actuators)} actuators",
            "they are matched by name, or else by order",
            "name as many modules as there are actuators",
        )
    return tuple(map(Module, config.families, config.names))
