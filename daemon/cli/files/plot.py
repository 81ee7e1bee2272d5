"""`plot`: a motion as a picture."""

from pathlib import Path
from typing import Annotated

import typer

from ..output import DONE, Force, report
from .options import (
    FileRate,
    InterpolationName,
    MapFile,
    MotionOfFile,
    RobotOfFile,
    Topic,
    Units,
    names_in,
    reading_options,
    refuse_without,
)

app = typer.Typer()


@app.command()
def plot(
    file: Annotated[Path, typer.Argument(help="A motion file.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="OUT", help="A .png or .svg; by default FILE's name with .png, here."
        ),
    ] = None,
    *,
    motion: MotionOfFile = None,
    joints: Annotated[
        str | None,
        typer.Option(metavar="A,B,…", help="The joints to draw, by name or number of the column, from 0."),
    ] = None,
    interpolation: Annotated[
        InterpolationName, typer.Option(help="What lies between rows, as in the configuration.")
    ] = "cubic",
    robot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A description whose units and limits are drawn too.")
    ] = None,
    name: RobotOfFile = None,
    map_file: MapFile = None,
    units: Units = None,
    file_rate: FileRate = None,
    topic: Topic = None,
    force: Force = False,
) -> None:
    """Draw each joint's positions and velocities, and markers.

    Over time, as they are played.
    """
    from rich.console import Console

    from motiond.formats import load_motion
    from motiond.text import printable

    from ...joints import read_robot
    from ...tools.batch import progress_if_slow
    from ...tools.convert import refuse_overwriting
    from ...tools.plot import Drawing, markers_beside, plot_motion

    if robot is None:
        refuse_without("--robot", {"--name": name})
    target = output or Path(f"{file.stem}.png")
    refuse_overwriting(target, forced=force)
    with progress_if_slow(Console(stderr=True), f"drawing {file.name}", None):
        model = read_robot(robot, name) if robot else None
        drawn = load_motion(file, motion, options=reading_options(map_file, units, file_rate, topic))
        drawing = Drawing(names_in(joints), interpolation, markers_beside(file, drawn), model)
        unknown = plot_motion(drawn, target, drawing)
    if unknown:
        listed = ", ".join(f"'{joint}'" for joint in unknown)
        where, reason = printable(str(robot)), "no limits are drawn there"
        report(f"warning: {where}: has no joint {listed}; {reason}; check the names", DONE)
    typer.echo(f"{printable(str(target))}: drawn")
