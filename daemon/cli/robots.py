"""The subcommands that ask a daemon over MQTT: one function each."""

import asyncio
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from .output import DEFAULT_CONFIG, DONE, FAILED, AsJson, print_json, print_table, tell

if TYPE_CHECKING:
    from ..config.mqtt import MqttSettings

app = typer.Typer(add_completion=False)

RobotName = Annotated[str, typer.Argument(help="The robot, as the configuration names it.")]
ClientConfig = Annotated[
    Path | None,
    typer.Option(
        "--config",
        "-c",
        envvar="MOTIOND_CONFIG",
        help=f"The daemon's configuration, which names the broker; {DEFAULT_CONFIG} if there is one.",
    ),
]
Broker = Annotated[
    str | None,
    typer.Option(metavar="URL", help="The broker, in place of the configuration's: mqtt://host[:port]."),
]
PlaceText = Annotated[
    str | None, typer.Option(metavar="PLACE", help="A frame (120), a time (1.5s) or a marker of the motion.")
]
Replace = Annotated[bool, typer.Option("--replace", help="Stop what plays now, softly.")]
Queue = Annotated[bool, typer.Option("--queue", help="Wait until what plays now has ended well.")]


@app.command()
def play(
    robot: RobotName,
    motion: Annotated[str, typer.Argument(help="The motion, as `motiond status ROBOT` lists it.")],
    *,
    speed: Annotated[float, typer.Option(min=0.1, max=10.0, help="1 is the file's own.")] = 1.0,
    loop: Annotated[str, typer.Option(metavar="N|forever", help="How often.")] = "1",
    ping_pong: Annotated[bool, typer.Option("--ping-pong", help="Every second pass backwards.")] = False,
    first: PlaceText = None,
    last: PlaceText = None,
    seam: Annotated[
        Literal["reject", "approach"], typer.Option(help="Of a loop whose ends do not meet.")
    ] = "reject",
    start_at: Annotated[
        float | None, typer.Option(metavar="UNIX_TIME", help="When the first row is due, in s.")
    ] = None,
    replace: Replace = False,
    queue: Queue = False,
    wait: Annotated[bool, typer.Option(help="Wait for the end; Ctrl-C stops softly.")] = True,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Play here, on simulated actuators, without waiting or a daemon."),
    ] = False,
    trace: Annotated[
        Path | None, typer.Option(metavar="FILE.npz", help="Write every tick of the dry run.")
    ] = None,
    config: ClientConfig = None,
    broker: Broker = None,
    json: AsJson = False,
) -> int:
    """Play a motion; exit code 1 if it does not end successfully."""
    # As long as its list of options, each of which typer wants to see in the signature.
    asked = {
        "motion": motion,
        "speed": speed,
        "loop": int(loop) if loop.isdecimal() else loop,
        "ping_pong": ping_pong,
        "first": _place(first),
        "last": _place(last),
        "seam": seam,
        "start_at": start_at,
        "on_busy": _on_busy(replace=replace, queue=queue),
    }
    request = {key: value for key, value in asked.items() if value is not None}
    asks = {"--replace": replace, "--queue": queue, "--no-wait": not wait, "--broker": broker is not None}
    if _plays_here(asks, dry_run=dry_run, traced=trace is not None):
        from .dry_run import play_dry

        return play_dry(config or DEFAULT_CONFIG, robot, request, trace, json=json)
    mqtt = _mqtt(config, broker)
    if not wait:
        accepted = _ask(mqtt, robot, "play", request)
        _say(accepted, f"{robot}: accepted {motion}; goal {accepted['goal_id']}", json=json)
        return DONE
    return _play_to_the_end(mqtt, robot, request, json=json)


def _play_to_the_end(mqtt: "MqttSettings", robot: str, request: dict[str, Any], *, json: bool) -> int:
    from rich.console import Console

    from ..client.play import Playing

    result = asyncio.run(Playing(mqtt, robot, Console(stderr=True)).run(request))
    text = f"{robot}: {result['motion']} ended with {result['code']}; {result['message']}"
    if result["code"] == "SUCCESSFUL":
        _say(result, text, json=json)
        return DONE
    if json:
        _say(result, "", json=True)
    return tell(text, FAILED)


def _plays_here(asks: dict[str, bool], *, dry_run: bool, traced: bool) -> bool:
    """Return whether it is a dry run; options that ask a daemon exclude it, and a trace is of one."""
    if traced and not dry_run:
        raise typer.BadParameter("--trace is written by a dry run; add --dry-run")
    for option, given in asks.items():
        if dry_run and given:
            raise typer.BadParameter(f"{option} is for a daemon; a dry run asks none; leave one of them out")
    return dry_run


def _on_busy(*, replace: bool, queue: bool) -> str:
    if replace and queue:
        raise typer.BadParameter("--replace and --queue exclude each other; choose one")
    return "replace" if replace else "queue" if queue else "reject"


def _place(text: str | None) -> dict[str, Any] | None:
    """Read a frame, a time or the name of a marker."""
    if text is None:
        return None
    if text.isdecimal():
        return {"frame": int(text)}
    if re.fullmatch(r"[0-9]*\.?[0-9]+s", text):
        return {"time": float(text[:-1])}
    return {"marker": text}


@app.command()
def goto(
    robot: RobotName,
    where: Annotated[list[str], typer.Argument(help="A pose by name, or joints: elbow=0.5 wrist=-1.")],
    *,
    replace: Replace = False,
    queue: Queue = False,
    config: ClientConfig = None,
    broker: Broker = None,
    json: AsJson = False,
) -> None:
    """Go to a posture."""
    request = {**_posture(where), "on_busy": _on_busy(replace=replace, queue=queue)}
    accepted = _ask(_mqtt(config, broker), robot, "goto", request)
    _say(accepted, f"{robot}: accepted; goal {accepted['goal_id']}", json=json)


@app.command()
def seek(
    robot: RobotName,
    place: Annotated[str, typer.Argument(help="A frame (120), a time (1.5s) or a marker of the motion.")],
    config: ClientConfig = None,
    broker: Broker = None,
    *,
    json: AsJson = False,
) -> None:
    """Go to another place of the motion, and play on from there if it played."""
    answer = _ask(_mqtt(config, broker), robot, "seek", _place(place))
    _say(answer, f"{robot}: {answer['state']}", json=json)


@app.command()
def queue(
    robot: RobotName,
    *,
    clear: Annotated[bool, typer.Option("--clear", help="Take all of them out.")] = False,
    config: ClientConfig = None,
    broker: Broker = None,
    json: AsJson = False,
) -> None:
    """List the motions that wait for the one that plays."""
    mqtt = _mqtt(config, broker)
    if clear:
        answer = _ask(mqtt, robot, "queue/clear")
        _say(answer, f"{robot}: {len(answer['cleared'])} taken out", json=json)
        return
    from motiond.formats.errors import listed

    answer = _ask(mqtt, robot, "queue")
    waiting = listed([goal["motion"] for goal in answer["queue"]]) or "nothing waits"
    _say(answer, f"{robot}: {waiting}", json=json)


def _posture(where: list[str]) -> dict[str, Any]:
    """Read the name of a pose, or positions by joint."""
    if len(where) == 1 and "=" not in where[0]:
        return {"pose": where[0]}
    try:
        return {"joints": {joint: float(value) for joint, value in (one.split("=", 1) for one in where)}}
    except ValueError as error:
        why = f"'{' '.join(where)}' is neither a pose nor joints; write one name, or JOINT=POSITION for each"
        raise typer.BadParameter(why) from error


@app.command()
def enable(
    robot: RobotName, config: ClientConfig = None, broker: Broker = None, *, json: AsJson = False
) -> None:
    """Switch torque on, holding where the joints are."""
    _request(robot, "enable", _mqtt(config, broker), json=json)


@app.command()
def disable(
    robot: RobotName, config: ClientConfig = None, broker: Broker = None, *, json: AsJson = False
) -> None:
    """Switch torque off, while no motion plays."""
    _request(robot, "disable", _mqtt(config, broker), json=json)


@app.command()
def pause(
    robot: RobotName, config: ClientConfig = None, broker: Broker = None, *, json: AsJson = False
) -> None:
    """Slow down on the path and wait there."""
    _request(robot, "pause", _mqtt(config, broker), json=json)


@app.command()
def resume(
    robot: RobotName, config: ClientConfig = None, broker: Broker = None, *, json: AsJson = False
) -> None:
    """Go on along the path."""
    _request(robot, "resume", _mqtt(config, broker), json=json)


@app.command()
def speed(
    robot: RobotName,
    factor: Annotated[float, typer.Argument(min=0.1, max=10.0, help="1 is the file's own.")],
    *,
    config: ClientConfig = None,
    broker: Broker = None,
    json: AsJson = False,
) -> None:
    """Play at another speed from now on."""
    answer = _ask(_mqtt(config, broker), robot, "speed", {"speed": factor})
    _say(answer, f"{robot}: speed {answer['speed']:g}", json=json)


@app.command()
def stop(
    robot: RobotName, config: ClientConfig = None, broker: Broker = None, *, json: AsJson = False
) -> None:
    """Stop softly, on the path."""
    answer = _ask(_mqtt(config, broker), robot, "stop")
    playing = answer["goal_id"] is not None
    _say(answer, f"{robot}: {'stops softly' if playing else 'nothing plays'}", json=json)


@app.command()
def estop(
    robot: RobotName, config: ClientConfig = None, broker: Broker = None, *, json: AsJson = False
) -> None:
    """Halt at once and stay so until reset; this is no safety-rated stop."""
    _request(robot, "estop", _mqtt(config, broker), json=json)


@app.command()
def reset(
    robot: RobotName, config: ClientConfig = None, broker: Broker = None, *, json: AsJson = False
) -> None:
    """Leave the emergency stop or a fault."""
    _request(robot, "reset", _mqtt(config, broker), json=json)


def _request(robot: str, verb: str, mqtt: "MqttSettings", *, json: bool) -> None:
    answer = _ask(mqtt, robot, verb)
    _say(answer, f"{robot}: {answer['state']}", json=json)


@app.command()
def status(
    robot: Annotated[str | None, typer.Argument(help="The robot; all by default.")] = None,
    config: ClientConfig = None,
    broker: Broker = None,
    *,
    json: AsJson = False,
) -> None:
    """Say what the robots do, and which motions they have."""
    from motiond.formats.errors import listed

    from ..client.status import overview

    rows = asyncio.run(overview(_mqtt(config, broker), robot))
    if json:
        print_json(rows if robot is None else rows[0])
        return
    columns = ("robot", "state", "motion", "time", "message", "motions")
    print_table(columns, [(*_cells(row), listed(row["motions"], more=row["more_motions"])) for row in rows])


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    playing = row["motion"] is not None
    time = f"{row['time']:.1f} / {row['duration']:.1f} s" if playing else ""
    return row["robot"], row["state"], row["motion"] or "", time, row["message"]


def _ask(mqtt: "MqttSettings", robot: str, verb: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    """Send one request and return the data of its answer."""
    from ..client.session import ask

    return asyncio.run(ask(mqtt, robot, verb, body))


def _mqtt(config: Path | None, broker: str | None) -> "MqttSettings":
    """Find the broker: the configuration's, or the one named, which both versions of MQTT reach by 3.1.1."""
    from pydantic import ValidationError

    from ..config.mqtt import MqttSettings

    settings = MqttSettings()
    if config is None and DEFAULT_CONFIG.is_file():
        config = DEFAULT_CONFIG
    if config is not None:
        from ..config.client import load_mqtt_settings

        settings = load_mqtt_settings(config)
    if broker is None:
        return settings
    try:
        return MqttSettings(broker=broker, base=settings.base, protocol="3.1.1")
    except ValidationError as error:
        reason = str(error.errors()[0]["msg"]).removeprefix("Value error, ")
        raise typer.BadParameter(reason, param_hint="--broker") from error


def _say(data: Any, text: str, *, json: bool) -> None:
    if json:
        print_json(data)
    else:
        typer.echo(text)
