"""What is said of the serial ports that a configuration names."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from motiond.daemon.doctor import ports
from motiond.daemon.doctor.machine import user_name
from motiond.daemon.doctor.ports import check_ports
from motiond.daemon.doctor.report import Check, Verdict
from motiond.daemon.stream.locks import address_of
from motiond.drivers.port_access import Rights
from tests.daemon.doctor.machines import machine

if TYPE_CHECKING:
    from pathlib import Path

SOCKETS = "Num       RefCount Protocol Flags    Type St Inode Path\n"


@pytest.fixture
def port(tmp_path: Path) -> Path:
    path = tmp_path / "dev" / "ttyUSB0"
    path.parent.mkdir()
    path.touch()
    return path


def devices(*ports: Path) -> dict[str, tuple[str, ...]]:
    """Return what a robot drives, as the driver of serial servos tells it."""
    return {"arm": tuple(sorted({f"serial:{name}" for one in ports for name in (one, one.resolve())}))}


def opened_by(proc: Path, pid: int, port: Path, command: str) -> None:
    """Let a process have a port open."""
    links = proc / str(pid) / "fd"
    links.mkdir(parents=True)
    (links / "0").symlink_to("/dev/null")
    (links / "7").symlink_to(port)
    (proc / str(pid) / "cmdline").write_bytes(command.replace(" ", "\0").encode() + b"\0")


def timer(ms: object) -> dict[str, str]:
    return {"sys/bus/usb-serial/devices/ttyUSB0/latency_timer": f"{ms}\n"}


def test_a_configuration_without_ports_has_none_to_look_at(tmp_path: Path) -> None:
    (found,) = check_ports({"arm": ("hebi:arm/base",)}, machine(tmp_path))
    assert (found.verdict, found.found) == ("not applicable", "the configuration names no serial port")


def test_a_free_port_is_named_as_the_configuration_names_it(tmp_path: Path, port: Path) -> None:
    link = tmp_path / "dev" / "by-id"
    link.symlink_to(port)
    use, latency = check_ports(devices(link), machine(tmp_path, timer(1)))
    assert (use.subject, use.verdict, use.found) == (str(link), "ok", f"free, and {user_name()} may use it")
    assert (latency.subject, latency.verdict, latency.found, latency.hint) == (str(link), "ok", "1 ms", None)


def test_an_adapter_that_holds_bytes_back_is_warned_of_with_the_rule_that_mends_it(
    tmp_path: Path, port: Path
) -> None:
    _, latency = check_ports(devices(port), machine(tmp_path, timer(16)))
    file = tmp_path / "sys/bus/usb-serial/devices/ttyUSB0/latency_timer"
    assert latency == Check(
        check="latency timer",
        subject=str(port),
        verdict=Verdict.WARNING,
        found="16 ms",
        means="the adapter holds an answer back for so long, and each read takes as much longer",
        hint=f"echo 1 > {file}; for good, as a udev rule: "
        'ACTION=="add", SUBSYSTEM=="usb-serial", DRIVER=="ftdi_sio", ATTR{latency_timer}="1"',
        figures={"latency_ms": 16},
    )


@pytest.mark.parametrize("files", [{}, timer("what?"), timer("")])
def test_an_adapter_without_a_timer_is_left_alone(tmp_path: Path, port: Path, files: dict[str, str]) -> None:
    _, latency = check_ports(devices(port), machine(tmp_path, files))
    assert (latency.verdict, latency.found) == ("not applicable", "its adapter has no such timer")


def test_a_port_that_is_not_there_fails(tmp_path: Path) -> None:
    absent = tmp_path / "ttyUSB3"
    assert check_ports(devices(absent), machine(tmp_path)) == [
        Check(
            check="port",
            subject=str(absent),
            verdict=Verdict.FAILURE,
            found="it is not there",
            means="robot 'arm' stays offline until it is",
            hint="plug in the adapter, or correct `port`; `ls /dev/serial/by-id` shows what there is",
        )
    ]


def test_a_port_that_this_user_may_not_use_fails_with_what_its_rights_are(
    tmp_path: Path, port: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rights = Rights(0o660, 20, "dialout", is_member=False, is_listed=False, is_owner=False)
    monkeypatch.setattr(ports, "rights_of", lambda _: rights)
    asked = replace(machine(tmp_path), may_use=lambda _: False)
    use, _ = check_ports(devices(port), asked)
    user = user_name()
    assert (use.verdict, use.found) == ("failure", f"{user} may not read and write it; its group dialout may")
    assert use.hint == f"usermod -aG dialout {user}, and log in again; or ask as the daemon's user"


def test_another_program_on_a_port_is_named(tmp_path: Path, port: Path) -> None:
    asked = machine(tmp_path)
    opened_by(asked.proc, 812, port, "/usr/sbin/ModemManager")
    opened_by(asked.proc, 813, tmp_path / "dev" / "ttyUSB1", "picocom")
    use, _ = check_ports(devices(port), asked)
    assert use == Check(
        check="port",
        subject=str(port),
        verdict=Verdict.WARNING,
        found="another program has it open: process 812 (/usr/sbin/ModemManager)",
        means="robot 'arm' stays offline, or what two programs send gets mixed up",
        hint="end that program; if it is ModemManager, set udev ID_MM_DEVICE_IGNORE=1",
    )


def test_a_port_that_motiond_drives_is_as_it_should_be(tmp_path: Path, port: Path) -> None:
    name = os.fsdecode(address_of(f"serial:{port}")).replace("\0", "@")
    held = f"0000000000000000: 00000002 00000000 00010000 0001 01 123 {name}\n"
    asked = machine(tmp_path, {"proc/net/unix": SOCKETS + held})
    opened_by(asked.proc, 4711, port, "motiond stream arm")
    use, _ = check_ports(devices(port), asked)
    assert (use.verdict, use.found) == ("ok", "motiond drives it: process 4711 (motiond stream arm)")
