"""What the servos report: asked for, collected, and watched for servos that are silent, failed or loose."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ..base import ActuatorState, DriverError
from .bus import TRIES
from .chain import cells, lost
from .setup import failed, failures, raise_all

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Callable, Iterable, Sequence

    from ..base import ErrorCounts, Floats
    from .bus import Bus
    from .chain import Chain, Servo
    from .family import Family
    from .models import Item
    from .units import Units

NOTICE_PAUSE_S = 60.0
RESTART_S = 0.05
"""So soon no servo answers again that has restarted."""


class Feedback:
    """The last feedback of all servos; it outlives a closed bus.

    `watched`: the registers that tell whether a servo holds, `torque_enable` first; each is read in turn.
    `lost_after`: how many answers in a row a lost servo has missed. `errors`: what is counted of each; a
    servo that lost its torque without an error has restarted. `position` (actuators,): in rad.
    `torque` (actuators,): 1 where torque is on by the servo's register, 0 where it is off; NaN where it is
    not known. `withheld`: the actuators whose servos are to get no goals, as a goal may switch torque on,
    or end an overload at once: those found without torque, those that may have restarted, and those that
    have shut down. `shutdown` (actuators,): the hardware errors at which each servo switches its torque off;
    the caller sets it.
    """

    watched: ClassVar[tuple[str, ...]] = ("torque_enable",)
    _chains: tuple[Chain, ...]
    _servos: tuple[Servo, ...]
    _rounds: list[list[Chain]]
    _units: Units

    def __init__(
        self,
        lost_after: int,
        now: Callable[[], float],
        notices: deque[str],
        errors: ErrorCounts,
        family: Family,
    ) -> None:
        count = len(errors.missed)
        self._errors = errors
        self._lost_after, self._now, self._notices, self._family = lost_after, now, notices, family
        mask = family.protocol.alert_mask
        self._alert_mask, self._least_alert = mask, mask & -mask
        self._state = ActuatorState(count)
        self._cells = self._into = cells(self._state.values)
        self._filled = self._state
        self.position, self.torque = self._state.position, self._state.torque
        self._torque = cells(self.torque)
        self.shutdown = np.zeros(count, np.uint8)
        self._alert, self._alerted = np.zeros((2, count), np.uint8)
        self._missed = np.zeros(count, np.int64)
        self._garbled = np.zeros(count, np.bool_)  # of whom an answer came damaged since the last sound one
        self._is_any_missed = self._is_any_alert = False  # no array need be looked at while all is well
        self.withheld: set[int] = set()
        self._unseen: set[int] = set()
        self._failed: set[int] = set()
        self._noticed_s: dict[tuple[int, int], float] = {}
        self._next_look = 0
        self._look: tuple[Servo, str, Item, bool] | None = None
        self._problem: DriverError | None = None
        self.disconnect()

    def connect(
        self, buses: Sequence[Bus], chains: Sequence[Chain], servos: Sequence[Servo], units: Units
    ) -> None:
        """Ask these servos, which are in the order of the actuators, from now on."""
        for chain in chains:
            chain.report_to(self._state, units.of)
        self._units = units
        self._chains, self._servos = tuple(chains), tuple(servos)
        self._rounds = _rounds(buses, chains)
        self._looks = {
            held: [
                (servo, name, servo.model.table[name])
                for servo in servos
                for name in (self.watched if held else self.watched[:1])
            ]
            for held in (False, True)
        }

    def disconnect(self) -> None:
        """Forget the servos; what they reported stays."""
        self._chains, self._servos, self._rounds = (), (), []
        self._look = self._problem = None
        self._failed.clear()

    def listen(self, *, full: bool) -> None:
        """Ask all servos for short or full feedback, and wait for it; all buses are asked in parallel."""
        for chains in self._rounds:
            for chain in chains:
                chain.ask(full=full)
            for chain in chains:
                self._take(chain)

    def _take(self, chain: Chain) -> None:
        chain.take()
        if self._is_any_missed or not chain.all_answered:
            self._count_missed(chain)
        if self._is_any_alert or max(chain.errors) >= self._least_alert:
            self._alert[chain.indexes] = [error & self._alert_mask for error in chain.errors]
            self._is_any_alert = True

    def _count_missed(self, chain: Chain) -> None:
        """Count who missed how many answers in a row."""
        missed = ~np.array(chain.answered)
        at = chain.indexes
        self._missed[at] = np.where(missed, self._missed[at] + 1, 0)
        damaged = np.array(chain.damaged)
        self._garbled[at] = missed & (self._garbled[at] | damaged)
        self._errors.missed[at] += missed
        self._errors.damaged[at] += damaged
        self._is_any_missed = bool(self._missed.any())
        silent = missed & (self._now() - self._state.stamp_s[at] > RESTART_S)
        self._doubt(at[silent].tolist())

    def _doubt(self, indexes: Iterable[int]) -> None:
        """Have these servos looked at before they get goals again."""
        self._unseen.update(indexes)
        self.withheld.update(self._unseen)

    def ticks(self) -> Floats:
        """Return the positions in ticks (actuators,)."""
        ticks = np.empty(len(self.position))
        self._units.to_ticks(self.position, ticks)
        return ticks

    def fill(self, state: ActuatorState) -> None:
        """Fill `state` with the last feedback; what was missed keeps its old stamp."""
        if state is not self._filled:  # in almost all ticks it is the same
            self._filled, self._into = state, cells(state.values)
        self._into[:] = self._cells

    def measure(self) -> None:
        """Ask until all servos answer in one go, up to `TRIES` times.

        Raises CommunicationLost naming those that did not answer.
        """
        for _ in range(TRIES):
            self.listen(full=False)
            if all(chain.all_answered for chain in self._chains):
                return
        silent = [
            servo
            for chain in self._chains
            for servo, answered in zip(chain.servos, chain.answered, strict=True)
            if not answered
        ]
        raise lost(silent, len(self._servos) - len(silent), len(self._servos))

    def refuse_silence(self) -> None:
        """Raise if a servo has missed `lost_after` answers in a row.

        Raises CommunicationLost naming those that do not answer when asked alone either. Raises DriverError
        if all of them do; naming those whose answers came damaged, if any did.
        """
        if self._is_any_missed and self._missed.max() >= self._lost_after:
            raise self._lost()

    def _lost(self) -> DriverError:
        """Ask the silent servos one by one, as a missing answer may have hidden others."""
        suspects = [one for one in self._servos if self._missed[one.index] >= self._lost_after]
        silent = [one for one in suspects if not one.bus.is_there(one.servo_id, 1)]
        if silent:
            return lost(silent, len(self._servos) - len(silent), len(self._servos), self._lost_after)
        self._missed.fill(0)
        garbled = [one for one in suspects if self._garbled[one.index]]
        return _unsound(garbled, self._lost_after) if garbled else _late(suspects, self._lost_after)

    def refuse_failures(self) -> None:
        """Look up hardware errors where servos began or ceased to signal one.

        Raises DriverError if servos have shut down; other errors become notices.
        """
        if self._is_any_alert:
            self._is_any_alert = bool(self._alert.any())
            if (self._alert != self._alerted).any():
                self._learn_of_failures()

    def _learn_of_failures(self) -> None:
        self._errors.reported += (self._alert & ~self._alerted) > 0
        self._alerted[:] = self._alert
        self._failed.clear()
        problems = []
        for chain in self._chains:
            if self._alert[chain.indexes].any():
                for servo, bits in failures(chain, self._family):
                    if bits & self.shutdown[servo.index]:
                        self._failed.add(servo.index)
                        self._look_at_torque(servo)
                        problems.append(failed(servo, bits, self._family))
                    else:
                        self._notice(servo, bits)
        raise_all(problems)

    def _notice(self, servo: Servo, bits: int) -> None:
        """Report an error that stops nothing; not again soon, as that of a weak supply comes and goes."""
        now_s = self._now()
        if now_s - self._noticed_s.get((servo.index, bits), -math.inf) >= NOTICE_PAUSE_S:
            self._noticed_s[servo.index, bits] = now_s
            self._notices.append(f"{servo.where}: reports {self._family.in_words(bits)}; it goes on")

    def _look_at_torque(self, servo: Servo) -> None:
        """Find out whether a servo that has failed has its torque still; not known if it does not answer."""
        torque = servo.glance("torque_enable")
        if torque is None:
            self.torque[servo.index] = np.nan
            self._doubt([servo.index])
        else:
            self._note_torque(servo.index, torque)

    def _note_torque(self, index: int, torque: float) -> None:
        self._torque[index] = torque
        self._unseen.discard(index)
        takes_goals = torque and index not in self._failed
        (self.withheld.discard if takes_goals else self.withheld.add)(index)

    def note_restart(self, indexes: Iterable[int]) -> None:
        """Take these servos as restarted on request, and so without torque."""
        for index in indexes:
            self._note_torque(index, 0.0)

    def note_hold(self) -> None:
        """Take all servos as holding, and none as shut down."""
        self._failed.clear()
        for servo in self._servos:
            self._note_torque(servo.index, 1.0)

    def begin_look(self, *, held: bool) -> None:
        """Ask one servo, the next in turn, for its torque, or for all `watched` where it should hold.

        It answers while nothing else is to be done; `take_look` and `end_look` of the next tick take that.
        """
        looks = self._looks[held]
        servo, name, item = looks[self._next_look % len(looks)]
        self._next_look += 1
        if servo.bus.begin_read(servo.servo_id, item.address, item.size):
            self._look = servo, name, item, held
        else:
            self._count_missed_look(servo)

    def take_look(self) -> None:
        """Take the answer to `begin_look` before goals are sent, unless anything was sent since.

        What was sent since may have made it untrue.
        """
        if self._look is None:
            return
        (servo, name, item, held), self._look = self._look, None
        if servo.bus.is_reading:
            data = servo.bus.end_read()
            value = None if data is None else item.decode(data, item.address)
            try:
                self._take_look(servo, name, value, held=held)
            except DriverError as error:  # goals to the others come first
                self._problem = error

    def end_look(self) -> None:
        """Do as `take_look` where no goals were sent.

        Raises DriverError if a servo does not hold that should.
        """
        self.take_look()
        if self._problem is not None:
            problem, self._problem = self._problem, None
            raise problem

    def look_at_returned(self, *, held: bool) -> None:
        """Read the torque of servos that answer again and may have restarted; raises as `end_look` does.

        Called before goals are sent again.
        """
        name = self.watched[0]
        for index in [one for one in self._unseen if not self._missed[one]]:
            servo = self._servos[index]
            self._take_look(servo, name, servo.glance(name), held=held)

    def _take_look(self, servo: Servo, name: str, value: int | None, *, held: bool) -> None:
        if value is None:
            self._count_missed_look(servo)
        else:
            self._take_register(servo, name, value, held=held)

    def _count_missed_look(self, servo: Servo) -> None:
        self._errors.missed[servo.index] += 1
        self._errors.damaged[servo.index] += servo.bus.heard_from(servo.servo_id)

    def look_at_all(self, *, held: bool) -> None:
        """Read these registers of all servos now; raises as `end_look` does, for all of them."""
        problems = []
        for chain in self._chains:
            for name in self.watched if held else self.watched[:1]:
                for servo, value in zip(chain.servos, chain.get(name), strict=True):
                    try:
                        self._take_register(servo, name, value, held=held)
                    except DriverError as error:
                        problems.append(error)
        raise_all(problems)

    def _take_register(self, servo: Servo, name: str, value: int, *, held: bool) -> None:
        if name == "torque_enable":
            if not value and self.torque[servo.index] == 1 and not self._alert[servo.index]:
                self._errors.restarts[servo.index] += 1
            self._note_torque(servo.index, value)
        if held and (problem := self.why_not_held(servo, name, value)) is not None:
            raise problem

    def why_not_held(self, servo: Servo, name: str, value: int) -> DriverError | None:
        """Return what is wrong where a servo should hold, by a register of `watched`."""
        if name != "torque_enable" or value:
            return None
        return DriverError(
            servo.where,
            "its torque is off",
            "it has restarted, or another program switched it off",
            "check its power, then reset and enable the robot",
            actuators=[servo.actuator],
        )


def _unsound(servos: Sequence[Servo], tries: int) -> DriverError:
    """Return the error of servos whose answers come damaged where others answer as well."""
    return DriverError(
        servos[0].where,
        f"no sound feedback ({tries} tries)",
        "it answers when asked alone",
        f"check that no other servo has id {servos[0].servo_id}, check the wiring and its length, "
        "or lower the baud rate",
        actuators=[servo.actuator for servo in servos],
    )


def _late(servos: Sequence[Servo], tries: int) -> DriverError:
    """Return the error of servos that answer, but of which nothing came in time."""
    others = "".join(f", nor from {servo.where}" for servo in servos[1:])
    return DriverError(
        servos[0].where,
        f"no feedback in time ({tries} tries){others}",
        "it answers when asked alone",
        "free the processor, see the adapter's latency in `motiond doctor`, or raise `answer_timeout_s`",
        actuators=[servo.actuator for servo in servos],
    )


def _rounds(buses: Sequence[Bus], chains: Sequence[Chain]) -> list[list[Chain]]:
    """Group chains of different buses, as those can be asked in parallel."""
    of_bus = [[chain for chain in chains if chain.bus is bus] for bus in buses]
    return [
        [chains[number] for chains in of_bus if number < len(chains)]
        for number in range(max(map(len, of_bus)))
    ]
