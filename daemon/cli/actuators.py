"""The subcommands for actuators, which need no daemon: find servos on a bus, and emulate a bus."""

import signal
import time
from contextlib import contextmanager
from dataclasses import asdict
from math import inf
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Annotated

import typer

from .output import DONE, FAILED, AsJson, print_json, print_table, report, show_subcommands

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from motiond.drivers.serial_bus import Scanned

app = typer.Typer()
emulate = typer.Typer(
    invoke_without_command=True, callback=show_subcommands, help="Emulate actuators, to try without hardware."
)
app.add_typer(emulate, name="emulate")

SCANNED = ("baud", "id", "model", "firmware", "torque", "ticks", "rad", "V", "°C", "error")


@app.command()
def scan(
    port: Annotated[str, typer.Argument(help="A serial port, such as /dev/ttyUSB0.")],
    baud: Annotated[
        list[int] | None,
        typer.Option(help="A baud rate to try; may be repeated. Without it, the common ones are."),
    ] = None,
    reboot: Annotated[
        list[int] | None,
        typer.Option(
            metavar="ID",
            help="Restart a servo instead: its torque goes off, its errors go. Needs one --baud.",
        ),
    ] = None,
    *,
    json: AsJson = False,
) -> int:
    """Find serial servos (DYNAMIXEL, Protocol 2.0).

    It says how they are; exit code 1 if there are none.
    """
    from rich.console import Console

    from motiond.drivers import dynamixel

    from ..tools.batch import progress_if_slow

    _refuse_baud_rates(baud or ())
    _refuse_ids(reboot or (), "--reboot")
    if reboot:
        if baud is None or len(baud) != 1:
            raise typer.BadParameter("it needs the baud rate; add one --baud", param_hint="--reboot")
        with _naming_its_robot(port):
            dynamixel.reboot(port, baud[0], reboot)
        typer.echo(f"{port}: restarted {', '.join(map(str, reboot))}")
        return DONE
    with progress_if_slow(Console(stderr=True), f"scanning {port}", None), _naming_its_robot(port):
        found = dynamixel.scan(port, baud or ())
    if json:
        print_json([asdict(servo) for servo in found])
    elif found:
        print_table(SCANNED, map(_row_of, found), texts={"model", "error"})
    if not found:
        rates = ", ".join(map(str, baud or dynamixel.COMMON_BAUD_RATES))
        return report(f"{port}: no servo answers at {rates} baud; check power, cable and --baud", FAILED)
    return DONE


@contextmanager
def _naming_its_robot(port: str) -> "Iterator[None]":
    """Refuse a port that a daemon of this machine drives with what can be done while that runs."""
    from motiond.drivers import DriverError

    from ..stream.locks import robot_at

    try:
        yield
    except DriverError as error:
        robot = robot_at(f"serial:{name}" for name in dict.fromkeys((Path(port), Path(port).resolve())))
        if not robot:
            raise
        problem, reason = f"a daemon drives robot '{robot}' by it", "one port has one master"
        hint = f"`motiond reboot {robot} SERVO` restarts a servo meanwhile; to scan, stop that daemon"
        raise DriverError(port, problem, reason, hint) from error


def _refuse_baud_rates(baud_rates: "Iterable[int]") -> None:
    """Refuse baud rates that no servo has."""
    from motiond.drivers.dynamixel import HIGHEST_BAUD_RATE, LOWEST_BAUD_RATE

    for rate in baud_rates:
        if not LOWEST_BAUD_RATE <= rate <= HIGHEST_BAUD_RATE:
            reason = f"servos have {LOWEST_BAUD_RATE} to {HIGHEST_BAUD_RATE}"
            raise typer.BadParameter(
                f"{rate} is no baud rate of servos; {reason}; correct it", param_hint="--baud"
            )


def _refuse_ids(servo_ids: "Iterable[int]", option: str) -> None:
    """Refuse ids that no servo has; one beyond them stands for all servos on the bus."""
    from motiond.drivers.dynamixel import HIGHEST_ID

    for servo_id in servo_ids:
        if not 0 <= servo_id <= HIGHEST_ID:
            reason = f"servos have 0 to {HIGHEST_ID}"
            raise typer.BadParameter(
                f"{servo_id} is no id of a servo; {reason}; correct it", param_hint=option
            )


def _row_of(one: "Scanned") -> list[str]:
    cells: list[object] = [one.baud_rate, one.servo_id, one.model, one.firmware]
    if one.position_rad is None:
        return [*map(str, cells), *[""] * (len(SCANNED) - len(cells))]
    cells += ["on" if one.torque else "off", one.position_ticks, f"{one.position_rad:.3f}"]
    cells += [one.voltage_v, one.temperature_c, one.hardware_error or "none"]
    return [*map(str, cells)]


@emulate.command()
def dynamixel(
    ids: Annotated[list[int] | None, typer.Option("--id", help="An id; may be repeated; 1, 2, 3.")] = None,
    model: Annotated[str, typer.Option(help="Of all servos.")] = "XM430-W350",
    baud: Annotated[
        int | None, typer.Option(help="Answer as late as at this rate; without it, at once.")
    ] = None,
    return_delay: Annotated[int, typer.Option(min=0, max=508, help="Of the servos, in µs.")] = 0,
    seconds: Annotated[float | None, typer.Option(help="End after so long.")] = None,
    *,
    pty: Annotated[
        bool, typer.Option("--pty", help="Behind a pseudo-terminal, whose path is printed.")
    ] = False,
) -> None:
    """Emulate DYNAMIXEL servos on a bus until SIGINT or SIGTERM."""
    from motiond.drivers.dynamixel import models_by_name
    from motiond.drivers.dynamixel.emulator import EmulatedChain, EmulatedPort, EmulatedServo

    _refuse_baud_rates(() if baud is None else (baud,))
    _refuse_ids(ids or (), "--id")
    if seconds is not None and not 0.0 <= seconds < inf:
        raise typer.BadParameter(f"{seconds} is no time; give seconds from 0 up", param_hint="--seconds")
    if not pty:
        raise typer.BadParameter(
            "there is no other way yet than a pseudo-terminal; add it", param_hint="--pty"
        )
    known = models_by_name()
    if model not in known:
        raise typer.BadParameter(f"there are {', '.join(known)}", param_hint="--model")
    settings = {"return_delay": return_delay // 2}
    servos = [EmulatedServo(one, known[model], settings) for one in ids or (1, 2, 3)]
    with EmulatedPort(EmulatedChain(servos, time.monotonic), baud) as port:
        typer.echo(port.path)
        _wait_for_a_signal(seconds)


def _wait_for_a_signal(seconds: float | None) -> None:
    ended = Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    ended.wait(seconds)
