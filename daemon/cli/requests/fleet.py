"""The subcommands for groups of robots, on one daemon or many."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ..output import (
    DONE,
    FAILED,
    NOBODY_ANSWERS,
    AnyGroupName,
    AsJson,
    GroupName,
    as_listed,
    awaited,
    print_json,
    print_table,
    report,
    show_subcommands,
)
from ..stop_here import does_then, unreached
from .broker import Client, asks_a_daemon
from .fleet_view import app as commands_that_show_all
from .playback import Loop, PingPong, PlaceText, Seam, Speed, StartAt, playback_of
from .request import number_within

if TYPE_CHECKING:
    from ...api import GroupVerb
    from ...fleet.coordinator import Gathered, Outcome

fleet = typer.Typer(
    name="fleet",
    invoke_without_command=True,
    callback=show_subcommands,
    help="Command all robots of a group, on one daemon or many.",
)
fleet.add_typer(commands_that_show_all)
app = typer.Typer()
app.add_typer(fleet)

LONGEST_AHEAD_S = 86_400.0
MotionByRobot = Annotated[
    list[str] | None,
    typer.Option("--motion", metavar="ROBOT=MOTION", help="What one of them plays; may be repeated."),
]
OnMemberFailure = Annotated[
    Literal["stop", "continue"], typer.Option(help="What the others do where one fails.")
]
StartIn = Annotated[
    float | None,
    typer.Option(
        "--in",
        metavar="SECONDS",
        parser=number_within(0.0, LONGEST_AHEAD_S),
        help="The same, from now on; a day at most.",
    ),
]


def _motions_by_robot(pairs: list[str]) -> dict[str, str]:
    """Read `ROBOT=MOTION` for each robot that plays another motion."""
    motions: dict[str, str] = {}
    for pair in map(as_listed, pairs):
        robot, _, motion = pair.partition("=")
        if not robot or not motion:
            raise typer.BadParameter(f"'{pair}' names no robot and motion; write --motion left=wave")
        if robot in motions:
            raise typer.BadParameter(f"'{robot}' stands twice; a robot plays one motion; leave one out")
        motions[robot] = motion
    return motions


@fleet.command()
@asks_a_daemon
def play(
    group: GroupName,
    motion: Annotated[str, typer.Argument(help="The motion, which each robot has under this name.")],
    *,
    motions: MotionByRobot = None,
    on_member_failure: OnMemberFailure = "stop",
    speed: Speed = 1.0,
    loop: Loop = "1",
    ping_pong: PingPong = False,
    first: PlaceText = None,
    last: PlaceText = None,
    seam: Seam = "reject",
    start_at: StartAt = None,
    start_in: StartIn = None,
    client: Client,
    json: AsJson = False,
) -> int:
    """Play on all robots of a group at one time, or on none.

    Ctrl-C stops all softly.
    """
    from rich.console import Console

    from ...fleet.coordinator import GroupPlay, GroupPlaying

    if start_at is not None and start_in is not None:
        raise typer.BadParameter("--start-at and --in exclude each other; choose one")
    how = playback_of(speed=speed, loop=loop, ping_pong=ping_pong, first=first, last=last, seam=seam)
    motion_by_robot = _motions_by_robot(motions or [])
    asked = GroupPlay(group, as_listed(motion), how, motion_by_robot, on_member_failure, start_at, start_in)
    outcome = awaited(GroupPlaying(client.mqtt(), asked, Console(stderr=True)).run())
    return _report_outcome(outcome, json=json)


def _report_outcome(outcome: "Outcome", *, json: bool) -> int:
    """Report how it ended for each robot; of those that failed also why."""
    if json:
        print_json(asdict(outcome))
    else:
        rows = [(one.robot, one.motion, one.code) for one in outcome.robots]
        print_table(("robot", "motion", "result"), rows)
    for one in outcome.robots:
        if one.code != "SUCCESSFUL":
            report(f"{one.robot}: {one.motion} ended with {one.code}; {one.message}", FAILED)
    if outcome.failure is not None:
        return report(outcome.failure, NOBODY_ANSWERS)
    return DONE if outcome.is_successful else FAILED


def _add(verb: "GroupVerb", text: str) -> None:
    @fleet.command(verb, help=text)
    @asks_a_daemon
    def ask(group: GroupName, *, client: Client, json: AsJson = False) -> int:
        return _command(client, group, verb, json=json)


_add("stop", "Stop all robots of a group softly, on their paths.")
_add("estop", "Halt all robots of a group at once; this is no safety-rated stop.")
_add("pause", "Slow all robots of a group down on their paths, and wait there.")
_add("resume", "Let all robots of a group go on along their paths.")


def _command(client: Client, group: str, verb: "GroupVerb", *, json: bool) -> int:
    """Command all; exit code 1 unless each of them has taken it, 3 if none answers at all."""
    from ...api import STOPS
    from ...fleet.coordinator import command
    from .stopping import nothing_stopped, or_nothing_stopped, stop_group

    unread, failures = None, list[str]()
    if verb in STOPS:
        settings, unread = client.known_mqtt()
        with or_nothing_stopped(group, unread):
            gathered, failures = awaited(stop_group(client, settings, group, verb))
    else:
        gathered = awaited(command(client.mqtt(), group, verb))
    if json:
        print_json([one.payload() for one in gathered])
    codes = [_report_answer(one, verb, json=json) for one in gathered]
    codes += [report(failure, NOBODY_ANSWERS) for failure in failures]
    if unread is not None and DONE not in codes:
        report(nothing_stopped(group, unread), FAILED)
    return NOBODY_ANSWERS if set(codes) == {NOBODY_ANSWERS} else FAILED if any(codes) else DONE


def _report_answer(one: "Gathered", verb: str, *, json: bool) -> int:
    from ...api import STOPS, RequestError

    if isinstance(one.error, RequestError):
        return report(str(one.error), FAILED)
    if one.error is not None:
        return report(str(one.error), NOBODY_ANSWERS)
    if not json:
        data = one.data or {}
        text = does_then(verb, data) if verb in STOPS else data.get("state")
        typer.echo(f"{one.robot}: {text}")
    if verb in STOPS and (why_not := unreached(one.data or {})):
        return report(f"{one.robot}: {why_not}", FAILED)
    return DONE


@fleet.command()
@asks_a_daemon
def status(group: AnyGroupName = None, *, client: Client, json: AsJson = False) -> None:
    """Show all robots that the broker knows.

    With their groups, what they do, and who is not there.
    """
    from motiond.text import listed

    from ...fleet.coordinator import list_robots

    rows = awaited(list_robots(client.mqtt(), group, clocks=True))
    if json:
        print_json(rows)
        return
    columns = ("robot", "groups", "state", "motion", "daemon", "online", "clock")
    print_table(
        columns,
        [
            (
                row["robot"],
                listed(row["groups"], longest=None),
                row["state"] or "",
                row["motion"] or "",
                f"{row['daemon'] or ''} on {row['host']}" if row["host"] else row["daemon"] or "",
                "yes" if row["online"] else f"last seen {row['state_utc'] or 'nothing'}",
                _clock(row["clock"]),
            )
            for row in rows
        ],
    )
    for row in rows:
        if row["absence"]:
            typer.echo(f"{row['robot']}: {row['absence']}")


def _clock(clock: dict[str, Any] | None) -> str:
    """Report how good a clock is."""
    if clock is None:
        return ""
    error_s = clock.get("estimated_error_s")
    within = "" if error_s is None else f", within {error_s * 1e3:.3g} ms"
    return f"synchronised{within}" if clock.get("synchronised") else "not synchronised"
