"""The subcommands that ask a daemon and end with its answer: one function each."""

from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ..output import (
    DONE,
    AnyRobotName,
    AsJson,
    RobotName,
    awaited,
    load_tables_meanwhile,
    print_json,
    print_table,
    report,
    say,
)
from .broker import Client, asks_a_daemon
from .request import ask, place_of, read_speed

if TYPE_CHECKING:
    from motiond.client import Robot

app = typer.Typer()

GoalId = Annotated[
    str | None, typer.Option("--goal", metavar="ID", help="This goal alone, of several that play at once.")
]
LISTING_S = 0.5
"""So long the list of motions of a robot may take, which brokers keep."""


def _add_plain(verb: str, text: str) -> None:
    """Add a subcommand that takes nothing but the robot."""

    @app.command(verb, help=text)
    @asks_a_daemon
    def request(robot: RobotName, *, client: Client, json: AsJson = False) -> None:
        answer = ask(client, robot, verb)
        torque = f"torque is {'on' if answer.get('torque') else 'off'}"
        say(answer, f"{robot}: {torque if verb in {'enable', 'disable'} else answer['state']}", json=json)


_add_plain("enable", "Switch torque on, holding where the joints are.")
_add_plain("disable", "Switch torque off, while no motion plays.")
_add_plain("reset", "Leave the emergency stop or a fault.")


def _ask_of_goal(
    client: Client, robot: str, verb: str, goal: str | None, body: dict[str, Any] | None = None
) -> dict[str, Any]:
    return ask(client, robot, verb, (body or {}) | ({} if goal is None else {"goal_id": goal}))


def _add_of_goal(verb: str, text: str) -> None:
    @app.command(verb, help=text)
    @asks_a_daemon
    def request(robot: RobotName, *, goal: GoalId = None, client: Client, json: AsJson = False) -> None:
        answer = _ask_of_goal(client, robot, verb, goal)
        say(answer, f"{robot}: {answer['state']}", json=json)


_add_of_goal("pause", "Slow down on the path and wait there.")
_add_of_goal("resume", "Go on along the path.")


@app.command()
@asks_a_daemon
def stop(
    robot: RobotName,
    *,
    goal: Annotated[
        str | None, typer.Option(metavar="ID", help="End this goal alone; what plays beside it plays on.")
    ] = None,
    client: Client,
    json: AsJson = False,
) -> int:
    """Stop softly, on the path.

    Exit code 1 where no actuator is there to be stopped, or a daemon on this machine does not answer.
    """
    from .stopping import stop_robot

    if goal is None:
        return stop_robot(client, robot, "stop", json=json)
    answer = ask(client, robot, "stop", {"goal_id": goal})
    say(answer, f"{robot}: goal {goal} ends; the robot is {answer['state']}", json=json)
    return DONE


@app.command()
@asks_a_daemon
def estop(robot: RobotName, *, client: Client, json: AsJson = False) -> int:
    """Halt at once until reset; this is no safety-rated stop.

    Exit codes as of `stop`.
    """
    from .stopping import stop_robot

    return stop_robot(client, robot, "estop", json=json)


@app.command()
@asks_a_daemon
def seek(
    robot: RobotName,
    place: Annotated[str, typer.Argument(help="A frame (120), a time (1.5s) or a marker of the motion.")],
    *,
    goal: GoalId = None,
    client: Client,
    json: AsJson = False,
) -> None:
    """Go to another place of the motion.

    If it played, it plays on from there.
    """
    answer = _ask_of_goal(client, robot, "seek", goal, place_of(place))
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
def record(
    robot: RobotName,
    what: Annotated[Literal["start", "stop"], typer.Argument(help="Begin a recording, or end it.")],
    *,
    name: Annotated[str | None, typer.Option(help="A part of the file's name.")] = None,
    client: Client,
    json: AsJson = False,
) -> None:
    """Record every tick of a robot into a file.

    It lies in the daemon's folder for recordings, on the daemon's machine.
    """
    if what == "start":
        answer = ask(client, robot, "record/start", {} if name is None else {"name": name})
        say(answer, f"{robot}: recorded into {answer['file']}", json=json)
        return
    if name is not None:
        raise typer.BadParameter("a recording is named when it starts; leave it out", param_hint="'--name'")
    answer = ask(client, robot, "record/stop")
    gaps = f", {answer['gaps']} gaps" if answer["gaps"] else ""
    ticks = f"{answer['ticks']:,} ticks in {answer['duration_s']:.1f} s{gaps}"
    say(answer, f"{robot}: {answer['file']}: {ticks}, {answer['bytes'] / 1e6:.1f} MB", json=json)


@app.command()
@asks_a_daemon
def speed(
    robot: RobotName,
    factor: Annotated[float, typer.Argument(parser=read_speed, help="0.1 to 10; 1 is the file's own.")],
    *,
    goal: GoalId = None,
    client: Client,
    json: AsJson = False,
) -> None:
    """Play at another speed from now on."""
    answer = _ask_of_goal(client, robot, "speed", goal, {"speed": factor})
    say(answer, f"{robot}: speed {answer['speed']:g}", json=json)


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
    """Restart servos that have shut down.

    Their torque goes off, and their errors go. A robot in fault is then reset.
    """
    answer = ask(client, robot, "servo/reboot", {"servos": servos})
    say(answer, f"{robot}: restarted {_servos_in_words(answer)}", json=json)


@app.command()
@asks_a_daemon
def clear(
    robot: RobotName,
    servos: Annotated[
        list[str], typer.Argument(metavar="SERVO...", help="Joints or actuators whose servos have errors.")
    ],
    *,
    client: Client,
    json: AsJson = False,
) -> None:
    """Clear errors that servos keep, without a restart.

    A robot in fault is then reset. Where errors go by a restart alone, it is refused.
    """
    answer = ask(client, robot, "servo/clear", {"servos": servos})
    say(answer, f"{robot}: cleared the errors of {_servos_in_words(answer)}", json=json)


def _servos_in_words(answer: dict[str, Any]) -> str:
    """Return which servos are meant, what the robot does now, and what keeps it from being idle."""
    why = f"; {answer['message']}" if answer["message"] else ""
    return f"{', '.join(answer['actuators'])}; {answer['state']}{why}"


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
    """Show who is in control of a robot.

    Other subcommands are in control by themselves where they have to.
    """
    before, control_of_robot = awaited(_control(client, robot, take=take))
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


async def _control(client: Client, robot: str, *, take: bool) -> tuple[str | None, dict[str, Any]]:
    """Return who had control, where it is taken from them, and what is reported of it now."""
    from motiond.local import own_holder

    async with client.connect("control") as daemon:
        arm, before = daemon.robot(robot), None
        await arm.status()  # what a broker keeps may be of a daemon that is gone
        if take:
            before = (await arm.report("lease"))["holder"]
            taken = await arm.request("lease/take", holder=own_holder("control"))
            await arm.request("lease/release", lease=taken["lease"])
        async with arm.reports("lease") as reports:
            async for report in reports:
                if not take or report.data["holder"] is None:
                    return before, report.data
    raise AssertionError  # a stream ends but with the client


@app.command()
@asks_a_daemon
def history(
    robot: RobotName,
    *,
    number: Annotated[
        int, typer.Option("--number", "-n", min=1, max=1000, help="How many of the last ones.")
    ] = 20,
    client: Client,
    json: AsJson = False,
) -> None:
    """Show how the last motions have ended, newest first."""
    if not json:
        load_tables_meanwhile()
    answer = ask(client, robot, "history", {"limit": number})
    if json:
        print_json(answer)
        return
    if answer["problem"]:
        report(f"{robot}: {answer['problem']}", DONE)
    if not answer["results"]:
        typer.echo(f"{robot}: no motion has ended yet")
        return
    columns = ("when", "motion", "code", "by whom", "worst error", "why")
    folded = [list(results) for _, results in groupby(answer["results"], _line_of)]
    print_table(columns, [_past(newest, 1 + len(others)) for newest, *others in folded])


def _line_of(result: dict[str, Any]) -> tuple[Any, ...]:
    """Return what results in one line have in common: whoever jogs follows often, and each time is a goal."""
    is_usual = result["motion"] == "follow" and result["code"] == "SUCCESSFUL"
    return ("follow", result["asked_by"]) if is_usual else (result["id"],)


def _past(result: dict[str, Any], times: int) -> tuple[str, ...]:
    """Return the cells of a result, in local time; that a motion ended well has no reason."""
    from datetime import datetime

    ended = datetime.fromisoformat(result["ended_utc"]).astimezone()
    error = result["worst_error"]
    furthest = f"{error['joint']} {error['value']:.3g} {error['unit']}" if error else ""
    why = "" if result["code"] == "SUCCESSFUL" else result["message"]
    who = result["asked_by"] or ""
    motion = f"{result['motion']}, {times} times" if times > 1 else result["motion"]
    return f"{ended:%Y-%m-%d %H:%M:%S}", motion, result["code"], who, furthest, why


@app.command()
@asks_a_daemon
def status(
    robot: AnyRobotName = None,
    *,
    client: Client,
    json: AsJson = False,
) -> None:
    """Show what the robots do, and which motions they have."""
    from motiond.text import listed

    if not json:
        load_tables_meanwhile()
    rows = awaited(_overview(client, robot))
    if json:
        print_json(rows if robot is None else rows[0])
        return
    columns = ("robot", "state", "motion", "time", "motions")
    playable = (listed(row["motions"], more=row["more_motions"], longest=None) for row in rows)
    print_table(columns, [(*_cells(row), motions) for row, motions in zip(rows, playable, strict=True)])
    for row in rows:
        if row["message"]:
            typer.echo(f"{row['robot']}: {row['state']}; {row['message']}")


async def _overview(client: Client, name: str | None) -> list[dict[str, Any]]:
    """Ask one robot or all of them for their status; of all, those that do not answer come as offline."""
    import asyncio

    from motiond.client import ClientError, NoAnswer

    async with client.connect("status") as daemon:
        if name is not None:
            return [await _row(daemon.robot(name), await daemon.robot(name).status())]
        robots = await daemon.robots()
        if not robots:
            raise NoAnswer(await daemon.absence("+"))

        async def row_of(robot: "Robot") -> dict[str, Any]:
            try:
                answer = await robot.status()
            except ClientError as error:
                answer = {"state": "offline", "motion": None, "goal_id": None, "message": error.message}
            return await _row(robot, answer)

        return await asyncio.gather(*map(row_of, robots))


async def _row(robot: "Robot", answer: dict[str, Any]) -> dict[str, Any]:
    from motiond.client import NoAnswer

    try:
        listing = await robot.report("motions", LISTING_S)
    except NoAnswer:
        listing = {}
    playable = [motion["name"] for motion in listing.get("motions", []) if motion["ok"]]
    return {"robot": robot.name, **answer, "motions": playable, "more_motions": listing.get("more", 0)}


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    time = f"{row['time']:.1f} / {row['duration']:.1f} s" if "time" in row else ""
    return row["robot"], row["state"], row["motion"] or "", time
