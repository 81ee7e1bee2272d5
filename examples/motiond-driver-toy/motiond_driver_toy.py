"""Drives the actuators of a toy controller."""

import time
from collections.abc import Callable, Sequence

from pydantic import Field
from toy_link import NOTHING, ToyLink

from motiond.drivers import (
    ActuatorCommand,
    ActuatorState,
    CommunicationLost,
    Driver,
    DriverConfigError,
    DriverError,
    DriverOptions,
    DriverTimeout,
    LifetimeExpired,
    Positive,
    require_lifetime,
    slowest_rate_hz,
)


class ToyOptions(DriverOptions):
    """The options of `type: toy`."""

    address: str = Field(default="127.0.0.1:9750", pattern=r"^[^:]+:\d+$", description="UDP, host:port.")
    timeout_s: Positive = Field(default=0.1, description="How long an answer may take.")
    command_lifetime_s: Positive = Field(default=0.2, description="As it is set in the controller.")


class ToyDriver(Driver):
    """Three actuators behind a toy controller."""

    Options = ToyOptions
    options: ToyOptions
    max_rate_hz = 200.0

    def __init__(
        self, actuators: Sequence[str], options: ToyOptions, now: Callable[[], float] = time.monotonic
    ) -> None:
        self.where = f"driver toy at {options.address}"
        super().__init__(actuators, options, now)
        if len(self.actuators) != len(NOTHING):
            raise DriverConfigError(self.where, "a toy controller has three actuators", hint="name three")
        self.min_rate_hz = slowest_rate_hz(options.command_lifetime_s)
        self._link: ToyLink | None = None
        self._holding = self._halted = False
        self._sent_s = 0.0

    @property
    def devices(self) -> tuple[str, ...]:
        return (f"toy:{self.options.address}",)

    def open(self) -> None:
        if self._link is not None:
            raise DriverError(self.where, "is open already", hint="close it first")
        self._link = ToyLink(self.options.address, self.options.timeout_s)
        try:
            self._ask(b"R")
        except DriverError:
            self.close()
            raise

    def _ask(self, letter: bytes, values: Sequence[float] = NOTHING) -> tuple[bool, Sequence[float]]:
        if self._link is None:
            raise DriverError(self.where, "is not open", hint="open it first")
        try:
            return self._link.ask(letter, values)
        except TimeoutError as error:
            reason = f"`timeout_s` is {self.options.timeout_s:g}"
            raise DriverTimeout(self.where, "no answer", reason, "look at the controller") from error
        except OSError as error:
            raise CommunicationLost(self.where, "is gone", str(error), "check `address`") from error

    def set_period(self, period_s: float) -> None:
        super().set_period(period_s)
        require_lifetime(self.where, self.options.command_lifetime_s, period_s)

    def read(self, state: ActuatorState) -> None:
        holds, state.position[:] = self._ask(b"R")
        state.torque.fill(holds)
        state.stamp_s.fill(self.now())

    def write(self, command: ActuatorCommand) -> None:
        if self._link is not None and (not self._holding or self._halted):
            return
        pause_s = self.now() - self._sent_s
        still_holds, _ = self._ask(b"P", command.position.tolist())
        if not still_holds:
            reason = f"no setpoint came for {pause_s:.3f} s"
            raise LifetimeExpired(
                self.where, "the actuators are released", reason, "reset and enable the robot"
            )
        self._sent_s = self.now()

    def enable(self) -> None:
        self._ask(b"E")  # the controller sets the goals to where the actuators are
        self._holding, self._halted = True, False
        self._sent_s = self.now()

    def disable(self) -> None:
        self._ask(b"D")
        self._holding = self._halted = False

    def halt(self) -> None:
        if self._link is not None and self._holding:
            self._halted = True
            self._ask(b"H")  # does nothing to actuators that have released

    def close(self) -> None:
        self._holding = self._halted = False
        if self._link is not None:
            self._link.close()
            self._link = None
