"""Why a port may not be opened, by the rights of its file."""

from __future__ import annotations

import errno
import os
import pwd
from pathlib import Path
from typing import Any

import pytest

from motiond.drivers import port_access
from motiond.drivers.base import DriverError
from motiond.drivers.dynamixel.protocol import PROTOCOL
from motiond.drivers.port_access import Rights, rights_of, user_name, why_denied, why_not_opened
from motiond.drivers.serial_bus import bus
from tests.tables import table

PORT = Path("/dev/ttyUSB0")
ANOTHER_S: dict[str, Any] = {"is_member": False, "is_listed": False, "is_owner": False}


@table("file, user, reason, hint")
def test_it_reports_who_may_and_what_helps_and_no_user_gets_the_group_root(
    file: tuple[int, int, str | None], user: dict[str, bool], reason: str, hint: str
) -> None:
    rights = Rights(*file, **ANOTHER_S | user)
    assert why_denied(PORT, rights, "ana", "dialout") == (reason, hint)


def test_a_terminal_gets_no_rule_for_all_devices() -> None:
    _, hint = why_denied(Path("/dev/pts/3"), Rights(0o600, 0, "root", **ANOTHER_S), "ana", "dialout")
    assert hint == "run motiond as its owner; or give it to the container with --device /dev/pts/3"


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
        bus.Bus(port, 57_600, 0.1, PROTOCOL).open()
    user = pwd.getpwuid(os.geteuid()).pw_name
    assert str(caught.value) == (
        f"{port}: cannot be opened; access is denied; its group dialout may; "
        f"usermod -aG dialout {user}, and log in again"
    )


def test_a_port_that_cannot_be_looked_at_is_reported_without_its_rights(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    assert why_not_opened(gone, PermissionError(errno.EACCES, "denied")) == (
        "access is denied",
        "look at the rights of its folder",
    )
    assert why_not_opened(gone, FileNotFoundError(errno.ENOENT, "gone")) is None
