"""`motiond teach`, by which a robot learns a motion by hand.

- `lesson`: what happens from the question whether torque may go off to the motion that is saved
"""

from typing import Annotated, Literal

import typer

from ..output import FAILED, AsJson, RobotName, as_listed, awaited, report
from ..requests.broker import Client, asks_a_daemon

app = typer.Typer()
WARNING = {
    "released": "torque goes off, so that it may drop: hold it",
    "gravity": "it carries its own weight, and gives way to your hand",
}


@app.command()
@asks_a_daemon
def teach(
    robot: RobotName,
    motion: Annotated[str, typer.Argument(metavar="NAME", help="The motion's name.")],
    *,
    mode: Annotated[
        Literal["released", "gravity"],
        typer.Option(help="Torque off, so that it may drop; or carrying its own weight."),
    ] = "released",
    source: Annotated[
        Literal["movement", "poses"], typer.Option("--from", help="Of what the motion is made.")
    ] = "movement",
    at_poses: Annotated[
        Literal["rest", "through"], typer.Option(help="Come to rest at each pose, or go through them.")
    ] = "rest",
    speed: Annotated[
        float, typer.Option(min=0.01, max=1.0, help="From poses: the share of the joints' limits.")
    ] = 0.5,
    smooth: Annotated[
        float,
        typer.Option(min=1e-6, max=1.0, metavar="RAD", help="How far it may leave what was moved, in rad."),
    ] = 0.005,
    smooth_m: Annotated[
        float, typer.Option(min=1e-7, max=1.0, metavar="M", help="The same of joints that slide, in m.")
    ] = 0.0005,
    trim: Annotated[bool, typer.Option(help="Cut the time at both ends in which nothing moves.")] = True,
    replace: Annotated[bool, typer.Option("--replace", help="Replace a motion of this name.")] = False,
    draft: Annotated[
        bool, typer.Option("--draft", help="Teach nothing: save what the robot was taught last.")
    ] = False,
    for_s: Annotated[
        float | None,
        typer.Option("--for", min=0.1, max=1800.0, metavar="SECONDS", help="End by itself after so long."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before it begins.")] = False,
    client: Client,
    json: AsJson = False,
) -> int:
    """Teach a robot a motion by hand, and save it.

    Enter keeps a pose; q or Ctrl-D ends and saves; Ctrl-C ends, and keeps what was moved unsaved.
    """
    motion = as_listed(motion)
    saving = {
        "name": motion,
        "from": source,
        "at_poses": at_poses,
        "speed": speed,
        "smooth_rad": smooth,
        "smooth_m": smooth_m,
        "trim": trim,
        "replace": replace,
    }
    has_keys = not draft and (for_s is None or not yes)
    if has_keys:
        from ..terminal import refuse_no_terminal

        refuse_no_terminal("teach", "`--yes --for SECONDS`, or the requests of docs/teaching.md")
    if not (draft or yes or typer.confirm(f"{robot}: {WARNING[mode]}. Begin?", err=json)):
        return report(f"{robot}: nothing was changed", FAILED)
    from .lesson import Lesson

    lesson = Lesson(client, robot, saving, json=json)
    if draft:
        return awaited(lesson.save_again())
    code = awaited(lesson.run(mode, for_s, has_keys=has_keys))
    if lesson.is_interrupted:
        raise KeyboardInterrupt
    return code
