"""The command line: one function a subcommand.

In come arguments, out come the daemon itself, requests to it over MQTT, or what is in a file. Errors go to
stderr in one line each, as `where: what; why; how to mend`. The exit codes stand in `docs/cli.md`.
What only the daemon needs is imported by the subcommand that runs it: a request is sent 0.4 s sooner.
"""

import asyncio
import logging
import shutil
import sys
from collections.abc import Coroutine
from concurrent.futures import BrokenExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from pydantic import ValidationError
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from daemon.cli_common import (
    DEFAULT_CONFIG,
    DONE,
    FAILED,
    NOBODY_ANSWERS,
    WRONG_INPUT,
    AsJson,
    ConfigFile,
    print_json,
    tell,
)
from daemon.cli_files import app as commands_for_files
from daemon.client import NoAnswer, ask
from daemon.config import ConfigError, MqttSettings, load_settings
from daemon.conversion import ConversionError
from daemon.joint_map import JointMapError
from daemon.journal import start_logging
from daemon.overview import overview
from daemon.playing import Playing
from daemon.plotting import PlottingUnavailable
from daemon.requests import RequestError
from drivers.base import DriverError
from formats import FormatError
from formats.motion import MotionError

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Plays motion files on real actuators.",
    epilog="Exit codes: 0 done; 1 refused or failed; 2 wrong command line, configuration or file; "
    "3 nobody answers; 130 interrupted.",
)

app.add_typer(commands_for_files)

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
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Tell more on stderr.")]


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the program; the exit code tells how it went."""
    sys.exit(_exit_code(arguments))


def _exit_code(arguments: list[str] | None) -> int:
    try:
        return app(arguments, prog_name="motiond", standalone_mode=False) or DONE
    except typer.TyperException as error:
        what = error.format_message().rstrip(".")
        return tell(f"motiond: {what[:1].lower()}{what[1:]}; see `motiond --help`", WRONG_INPUT)
    except (ConfigError, FormatError, MotionError, ConversionError, JointMapError, DriverError) as error:
        return tell(str(error), WRONG_INPUT)
    except (RequestError, PlottingUnavailable) as error:
        return tell(str(error), FAILED)
    except BrokenExecutor:
        why, mend = "the system may be short of memory", "try again with fewer --jobs"
        return tell(f"motiond: a process that read files ended by itself; {why}; {mend}", FAILED)
    except NoAnswer as error:
        return tell(str(error), NOBODY_ANSWERS)


def _print_version(*, wanted: bool) -> None:
    if wanted:
        typer.echo(f"motiond {version('motiond')}")
        raise typer.Exit


@app.callback()
def _options(
    *,
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Tell the version.")
    ] = False,
) -> None:
    pass


@app.command()
def run(config: ConfigFile = DEFAULT_CONFIG, *, verbose: Verbose = False) -> int:
    """Run the daemon until SIGTERM or SIGINT."""
    from daemon.reports import ReportHub  # noqa: PLC0415 - see the module's docstring
    from daemon.supervisor import make_supervisor, serve  # noqa: PLC0415 - the same

    start_logging(logging.DEBUG if verbose else logging.INFO)
    settings = load_settings(config)
    hub = ReportHub()
    supervisor = make_supervisor(settings, hub)
    return _run_with_broker(serve(settings, hub, supervisor))


@app.command()
def demo(
    seconds: Annotated[float | None, typer.Option(min=0, help="End by itself after so long.")] = None,
    *,
    verbose: Verbose = False,
) -> int:
    """Play on a simulated arm and show it, with a broker inside."""
    from daemon.demo import Demo, demo_config, on_free_port  # noqa: PLC0415 - see the module's docstring

    start_logging(logging.INFO if verbose else logging.WARNING)
    settings = on_free_port(load_settings(demo_config()))
    return _run_with_broker(Demo(settings, Console(), _own_name()).run(seconds))


def _run_with_broker(running: Coroutine[Any, Any, None]) -> int:
    from daemon.broker import BrokerError  # noqa: PLC0415 - see the module's docstring

    try:
        asyncio.run(running)
    except BrokerError as error:
        return tell(str(error), FAILED)
    return DONE


def _own_name() -> str:
    """Give how another terminal calls this program: by name where that finds the same one."""
    here = Path(sys.argv[0]).absolute()
    found = shutil.which(here.name)
    return here.name if found and Path(found).resolve() == here.resolve() else str(here)


@app.command()
def play(
    robot: RobotName,
    motion: Annotated[str, typer.Argument(help="The motion, as `motiond status ROBOT` lists it.")],
    *,
    speed: Annotated[float, typer.Option(min=0.1, max=10.0, help="1 is the file's own.")] = 1.0,
    replace: Annotated[bool, typer.Option("--replace", help="Stop what plays now, softly.")] = False,
    wait: Annotated[bool, typer.Option(help="Wait for the end; Ctrl-C stops softly.")] = True,
    config: ClientConfig = None,
    broker: Broker = None,
    json: AsJson = False,
) -> int:
    """Play a motion; exit code 1 if it does not end successfully."""
    mqtt = _mqtt(config, broker)
    request = {"motion": motion, "speed": speed, "on_busy": "replace" if replace else "reject"}
    if not wait:
        accepted = asyncio.run(ask(mqtt, robot, "play", request))
        _say(accepted, f"{robot}: accepted {motion}; goal {accepted['goal_id']}", json=json)
        return DONE
    result = asyncio.run(Playing(mqtt, robot, Console(stderr=True)).run(request))
    text = f"{robot}: {result['motion']} ended with {result['code']}; {result['message']}"
    if result["code"] == "SUCCESSFUL":
        _say(result, text, json=json)
        return DONE
    if json:
        _say(result, "", json=True)
    return tell(text, FAILED)


@app.command()
def goto(
    robot: RobotName,
    where: Annotated[list[str], typer.Argument(help="A pose by name, or joints: elbow=0.5 wrist=-1.")],
    *,
    replace: Annotated[bool, typer.Option("--replace", help="Stop what plays now, softly.")] = False,
    config: ClientConfig = None,
    broker: Broker = None,
    json: AsJson = False,
) -> None:
    """Go to a posture."""
    request = {**_posture(where), "on_busy": "replace" if replace else "reject"}
    accepted = asyncio.run(ask(_mqtt(config, broker), robot, "goto", request))
    _say(accepted, f"{robot}: accepted; goal {accepted['goal_id']}", json=json)


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
    answer = asyncio.run(ask(_mqtt(config, broker), robot, "speed", {"speed": factor}))
    _say(answer, f"{robot}: speed {answer['speed']:g}", json=json)


@app.command()
def stop(
    robot: RobotName, config: ClientConfig = None, broker: Broker = None, *, json: AsJson = False
) -> None:
    """Stop softly, on the path."""
    answer = asyncio.run(ask(_mqtt(config, broker), robot, "stop"))
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


def _request(robot: str, verb: str, mqtt: MqttSettings, *, json: bool) -> None:
    answer = asyncio.run(ask(mqtt, robot, verb))
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
    rows = asyncio.run(overview(_mqtt(config, broker), robot))
    if json:
        print_json(rows if robot is None else rows[0])
        return
    table = _table("robot", "state", "motion", "time", "message", "motions")
    for row in rows:
        playing = row["motion"] is not None
        time = f"{row['time']:.1f} / {row['duration']:.1f} s" if playing else ""
        cells = (row["robot"], row["state"], row["motion"] or "", time, row["message"])
        table.add_row(*map(Text, (*cells, ", ".join(row["motions"]))))
    Console().print(table)


def _mqtt(config: Path | None, broker: str | None) -> MqttSettings:
    """Find the broker: the configuration's, or the one named, which both versions of MQTT reach by 3.1.1."""
    if config is None and DEFAULT_CONFIG.is_file():
        config = DEFAULT_CONFIG
    settings = load_settings(config).mqtt if config else MqttSettings()
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


def _table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column)
    return table


if __name__ == "__main__":
    main()
