"""What is message of a port that may not be opened, by the rights of its file."""

from __future__ import annotations

import errno
import os
import pwd
from pathlib import Path
from typing import Any

import pytest

from motiond.drivers import port_access
from motiond.drivers.base import DriverError
from motiond.drivers.dynamixel import bus
from motiond.drivers.port_access import Rights, rights_of, user_name, why_denied, why_not_opened

PORT = Path("/dev/ttyUSB0")
ANOTHER_S: dict[str, Any] = {"is_member": False, "is_listed": False, "is_owner": False}
RULE = 'KERNEL=="ttyUSB*", GROUP="dialout", MODE="0660"'
FOR_NOBODY = f"add a udev rule, {RULE}; or give it to the container with --device /dev/ttyUSB0"


@pytest.mark.parametrize(
    ("rights", "reason", "hint"),
    [
        (
            Rights(0o660, 20, "dialout", **ANOTHER_S),
            "its group dialout may",
            "usermod -aG dialout ana, and log in again",
        ),
        (
            Rights(0o666 & ~0o006, 14, "uucp", **ANOTHER_S),
            "its group uucp may",
            "usermod -aG uucp ana, and log in again",
        ),
        (
            Rights(0o660, 20, "dialout", **ANOTHER_S | {"is_listed": True}),
            "its group dialout may",
            "log in again: ana is in the group dialout only from then on",
        ),
        (
            Rights(0o600, 0, "root", **ANOTHER_S),
            "its mode is 0600 and its group root; no group of users may open it",
            FOR_NOBODY,
        ),
        (
            Rights(0o660, 0, "root", **ANOTHER_S),
            "its mode is 0660 and its group root; no group of users may open it",
            FOR_NOBODY,
        ),
        (
            Rights(0o660, 0, None, **ANOTHER_S),
            "its mode is 0660 and its group root; no group of users may open it",
            FOR_NOBODY,
        ),
        (
            Rights(0o600, 20, "dialout", **ANOTHER_S),
            "its mode is 0600 and its group dialout; no group of users may open it",
            FOR_NOBODY,
        ),
        (
            Rights(0o640, 20, "dialout", **ANOTHER_S | {"is_member": True}),
            "its mode is 0640 and its group dialout; no group of users may open it",
            FOR_NOBODY,
        ),
        (
            Rights(0o620, 5, "tty", **ANOTHER_S),
            "its mode is 0620 and its group tty; no group of users may open it",
            FOR_NOBODY,
        ),
        (
            Rights(0o660, 986, None, **ANOTHER_S),
            "its group 986 may, and has no name here",
            "start the container with --group-add 986",
        ),
        (
            Rights(0o660, 20, "dialout", **ANOTHER_S | {"is_member": True}),
            "its file would allow it, and the system does not: a container is not given the device",
            "start the container with --device /dev/ttyUSB0",
        ),
        (
            Rights(0o666, 0, "root", **ANOTHER_S),
            "its file would allow it, and the system does not: a container is not given the device",
            "start the container with --device /dev/ttyUSB0",
        ),
        (
            Rights(0o600, 0, "root", **ANOTHER_S | {"is_owner": True}),
            "its file would allow it, and the system does not: a container is not given the device",
            "start the container with --device /dev/ttyUSB0",
        ),
    ],
)
def test_it_reports_who_may_and_what_helps_and_no_user_gets_the_group_root(
    rights: Rights, reason: str, hint: str
) -> None:
    assert why_denied(PORT, rights, "ana", "dialout") == (reason, hint)
    assert "usermod -aG root" not in hint


@pytest.mark.parametrize("mode", [0o600, 0o660, 0o640])
def test_the_rights_are_those_of_the_file(tmp_path: Path, mode: int) -> None:
    port = tmp_path / "ttyUSB0"
    port.touch()
    port.chmod(mode)
    rights = rights_of(port)
    assert (rights.mode, rights.group_id, rights.is_owner) == (mode, port.stat().st_gid, True)
    assert rights.is_member == (port.stat().st_gid in {*os.getgroups(), os.getegid()})


@pytest.mark.usefixtures("nameless")
def test_a_user_without_a_name_goes_by_its_number() -> None:
    assert user_name() == str(os.geteuid())


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM])
def test_the_bus_reports_it_where_access_is_denied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    rights = Rights(0o660, 20, "dialout", **ANOTHER_S)
    monkeypatch.setattr(port_access, "rights_of", lambda _: rights)
    serial = pytest.importorskip("serial")

    def denied(*_: object, **__: object) -> None:
        raise serial.SerialException(number, os.strerror(number))

    monkeypatch.setattr(serial, "Serial", denied)
    port = str(tmp_path / "ttyUSB0")
    with pytest.raises(DriverError) as caught:
        bus.Bus(port, 57_600, 0.1).open()
    user = pwd.getpwuid(os.geteuid()).pw_name
    assert str(caught.value) == (
        f"{port}: cannot be opened; access is denied; its group dialout may; "
        f"usermod -aG dialout {user}, and log in again"
    )


def test_of_a_port_that_cannot_even_be_looked_at_no_more_is_said(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    assert why_not_opened(gone, PermissionError(errno.EACCES, "denied")) == (
        "access is denied",
        "look at the rights of its folder",
    )
    assert why_not_opened(gone, FileNotFoundError(errno.ENOENT, "gone")) is None
