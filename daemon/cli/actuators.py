"""The subcommands for actuators, which need no daemon: find servos on a bus, and emulate a bus."""

import signal
import time
from dataclasses import asdict
from importlib import import_module
from math import inf, pi, sin, tau
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, get_args

import typer

from .output import DONE, FAILED, AsJson, print_json, print_table, report, show_subcommands
from .ports import naming_its_robot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from motiond.drivers.dynamixel.emulator import EmulatedServo as DynamixelServo
    from motiond.drivers.feetech.emulator import EmulatedServo as FeetechServo
    from motiond.drivers.serial_bus import Scanned

app = typer.Typer()
emulate = typer.Typer(
    invoke_without_command=True, callback=show_subcommands, help="Emulate actuators, to try without hardware."
)
app.add_typer(emulate, name="emulate")

M = TypeVar("M")
S = TypeVar("S", "DynamixelServo", "FeetechServo")
Protocol = Literal["dynamixel", "feetech"]
PROTOCOLS: tuple[Protocol, ...] = get_args(Protocol)
MEANWHILE = "`motiond reboot {robot} SERVO` restarts a servo meanwhile; to scan, stop that daemon"
SCANNED = ("baud", "id", "model", "firmware", "torque", "ticks", "rad", "V", "°C", "error")
HAND_AFTER_S, HAND_S, HAND_TICKS, HAND_STEP_S = 0.5, 4.0, 250.0, 0.02
"""How an emulated hand moves a servo whose torque goes off: so long after that, there and back in so long, by
so much, in such steps."""
TWIN_TICKS = 100.0
"""How far emulated servos with one id are apart."""

BaudOfEmulated = Annotated[
    int | None, typer.Option("--baud", help="Answer as late as at this rate; without it, at once.")
]
Ids = Annotated[list[int] | None, typer.Option("--id", help="An id; may be repeated; 1, 2, 3.")]
Seconds = Annotated[float | None, typer.Option("--seconds", help="End after so long.")]
BehindPty = Annotated[bool, typer.Option("--pty", help="Behind a pseudo-terminal, whose path is printed.")]


@app.command()
def scan(
    port: Annotated[str, typer.Argument(help="A serial port, such as /dev/ttyUSB0.")],
    protocol: Annotated[
        Protocol | None, typer.Option(help="Whose servos; without it, DYNAMIXEL's and then Feetech's.")
    ] = None,
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
    set_id: Annotated[
        tuple[int, int] | None,
        typer.Option(
            metavar="OLD NEW", help="Give a Feetech servo another id instead, for good. Needs one --baud."
        ),
    ] = None,
    *,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Set the id without a question.")] = False,
    json: AsJson = False,
) -> int:
    """Find serial servos: DYNAMIXEL (Protocol 2.0) and Feetech.

    It says how they are; exit code 1 if there are none.
    """
    if set_id:
        return _set_id(port, protocol, _only(baud, "--set-id"), *set_id, yes=yes)
    if reboot:
        return _reboot(port, protocol or "dynamixel", _only(baud, "--reboot"), reboot)
    found = _found(port, (protocol,) if protocol else PROTOCOLS, baud or ())
    if json:
        print_json([{"protocol": kind, **asdict(servo)} for kind, servo in found])
    elif found:
        print_table(SCANNED, (_row_of(servo) for _, servo in found), texts={"model", "error"})
        for _, servo in found:
            if servo.problem is not None:
                typer.echo(f"servo {servo.servo_id}: {servo.problem}; connect one of them alone")
        if unlocked := [str(servo.servo_id) for _, servo in found if servo.locked is False]:
            ids = ", ".join(unlocked)
            typer.echo(f"the lasting settings of {ids} are not locked; the driver locks them when it opens")
    if not found:
        rates = f"at {', '.join(map(str, baud))} baud" if baud else "at any common baud rate"
        return report(f"{port}: no servo answers {rates}; check power, cable and --baud", FAILED)
    return DONE


def _drivers_of(protocol: Protocol) -> Any:
    return import_module(f"motiond.drivers.{protocol}")


def _found(
    port: str, protocols: "Sequence[Protocol]", baud_rates: "Sequence[int]"
) -> "list[tuple[Protocol, Scanned]]":
    """Look for servos of one protocol after the other, until some answer.

    Neither disturbs the other's servos: to them, a ping has no header, or a length that there is not.
    """
    from rich.console import Console

    from ..tools.batch import progress_if_slow

    allowed = [one for one in protocols if all(_has_rate(one, rate) for rate in baud_rates)]
    _refuse_baud_rates(protocols[0] if not allowed else allowed[0], baud_rates)
    with progress_if_slow(Console(stderr=True), f"scanning {port}", None), naming_its_robot(port, MEANWHILE):
        for protocol in allowed:
            if found := _drivers_of(protocol).scan(port, baud_rates):
                return [(protocol, servo) for servo in found]
    return []


def _reboot(port: str, protocol: Protocol, baud: int, ids: "Sequence[int]") -> int:
    _refuse_baud_rates(protocol, (baud,))
    _refuse_ids(protocol, ids, "--reboot")
    with naming_its_robot(port, MEANWHILE):
        _drivers_of(protocol).reboot(port, baud, ids)
    typer.echo(f"{port}: restarted {', '.join(map(str, ids))}")
    return DONE


def _set_id(port: str, protocol: Protocol | None, baud: int, old: int, new: int, *, yes: bool) -> int:
    from motiond.drivers import DriverTimeout

    problem, hint = "ids of DYNAMIXEL servos are not set here", "use DYNAMIXEL Wizard"
    if protocol == "dynamixel":
        raise typer.BadParameter(f"{problem}; {hint}", param_hint="--set-id")
    _refuse_baud_rates("feetech", (baud,))
    _refuse_ids("feetech", (old, new), "--set-id")
    drivers = _drivers_of("feetech")
    with naming_its_robot(port, MEANWHILE):
        try:
            drivers.refuse_id(port, baud, old, new)
        except DriverTimeout:
            if protocol is None and _drivers_of("dynamixel").scan(port, (baud,)):
                reason = f"those that answer on {port} are such"
                raise typer.BadParameter(f"{problem}; {reason}; {hint}", param_hint="--set-id") from None
            raise
    question = f"{port}: give servo {old} the id {new}, which it keeps without power?"
    if not yes and not typer.confirm(question):
        return report(f"{port}: servo {old} keeps its id", FAILED)
    with naming_its_robot(port, MEANWHILE):
        drivers.set_id(port, baud, old, new)
    typer.echo(f"{port}: servo {old} is servo {new} now")
    return DONE


def _only(baud: list[int] | None, option: str) -> int:
    if baud is None or len(baud) != 1:
        raise typer.BadParameter("it needs the baud rate; add one --baud", param_hint=option)
    return baud[0]


def _has_rate(protocol: Protocol, rate: int) -> bool:
    drivers = _drivers_of(protocol)
    return bool(drivers.LOWEST_BAUD_RATE <= rate <= drivers.HIGHEST_BAUD_RATE)


def _refuse_baud_rates(protocol: Protocol, baud_rates: "Iterable[int]") -> None:
    """Refuse baud rates that no servo has."""
    drivers = _drivers_of(protocol)
    for rate in baud_rates:
        if not _has_rate(protocol, rate):
            reason = f"servos have {drivers.LOWEST_BAUD_RATE} to {drivers.HIGHEST_BAUD_RATE}"
            raise typer.BadParameter(
                f"{rate} is no baud rate of servos; {reason}; correct it", param_hint="--baud"
            )


def _refuse_ids(protocol: Protocol, servo_ids: "Iterable[int]", option: str) -> None:
    """Refuse ids that no servo has; one beyond them stands for all servos on the bus."""
    highest = _drivers_of(protocol).HIGHEST_ID
    for servo_id in servo_ids:
        if not 0 <= servo_id <= highest:
            reason = f"servos have 0 to {highest}"
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
    ids: Ids = None,
    model: Annotated[str, typer.Option(help="Of all servos.")] = "XM430-W350",
    baud: BaudOfEmulated = None,
    return_delay: Annotated[int, typer.Option(min=0, max=508, help="Of the servos, in µs.")] = 0,
    seconds: Seconds = None,
    *,
    pty: BehindPty = False,
) -> None:
    """Emulate DYNAMIXEL servos on a bus until SIGINT or SIGTERM."""
    from motiond.drivers.dynamixel import models_by_name
    from motiond.drivers.dynamixel.emulator import EmulatedChain, EmulatedPort, EmulatedServo

    _check_emulated("dynamixel", ids, baud, seconds, pty=pty)
    known = _model_of(model, models_by_name())
    settings = {"return_delay": return_delay // 2}
    servos = [EmulatedServo(one, known, settings) for one in ids or (1, 2, 3)]
    _part_twins(servos)
    with EmulatedPort(EmulatedChain(servos, time.monotonic), baud) as port:
        _show_until_a_signal(port.path, seconds)


@emulate.command()
def feetech(
    ids: Ids = None,
    model: Annotated[str, typer.Option(help="Of all servos.")] = "STS3215",
    baud: BaudOfEmulated = None,
    seconds: Seconds = None,
    *,
    hand: Annotated[
        bool,
        typer.Option("--hand", help="Move a servo there and back, as a hand does, when its torque goes off."),
    ] = False,
    pty: BehindPty = False,
) -> None:
    """Emulate Feetech servos on a bus until SIGINT or SIGTERM."""
    from motiond.drivers.feetech import models_by_name
    from motiond.drivers.feetech.emulator import EmulatedChain, EmulatedPort, EmulatedServo

    _check_emulated("feetech", ids, baud, seconds, pty=pty)
    known = _model_of(model, models_by_name())
    servos = [EmulatedServo(one, known) for one in ids or (1, 2, 3)]
    _part_twins(servos)
    with EmulatedPort(EmulatedChain(servos, time.monotonic), baud) as port:
        released_s = dict.fromkeys(servos, -inf)

        def move(now_s: float) -> None:
            with port.lock:
                for servo in servos:
                    if servo.torque:
                        released_s[servo] = now_s
                    servo.hand_ticks_s = _hand_ticks_s(now_s - released_s[servo])

        _show_until_a_signal(port.path, seconds, move if hand else None)


def _part_twins(servos: "Sequence[S]") -> None:
    """Turn servos with one id to different places, as those that answer alike would be taken for one."""
    ids = [servo.servo_id for servo in servos]
    for place, servo in enumerate(servos):
        if twins := ids[:place].count(servo.servo_id):
            servo.turn_to(servo.position_ticks + twins * TWIN_TICKS)


def _hand_ticks_s(since_s: float) -> float:
    """Return how fast the hand moves a servo so long after its torque has gone off."""
    since_s -= HAND_AFTER_S
    return HAND_TICKS * pi / HAND_S * sin(tau * since_s / HAND_S) if 0.0 <= since_s < HAND_S else 0.0


def _check_emulated(
    protocol: Protocol, ids: list[int] | None, baud: int | None, seconds: float | None, *, pty: bool
) -> None:
    """Refuse options of an emulation that cannot be meant."""
    _refuse_baud_rates(protocol, () if baud is None else (baud,))
    _refuse_ids(protocol, ids or (), "--id")
    if seconds is not None and not 0.0 <= seconds < inf:
        raise typer.BadParameter(f"{seconds} is no time; give seconds from 0 up", param_hint="--seconds")
    if not pty:
        raise typer.BadParameter(
            "there is no other way yet than a pseudo-terminal; add it", param_hint="--pty"
        )


def _model_of(name: str, known: "Mapping[str, M]") -> M:
    if name not in known:
        raise typer.BadParameter(f"there are {', '.join(known)}", param_hint="--model")
    return known[name]


def _show_until_a_signal(
    path: str, seconds: float | None, move: "Callable[[float], None] | None" = None
) -> None:
    """Print a path, and wait for a signal, or so long.

    Meanwhile `move` is called with the time since the beginning, in s. Signals are looked for again and
    again: one may be received by another thread, as where it came while the process was suspended, and then
    ends no wait of this one.
    """
    received: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: received.append(number))
    typer.echo(path)
    begun_s = now_s = time.monotonic()
    while not received and (seconds is None or now_s - begun_s < seconds):
        if move is not None:
            move(now_s - begun_s)
        time.sleep(HAND_STEP_S)
        now_s = time.monotonic()
