"""What a client raises.

Exception
└── ClientError
    ├── Refused              the daemon refuses a request
    └── NoAnswer             no answer: no broker, no daemon, or no such robot
        └── ConnectionLost   there was a connection, and it has broken
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from motiond.local import Impostor

if TYPE_CHECKING:
    from collections.abc import Sequence


class ClientError(Exception):
    """What the client raises; `str()` is `subject: problem; reason; hint`."""

    exit_code: ClassVar[int] = 1

    @property
    def message(self) -> str:
        """The same as `str()`."""
        return str(self)


class Refused(ClientError):
    """The daemon refuses a request.

    Attributes
    ----------
    code : str
        For programs: BUSY, UNKNOWN_MOTION, … (docs/mqtt.md).
    data : dict
        What belongs to the code, such as the `holder` of NOT_IN_CONTROL.
    problems : tuple of dict
        The message in parts (docs/mqtt.md): `subject`, `problem`, `reason`, `hint`, `field`, where not empty.
    """

    def __init__(
        self,
        code: str,
        message: str,
        data: dict[str, Any] | None = None,
        problems: Sequence[dict[str, str]] = (),
    ) -> None:
        super().__init__(message)
        self.code = code
        self.data = data or {}
        self.problems = tuple(problems)

    @property
    def is_free(self) -> bool:
        """Whether it is refused only because somebody has to be in control, and no client is."""
        return self.code == "NOT_IN_CONTROL" and self.data.get("holder") is None


class NoAnswer(ClientError):
    """No answer came."""

    exit_code: ClassVar[int] = 3

    @property
    def is_refused(self) -> bool:
        """Whether that is because nobody listens there who is believed."""
        return isinstance(self.__cause__, ConnectionRefusedError | Impostor)


class ConnectionLost(NoAnswer):
    """The connection has broken, and was not made again in time; a request may have been acted on."""
