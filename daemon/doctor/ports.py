"""Serial ports of the configuration: who may use them, who does, how long their adapters wait."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from motiond.drivers import lock_names
from motiond.drivers.port_access import rights_of, serial_group, why_denied

from ..stream.locks import address_of
from .machine import line_in, user_name
from .report import Check, Verdict, nothing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from .machine import Machine

KIND = "serial:"
SOON_MS = 2
"""A latency timer that does not hold back what is read at 500 Hz."""
LONGEST_COMMAND = 60


def check_ports(devices: Mapping[str, Sequence[str]], machine: Machine) -> list[Check]:
    """Look at each port that a robot drives."""
    ports = ports_of(devices)
    if not ports:
        means = "nothing is known of ports that are named elsewhere"
        return [nothing("port", "the configuration names no serial port", means)]
    return [check for port, robot in ports.items() for check in _check(port, robot, devices[robot], machine)]


def ports_of(devices: Mapping[str, Sequence[str]]) -> dict[Path, str]:
    """Return the robot of each port, under the name that the configuration has for it."""
    found: dict[Path, Path] = {}
    robots: dict[Path, str] = {}
    for robot, names in devices.items():
        for port in (Path(name.removeprefix(KIND)) for name in names if name.startswith(KIND)):
            device = port.resolve()
            if found.get(device, device) == device:  # a link says more than what it leads to
                found[device] = port
            robots[device] = robot
    return {port: robots[device] for device, port in found.items()}


def _check(port: Path, robot: str, devices: Iterable[str], machine: Machine) -> Iterator[Check]:
    if not port.exists():
        yield Check(
            check="port",
            subject=str(port),
            verdict=Verdict.FAILURE,
            found="it is not there",
            means=f"robot '{robot}' stays offline until it is",
            hint="plug in the adapter, or correct `port`; `ls /dev/serial/by-id` shows what there is",
        )
        return
    yield _use_of(port, robot, devices, machine)
    yield _latency_of(port, machine)


def _use_of(port: Path, robot: str, devices: Iterable[str], machine: Machine) -> Check:
    users = users_of(port, machine.proc)
    verdict, hint = Verdict.OK, None
    if not machine.may_use(port):
        reason, remedy = why_denied(port, rights_of(port), user_name(), serial_group())
        verdict, found = Verdict.FAILURE, f"{user_name()} may not read and write it; {reason}"
        means = f"a daemon of this user cannot move robot '{robot}'; the service is in the group dialout"
        hint = f"{remedy}; or ask as the daemon's user"
    elif is_locked(devices, machine.proc):
        found = f"motiond drives it{_listed(users)}"
        means = "a robot on it answers its daemon; no other program can have it meanwhile"
    elif users:
        verdict, found = Verdict.WARNING, f"another program has it open{_listed(users)}"
        means = f"robot '{robot}' stays offline, or what two programs send gets mixed up"
        hint = "end that program; if it is ModemManager, set udev ID_MM_DEVICE_IGNORE=1"
    else:
        found = f"free, and {user_name()} may use it"
        means = f"a daemon of this user can open it for robot '{robot}'"
    return Check(check="port", subject=str(port), verdict=verdict, found=found, means=means, hint=hint)


def _listed(users: Sequence[str]) -> str:
    return f": {', '.join(users)}" if users else ""


def users_of(port: Path, proc: Path) -> list[str]:
    """Return the processes that have a port open, as far as this user may see them."""
    device = port.resolve()
    users = []
    for process in sorted(proc.glob("[0-9]*")):
        try:
            if any(link.readlink() == device for link in (process / "fd").iterdir()):
                users.append(f"process {process.name} ({_command_of(process)})")
        except OSError:  # another user's, or it has just ended
            continue
    return users


def _command_of(process: Path) -> str:
    command = (line_in(process / "cmdline") or line_in(process / "comm") or "?").replace("\0", " ").strip()
    return "".join(one if one.isprintable() else "?" for one in command)[:LONGEST_COMMAND]


def is_locked(devices: Iterable[str], proc: Path) -> bool:
    """Whether a stream process holds one of these devices; asked without touching its lock."""
    serial = [name for device in devices if device.startswith(KIND) for name in lock_names(device)]
    names = {address_of(name).replace(b"\0", b"@") for name in serial}
    try:
        with (proc / "net" / "unix").open("rb") as sockets:
            return any(line.rstrip(b"\n").rpartition(b" ")[2] in names for line in sockets)
    except OSError:
        return False


def _latency_of(port: Path, machine: Machine) -> Check:
    name = port.resolve().name
    timer = machine.sys / "bus/usb-serial/devices" / name / "latency_timer"
    latency = line_in(timer)
    if latency is None or not latency.isdecimal():
        return Check(
            check="latency timer",
            subject=str(port),
            verdict=Verdict.NOT_APPLICABLE,
            found="its adapter has no such timer",
            means="only FTDI's are known to hold bytes back for it",
        )
    is_slow = int(latency) > SOON_MS
    rule = 'ACTION=="add", SUBSYSTEM=="usb-serial", DRIVER=="ftdi_sio", ATTR{latency_timer}="1"'
    return Check(
        check="latency timer",
        subject=str(port),
        verdict=Verdict.WARNING if is_slow else Verdict.OK,
        found=f"{latency} ms",
        means="the adapter holds an answer back for so long, and each read takes as much longer",
        hint=f"echo 1 > {timer}; for good, as a udev rule: {rule}" if is_slow else None,
        figures={"latency_ms": int(latency)},
    )
