"""What a driver says of its servos to the parts that all drivers on serial buses share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .chain import Servo
    from .models import Model
    from .protocol import ServoProtocol


@dataclass(frozen=True, slots=True)
class Family:
    """Servos of one maker that speak one protocol.

    `driver`: its name in configurations. `tool`: the maker's program that sets servos. `models`: returns all
    known models by number. `error_register`, `errors`: the register that says what is wrong, and its bits in
    words. `shutdown_register`: the errors at which a servo switches its torque off. `meaning`: returns what
    some errors mean for a servo, and what helps. `fatal`: errors with which no servo is driven, whatever that
    register says. `clears`: whether errors that servos keep are cleared without a restart.
    """

    driver: str
    tool: str
    protocol: ServoProtocol
    models: Callable[[], Mapping[int, Model]]
    error_register: str
    errors: Mapping[int, str]
    shutdown_register: str
    meaning: Callable[[Servo, int], tuple[str, str]]
    fatal: int = 0
    clears: bool = False

    @property
    def where(self) -> str:
        """What messages name."""
        return f"driver {self.driver}"

    @property
    def page(self) -> str:
        """The page that lists its models."""
        return f"docs/{self.driver}.md"

    def in_words(self, bits: int) -> str:
        """Return what is wrong, such as `overheating and overload`."""
        named = [words for bit, words in self.errors.items() if bits & bit]
        if unknown := bits & ~sum(self.errors):
            named.append(f"unknown error bits 0x{unknown:02x}")
        return " and ".join(named)
