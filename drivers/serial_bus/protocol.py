"""What a bus needs of the protocol that its servos speak."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Firmware: TypeAlias = int | str
"""A firmware's version as the maker writes it, such as 45 or `3.10`."""


@dataclass(frozen=True, slots=True)
class Found:
    """A servo that answered a ping."""

    servo_id: int
    model_number: int
    firmware: Firmware


class StatusPacket(Protocol):
    """A servo's answer: its error byte, and the bytes after it."""

    @property
    def servo_id(self) -> int:
        """Who answers."""

    @property
    def error(self) -> int:
        """The error byte."""

    @property
    def data(self) -> bytes:
        """What follows it."""


class ServoProtocol(Protocol):
    """Makes frames, and reads answers.

    Attributes
    ----------
    driver : str
        The driver whose servos speak it, as in configurations.
    header : bytes
        What each frame begins with; the id follows it.
    highest_id : int
        The highest id of a servo.
    status_bytes : int
        Length of an answer without data.
    ping_bytes : int
        Length of the data in the answer to a ping.
    identity : (int, int) or None
        Address and length of the registers that say what a servo is; None where its answer to a ping does.
    alert_mask : int
        The bits of the error byte that report a servo's state; the others refuse what was asked.
    slowest_return_s : float
        How long a servo waits at most before it answers, in s.
    """

    driver: str
    header: bytes
    highest_id: int
    status_bytes: int
    ping_bytes: int
    identity: tuple[int, int] | None
    alert_mask: int
    slowest_return_s: float

    def ping(self, servo_id: int) -> bytes:
        """Return the frame that asks whether a servo is there."""

    def ping_all(self) -> bytes | None:
        """Return the frame that asks which servos are there; None where each is asked by itself."""

    def read(self, servo_id: int, address: int, length: int) -> bytes:
        """Return the frame that asks one servo for part of its control table."""

    def write(self, servo_id: int, address: int, data: bytes) -> bytes:
        """Return the frame that writes part of one servo's control table."""

    def reboot(self, servo_id: int) -> bytes:
        """Return the frame that restarts a servo, which it answers before."""

    def sync_read(self, ids: Sequence[int], address: int, length: int) -> bytes:
        """Return the frame that asks several servos for one part of their control tables."""

    def sync_write(self, address: int, data: Mapping[int, bytes]) -> bytes:
        """Return the frame that writes one part of several control tables; there is no answer.

        `data`: bytes by servo id; at least one servo, and all of the same length.
        """

    def take(self, received: bytearray) -> StatusPacket | None:
        """Remove the first sound answer, and all before it; None if no answer is complete yet."""

    def refusal(self, packet: StatusPacket) -> str | None:
        """Return why a servo refused what it was asked; None where it did not."""

    def heard_badly(self, packet: StatusPacket) -> bool:
        """Return whether a servo says that the question came damaged."""

    def found(self, servo_id: int, data: bytes) -> Found:
        """Return what a servo is, by its answer to a ping, or by the registers at `identity`."""
