"""The subcommands that set a robot going, and may wait for the end."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from motiond.text import printable

from ..output import (
    DONE,
    FAILED,
    AsJson,
    RobotName,
    as_listed,
    awaited,
    config_of,
    print_json,
    report,
    say,
)
from .broker import Client, asks_a_daemon, option_of
from .playback import (
    Loop,
    PingPong,
    PlaceText,
    Seam,
    Speed,
    StartAt,
    checked_loop,
    loop_of,
    playback_of,
    steps_of,
)
from .request import ask

if TYPE_CHECKING:
    from ...api import PlayRequest
    from ...tools.dry_run import DryRun as PlayedDry
    from .playing import Outcome

app = typer.Typer()

Source = Annotated[
    Literal["reference", "feedback"],
    typer.Option(help="Of a recording: what was commanded, or what was measured."),
]
Replace = Annotated[bool, typer.Option("--replace", help="Stop what plays now, softly.")]
Queue = Annotated[bool, typer.Option("--queue", help="Wait until what plays now has ended well.")]
Beside = Annotated[bool, typer.Option("--beside", help="Play at once beside what moves other joints.")]
FromBeyond = Annotated[
    bool,
    typer.Option("--from-beyond", help="Slowly bring back joints that are far outside their limits."),
]
WaitForEnd = Annotated[
    bool, typer.Option(help="Wait for the end, and for what `on_end` asks for; Ctrl-C stops softly.")
]
WaitThere = Annotated[
    bool,
    typer.Option(
        "--wait/--no-wait",
        help="Wait until it is there, and for what `on_end` asks for; Ctrl-C stops softly.",
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Play here, on simulated actuators, without waiting or a daemon.")
]
Trace = Annotated[Path | None, typer.Option(metavar="FILE.npz", help="Write every tick of the dry run.")]


@app.command()
@asks_a_daemon
def play(
    robot: RobotName,
    motion: Annotated[
        str,
        typer.Argument(help="The motion, as `motiond status ROBOT` lists it, or a recording of the robot."),
    ],
    *,
    speed: Speed = 1.0,
    loop: Loop = "1",
    ping_pong: PingPong = False,
    first: PlaceText = None,
    last: PlaceText = None,
    seam: Seam = "reject",
    source: Source = "reference",
    start_at: StartAt = None,
    replace: Replace = False,
    queue: Queue = False,
    beside: Beside = False,
    take_over: Annotated[
        bool, typer.Option("--take-over", help="Begin from what moves now, without a rest.")
    ] = False,
    blend: Annotated[
        float | None,
        typer.Option(metavar="S", help="Wait, and let what is before it flow into it over S seconds."),
    ] = None,
    additive: Annotated[
        bool,
        typer.Option(
            "--additive", help="Add it to what plays, or is held, as far as it is from its first row."
        ),
    ] = False,
    weight: Annotated[float | None, typer.Option(min=0.0, max=1.0, help="Of what is added.")] = None,
    ramp: Annotated[
        float | None, typer.Option(metavar="S", help="How long what is added takes to come and to go.")
    ] = None,
    wait: WaitForEnd = True,
    dry_run: DryRun = False,
    trace: Trace = None,
    client: Client,
    json: AsJson = False,
) -> int:
    """Play a motion; exit code 1 if it does not end successfully."""
    how = playback_of(speed=speed, loop=loop, ping_pong=ping_pong, first=first, last=last, seam=seam)
    motion = as_listed(motion)
    queue = queue or blend is not None
    on_busy = _on_busy(replace=replace, queue=queue, beside=beside)
    if take_over and on_busy != "reject":
        raise typer.BadParameter("--take-over excludes --replace, --queue, --blend and --beside; choose one")
    request = {"motion": motion, **how, "on_busy": "blend" if take_over else on_busy}
    if blend is not None:
        request["blend_s"] = blend
    if source != "reference":
        request["source"] = source
    request |= _addition(additive=additive, weight=weight, ramp=ramp)
    if start_at is not None:
        request["start_at"] = start_at
    asks = {
        "--replace": replace,
        "--queue": queue,
        "--beside": beside,
        "--additive": additive,
        "--no-wait": not wait,
        "--take-over": take_over,
        "--blend": blend is not None,
    }
    asks |= {option_of(name): True for name in client.typed - {"config"}}
    if _plays_here(asks, dry_run=dry_run, trace=trace):
        return _play_dry(config_of(client.config), robot, request, trace, json=json)
    if not wait:
        return _accept(client, robot, "play", request, f"accepted {motion}", json=json)
    return _to_the_end(client, robot, "play", request, json=json)


def _addition(*, additive: bool, weight: float | None, ramp: float | None) -> dict[str, Any]:
    """Return the keys of a motion that is added to others; none of any other."""
    keys = {key: value for key, value in (("weight", weight), ("ramp_s", ramp)) if value is not None}
    if keys and not additive:
        raise typer.BadParameter("--weight and --ramp are of what is added; add --additive")
    return {"additive": True} | keys if additive else {}


def _accept(client: Client, robot: str, verb: str, request: dict[str, Any], text: str, *, json: bool) -> int:
    """Return once the request is accepted."""
    accepted = ask(client, robot, verb, request)
    lines = [f"{text}; goal {accepted['goal_id']}", *accepted.get("warnings", ())]
    say(accepted, "\n".join(f"{robot}: {line}" for line in lines), json=json)
    return DONE


def _to_the_end(client: Client, robot: str, verb: str, request: dict[str, Any], *, json: bool) -> int:
    """Return once the motion has ended and what follows it is done."""
    outcome = awaited(_play(client, robot, verb, request))
    return report_outcome(robot, outcome, json=json)


async def _play(client: Client, robot: str, verb: str, request: dict[str, Any]) -> "Outcome":
    from rich.console import Console

    from .playing import Playing

    async with client.connect(verb) as daemon:
        return await Playing(daemon, robot, Console(stderr=True)).run(verb, request)


def report_outcome(robot: str, outcome: "Outcome", *, json: bool) -> int:
    """Report how it ended, and how what followed did."""
    if json:
        print_json(outcome.result.data)
    code = DONE
    for succeeded, text in outcome.lines():
        if not succeeded:
            code = report(f"{robot}: {text}", FAILED)
        elif not json:
            typer.echo(f"{robot}: {text}")
    return code


def _plays_here(asks: dict[str, bool], *, dry_run: bool, trace: Path | None) -> bool:
    """Return whether it is a dry run; options that ask a daemon exclude it, and a trace is of one."""
    if trace is not None and not dry_run:
        raise typer.BadParameter("--trace is written by a dry run; add --dry-run")
    if trace is not None and trace.suffix.lower() != ".npz":
        name = printable(f"{trace.stem}.npz")
        raise typer.BadParameter(f"--trace writes .npz alone, for numpy.load; name it {name}")
    for option, is_set in asks.items():
        if dry_run and is_set:
            raise typer.BadParameter(f"{option} is for a daemon; a dry run asks none; leave one of them out")
    return dry_run


def _play_dry(config: Path, robot: str, request: dict[str, Any], trace: Path | None, *, json: bool) -> int:
    """Play a motion without a daemon and report how it went; the exit codes are those of a real play."""
    import orjson

    from ...api import RawRequest, parse
    from ...config.settings import load_settings
    from ...telemetry import save_trace
    from ...tools.dry_run import run_dry

    checked = cast("PlayRequest", parse(RawRequest(robot, "play", orjson.dumps(request))))
    dry_run = run_dry(load_settings(config), robot, checked, traced=trace is not None)
    if trace is not None and dry_run.trace is not None:
        save_trace(trace, dry_run.trace)
    return _report_dry_run(robot, dry_run, json=json)


def _report_dry_run(robot: str, dry_run: "PlayedDry", *, json: bool) -> int:
    result = dry_run.result
    text = f"{robot}: {result['motion']} ended with {result['code']}; {result['message']}"
    succeeded = result["code"] == "SUCCESSFUL"
    if json:
        print_json(dry_run.payload())
    elif succeeded:
        typer.echo(text)
    if not json:
        for contact in result["details"].get("contacts", ()):
            one, other = contact["bodies"]
            typer.echo(
                f"{robot}: {one} and {other} touched, with up to {math.hypot(*contact['force']):.3g} N"
            )
        typer.echo(f"{robot}: {_how(dry_run)}")
    return DONE if succeeded else report(text, FAILED)


def _how(dry_run: "PlayedDry") -> str:
    replaced = f" in place of {dry_run.in_place_of}" if dry_run.in_place_of else ""
    times = f"{dry_run.lasted_s:.1f} s of motion in {dry_run.took_s:.2f} s"
    return f"dry run on simulated actuators{replaced}; {times}"


def _on_busy(**asked: bool) -> str:
    wanted = [policy for policy, is_asked in asked.items() if is_asked]
    if len(wanted) > 1:
        raise typer.BadParameter(f"--{wanted[0]} and --{wanted[1]} exclude each other; choose one")
    return wanted[0] if wanted else "reject"


@app.command()
@asks_a_daemon
def sequence(
    robot: RobotName,
    steps: Annotated[
        list[str],
        typer.Argument(
            metavar="MOTION[,KEY=VALUE]...",
            help="Motions in their order, each with keys of its own: wave nod,repeat=2,speed=0.5,pause_s=1.",
        ),
    ],
    *,
    blend: Annotated[
        float, typer.Option(metavar="S", help="By how many seconds each overlaps with the one before it.")
    ] = 0.0,
    pause: Annotated[float, typer.Option(metavar="S", help="How long the robot rests after each.")] = 0.0,
    repeat: Annotated[
        str, typer.Option(metavar="N|forever", callback=checked_loop, help="How often the whole is played.")
    ] = "1",
    replace: Replace = False,
    queue: Queue = False,
    beside: Beside = False,
    wait: WaitForEnd = True,
    client: Client,
    json: AsJson = False,
) -> int:
    """Play several motions as one; exit code 1 if they do not end successfully."""
    request = {
        "steps": steps_of(steps, blend_s=blend, pause_s=pause),
        "repeat": loop_of(repeat),
        "on_busy": _on_busy(replace=replace, queue=queue, beside=beside),
    }
    if not wait:
        return _accept(client, robot, "sequence", request, "accepted", json=json)
    return _to_the_end(client, robot, "sequence", request, json=json)


@app.command()
@asks_a_daemon
def goto(
    robot: RobotName,
    where: Annotated[list[str], typer.Argument(help="A pose by name, or joints: elbow=0.5 wrist=-1.")],
    *,
    from_beyond: FromBeyond = False,
    replace: Replace = False,
    queue: Queue = False,
    beside: Beside = False,
    wait: WaitThere = False,
    client: Client,
    json: AsJson = False,
) -> int:
    """Go to a posture.

    With --wait, exit code 1 if it does not get there.
    """
    request = {**_posture(where), "on_busy": _on_busy(replace=replace, queue=queue, beside=beside)}
    if from_beyond:
        request["from_beyond"] = True
    if wait:
        return _to_the_end(client, robot, "goto", request, json=json)
    return _accept(client, robot, "goto", request, "accepted", json=json)


def _is_finite(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _posture(where: list[str]) -> dict[str, Any]:
    """Read the name of a pose, or positions by joint."""
    where = [as_listed(one) for one in where]
    if len(where) == 1 and "=" not in where[0]:
        return {"pose": where[0]}
    joints: dict[str, float] = {}
    for one in where:
        joint, _, position = one.partition("=")
        if not _is_finite(position):
            what = f"'{' '.join(where)}' is neither a pose nor joints"
            raise typer.BadParameter(f"{what}; write one name, or JOINT=POSITION for each")
        if joint in joints:
            raise typer.BadParameter(f"joint '{joint}' stands twice; it has one position; leave one out")
        joints[joint] = float(position)
    return {"joints": joints}
