"""What is wrong with a simulated robot now, and what remains of it afterwards.

In come faults and the passing of time, out comes the present `Trouble`; joints and encoders are told. Two
things outlast their fault: an actuator whose m-stop was pressed or that lost its power has no torque until it
is switched on again, and one that lost its power measures positions whole turns off.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..base import DriverError
from .fault_schedule import Timeline
from .faults import Clear, Trouble, place_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .encoder import Encoder
    from .faults import Fault
    from .plant import Plant

FULL_TURN = 2 * np.pi


class Mishaps:
    """Lets faults begin and end.

    Parameters
    ----------
    where : str
        The driver, for messages.
    tell : callable
        Takes a sentence for the user whenever a fault begins or ends.

    Attributes
    ----------
    timeline : Timeline
    trouble : Trouble
        What is wrong now.
    on_the_wire, heating, limp : bool
        Whether commands or feedback are troubled, actuators get hot, and some have no torque.
    ahead : bool
        Whether a driver must look at any of this: something on its side of the joints is, or remains, wrong.
    """

    def __init__(self, where: str, actuators: Sequence[str], tell: Callable[[str], None]) -> None:
        self._where, self._actuators, self._tell = where, actuators, tell
        self.timeline = Timeline()
        self.trouble = Trouble(len(actuators))
        self._was_stopped, self._has_restarted = np.zeros((2, len(actuators)), bool)
        self._note_kinds()

    def _note_kinds(self) -> None:
        trouble = self.trouble
        self.on_the_wire = trouble.on_the_wire
        self.heating = bool(trouble.heating_c_per_s.any())
        self._limp = trouble.stopped | trouble.unpowered | self._was_stopped | self._has_restarted
        self.limp = bool(self._limp.any())
        self.ahead = self.on_the_wire or self.heating or self.limp or trouble.cut

    def turn(self, plant: Plant, encoder: Encoder) -> Fault | None:
        """Go over the next change, at its step; give the fault that begins, if one does."""
        fault, begins = self.timeline.turn()
        if isinstance(fault, Clear):
            self.timeline.clear()
            self._tell("simulated faults are cleared")
        else:
            self._tell(f"simulated fault {'begins' if begins else 'ends'}: {fault}")
        before = self.trouble
        self.trouble = self._sum_up()
        encoder.turn(FULL_TURN * before.turns * (before.unpowered & ~self.trouble.unpowered))
        self._was_stopped |= self.trouble.stopped
        self._has_restarted |= self.trouble.unpowered
        self.apply(plant)
        return fault if begins else None

    def _sum_up(self) -> Trouble:
        trouble = Trouble(len(self._actuators))
        for fault in self.timeline.lasting:
            fault.befall(trouble, place_of(self._where, fault, self._actuators))
        return trouble

    def apply(self, plant: Plant) -> None:
        """Let the joints feel what is wrong now."""
        self._note_kinds()
        plant.suffer(stuck=self.trouble.stuck, limp=self._limp, grip=self.trouble.grip)

    def recover(self, plant: Plant) -> None:
        """Switch on again what a fault that is over has switched off.

        Raises
        ------
        DriverError
            If an m-stop is still pressed or power still missing; then nothing is switched on.
        """
        if (self.trouble.stopped | self.trouble.unpowered).any():
            raise self.without_torque()
        self._was_stopped[:] = self._has_restarted[:] = False
        self.apply(plant)

    def without_torque(self) -> DriverError:
        """Say which actuators a fault has switched off, and why; there are some."""
        trouble = self.trouble
        reasons = (
            (trouble.unpowered, "power is lost", "check the supply, then enable again"),
            (trouble.stopped, "m-stop is pressed", "release it, then enable again"),
            (self._has_restarted, "power was lost", "check that the position is right, then enable again"),
            (self._was_stopped, "m-stop was pressed", "enable again"),
        )
        named, what, mend = next(reason for reason in reasons if reason[0].any())
        names = [name for name, is_named in zip(self._actuators, named, strict=True) if is_named]
        return DriverError(", ".join(names), what, "there is no torque", mend)
