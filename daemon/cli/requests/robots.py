"""The subcommands that ask a daemon and end with its answer: one function each."""

import asyncio
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...api import RequestError
from ..output import (
    DONE,
    FAILED,
    NOBODY_ANSWERS,
    AnyRobotName,
    AsJson,
    RobotName,
    load_tables_meanwhile,
    print_json,
    print_table,
    report,
    say,
)
from .broker import Client, asks_a_daemon
from .request import ask, place_of, read_speed, unreached

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...client.reload import Reloaded, ReloadedHere

app = typer.Typer()


@app.command()
@asks_a_daemon
def seek(
    robot: RobotName,
    place: Annotated[str, typer.Argument(help="A frame (120), a time (1.5s) or a marker of the motion.")],
    *,
    client: Client,
    json: AsJson = False,
) -> None:
    """Go to another place of the motion, and play on from there if it played."""
    answer = ask(client, robot, "seek", place_of(place))
    say(answer, f"{robot}: {answer['state']}", json=json)


@app.command()
@asks_a_daemon
def queue(
    robot: RobotName,
    *,
    clear: Annotated[bool, typer.Option("--clear", help="Take all of them out.")] = False,
    client: Client,
    json: AsJson = False,
) -> None:
    """List the motions that wait for the one that plays."""
    if clear:
        answer = ask(client, robot, "queue/clear")
        say(answer, f"{robot}: {len(answer['cleared'])} taken out", json=json)
        return
    from motiond.text import listed

    answer = ask(client, robot, "queue")
    waiting = listed([goal["motion"] for goal in answer["queue"]], longest=None) or "nothing waits"
    say(answer, f"{robot}: {waiting}", json=json)


@app.command()
@asks_a_daemon
def enable(robot: RobotName, *, client: Client, json: AsJson = False) -> None:
    """Switch torque on, holding where the joints are."""
    _switch_torque(client, robot, "enable", json=json)


@app.command()
@asks_a_daemon
def disable(robot: RobotName, *, client: Client, json: AsJson = False) -> None:
    """Switch torque off, while no motion plays."""
    _switch_torque(client, robot, "disable", json=json)


@app.command()
@asks_a_daemon
def pause(robot: RobotName, *, client: Client, json: AsJson = False) -> None:
    """Slow down on the path and wait there."""
    _request(client, robot, "pause", json=json)


@app.command()
@asks_a_daemon
def resume(robot: RobotName, *, client: Client, json: AsJson = False) -> None:
    """Go on along the path."""
    _request(client, robot, "resume", json=json)


@app.command()
@asks_a_daemon
def speed(
    robot: RobotName,
    factor: Annotated[float, typer.Argument(parser=read_speed, help="0.1 to 10; 1 is the file's own.")],
    *,
    client: Client,
    json: AsJson = False,
) -> None:
    """Play at another speed from now on."""
    answer = ask(client, robot, "speed", {"speed": factor})
    say(answer, f"{robot}: speed {answer['speed']:g}", json=json)


@app.command()
@asks_a_daemon
def stop(robot: RobotName, *, client: Client, json: AsJson = False) -> int:
    """Stop softly, on the path; exit code 1 where no actuator is there to be stopped."""
    answer = ask(client, robot, "stop")
    does = "nothing plays" if answer["goal_id"] is None else "stops softly"
    return _report_stopped(robot, answer, does, json=json)


@app.command()
@asks_a_daemon
def estop(robot: RobotName, *, client: Client, json: AsJson = False) -> int:
    """Halt at once and stay so until reset; this is no safety-rated stop."""
    answer = ask(client, robot, "estop")
    is_halted = answer["state"] == "estopped"
    does = "estopped" if is_halted else f"{answer['state']}; the emergency stop is latched"
    return _report_stopped(robot, answer, does, json=json)


@app.command()
@asks_a_daemon
def reset(robot: RobotName, *, client: Client, json: AsJson = False) -> None:
    """Leave the emergency stop or a fault."""
    _request(client, robot, "reset", json=json)


@app.command()
@asks_a_daemon
def reboot(
    robot: RobotName,
    servos: Annotated[
        list[str], typer.Argument(metavar="SERVO...", help="Joints or actuators whose servos restart.")
    ],
    *,
    client: Client,
    json: AsJson = False,
) -> None:
    """Restart servos that have shut down; their torque goes off, and their errors go."""
    answer = ask(client, robot, "servo/reboot", {"servos": servos})
    say(answer, f"{robot}: restarted {', '.join(answer['actuators'])}; {answer['state']}", json=json)


def _report_stopped(robot: str, answer: "Mapping[str, Any]", does: str, *, json: bool) -> int:
    """Print what a stop did; where it reached nobody, that is no success."""
    why_not = unreached(answer)
    if json or not why_not:
        say(answer, f"{robot}: {does}", json=json)
    return report(f"{robot}: {does}; {why_not}", FAILED) if why_not else DONE


def _request(client: Client, robot: str, verb: str, *, json: bool) -> None:
    """Ask for what takes nothing more, and say what the robot does now."""
    answer = ask(client, robot, verb)
    say(answer, f"{robot}: {answer['state']}", json=json)


def _switch_torque(client: Client, robot: str, verb: str, *, json: bool) -> None:
    answer = ask(client, robot, verb)
    say(answer, f"{robot}: torque is {'on' if answer['torque'] else 'off'}", json=json)


@app.command()
@asks_a_daemon
def control(
    robot: RobotName,
    *,
    take: Annotated[
        bool, typer.Option("--take", help="Take control from whoever has it; then nobody has it.")
    ] = False,
    client: Client,
    json: AsJson = False,
) -> None:
    """Say who is in control of a robot; other subcommands are in control by themselves where they have to."""
    from ...client.control import free, who_controls

    before = asyncio.run(free(client.mqtt(), robot)) if take else None
    control_of_robot = asyncio.run(who_controls(client.mqtt(), robot))
    if take:
        text = f"control was taken from {before}" if before is not None else "nobody was in control"
    elif not control_of_robot["required"]:
        text = "everybody may command it"
    else:
        text = (
            f"{holder} is in control"
            if (holder := control_of_robot["holder"]) is not None
            else "nobody is in control"
        )
    say(control_of_robot, f"{robot}: {text}", json=json)


@app.command()
@asks_a_daemon
def reload(
    robot: AnyRobotName = None,
    *,
    client: Client,
    json: AsJson = False,
) -> int:
    """Read motions, certificates and tokens again; exit code 1 if a motion cannot be played.

    The daemon of this configuration on this machine also names each key of the configuration that has
    changed: it counts from the daemon's next start on. With ROBOT, or where that daemon is elsewhere, only
    motion and marker files are read again. What plays or waits keeps the rows it was accepted with.
    """
    from ...client.local import Impostor
    from ...client.reload import reload_here, reload_motions

    config, code = client.own_config if robot is None else None, DONE
    if config is not None:
        reason = f"{config}: no daemon of this configuration runs on this machine"
        try:
            here = reload_here(config)
        except Impostor as error:
            here, reason, code = None, str(error), NOBODY_ANSWERS
        if here is not None:
            if json:
                print_json(here.payload())
            return _report_reloaded_here(here, json=json)
        report(f"{reason}; motions are read again, the configuration is not", code)
    reloaded = asyncio.run(reload_motions(client.mqtt(), robot))
    if json:
        rows = [one.payload() for one in reloaded]
        print_json(rows if robot is None else rows[0])
    return max(code, *(_report_reloaded(one, json=json) for one in reloaded))


def _report_reloaded_here(here: "ReloadedHere", *, json: bool) -> int:
    """Print what can be played, and what needs a restart."""
    code = DONE
    for one in here.robots:
        if not json:
            typer.echo(f"{one.robot}: {one.summary()}")
        for reason in one.unplayable():
            code = report(f"{one.robot}: {reason}", FAILED)
    for key in here.restart:
        report(f"{key}: has changed, which a running daemon does not take; restart it", DONE)
    return code


def _report_reloaded(one: "Reloaded", *, json: bool) -> int:
    """Say what a robot has now, and what of it cannot be played."""
    if isinstance(one.error, RequestError):
        return report(str(one.error), FAILED)
    if one.error is not None:
        return report(str(one.error), NOBODY_ANSWERS)
    if not json:
        typer.echo(f"{one.robot}: {one.summary()}")
    code = DONE
    for reason in one.unplayable():
        code = report(f"{one.robot}: {reason}", FAILED)
    return code


@app.command()
@asks_a_daemon
def status(
    robot: AnyRobotName = None,
    *,
    client: Client,
    json: AsJson = False,
) -> None:
    """Say what the robots do, and which motions they have."""
    from motiond.text import listed

    from ...client.status import overview

    rows = asyncio.run(overview(client.mqtt(), robot, None if json else load_tables_meanwhile))
    if json:
        print_json(rows if robot is None else rows[0])
        return
    columns = ("robot", "state", "motion", "time", "motions")
    playable = (listed(row["motions"], more=row["more_motions"], longest=None) for row in rows)
    print_table(columns, [(*_cells(row), motions) for row, motions in zip(rows, playable, strict=True)])
    for row in rows:
        if row["message"]:
            typer.echo(f"{row['robot']}: {row['message'].removeprefix(row['robot'] + ': ')}")


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    playing = row["motion"] is not None
    time = f"{row['time']:.1f} / {row['duration']:.1f} s" if playing else ""
    return row["robot"], row["state"], row["motion"] or "", time
