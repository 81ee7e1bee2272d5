"""Who may connect to the embedded broker."""

from __future__ import annotations

import hmac
import os
import re
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..config.secrets import NoCredential, secret_file
from .packets import ConnectCode

if TYPE_CHECKING:
    from pathlib import Path

    from ..config.mqtt import MqttSettings
    from .packets import Connect

MOST_BYTES = 65_536  # more than a CONNECT can hold
LINE_END = re.compile(rb"\r\n|\r|\n")  # as a client's text file has it


class LoginError(Exception):
    """The password file gives no password, so that nobody can be let in."""


@dataclass(frozen=True, slots=True)
class Login:
    """A name and a password that every client needs."""

    username: str
    password_file: Path

    def check(self, connect: Connect) -> ConnectCode:
        """Return whether a client may connect, as the code of its CONNACK."""
        password = self._password()
        if connect.username is None:
            return ConnectCode.NOT_AUTHORIZED
        name_fits = hmac.compare_digest(connect.username, self.username.encode())
        password_fits = hmac.compare_digest(connect.password or b"", password)
        return ConnectCode.ACCEPTED if name_fits and password_fits else ConnectCode.BAD_LOGIN

    def _password(self) -> bytes:
        """Read the password; a pipe in place of a file does not hold up the daemon."""
        hint = "nobody can log in; correct mqtt.password_file"
        try:
            descriptor = os.open(secret_file(self.password_file), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            with os.fdopen(descriptor, "rb") as file:
                if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                    raise LoginError(f"{self.password_file}: no file; {hint}")
                password = LINE_END.split(file.read(MOST_BYTES), maxsplit=1)[0]
        except NoCredential as error:
            raise LoginError(f"{self.password_file}: nobody can log in; {error.strerror}") from error
        except OSError as error:
            reason = os.strerror(error.errno or 0).lower()
            raise LoginError(f"{self.password_file}: cannot be read; {reason}; {hint}") from error
        if not password:
            raise LoginError(f"{self.password_file}: its first line is empty; {hint}")
        return password


def login_of(settings: MqttSettings) -> Login | None:
    """Return what the settings ask of the embedded broker's clients."""
    if settings.username is None or settings.password_file is None:
        return None
    return Login(settings.username, settings.password_file)
