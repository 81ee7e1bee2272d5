"""The subcommand that lets a robot follow another one."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..output import AsJson, RobotName, as_listed, awaited
from .broker import Client, asks_a_daemon
from .play import Replace, report_outcome

if TYPE_CHECKING:
    from .playing import Outcome

app = typer.Typer()
KEEP_ALIVE_S = 2.0
"""The command keeps the follow alive; so long after its death the robot stops."""


@app.command()
@asks_a_daemon
def follow(
    robot: RobotName,
    *,
    leader: Annotated[str, typer.Option(metavar="ROBOT", help="The robot whose joints are followed.")],
    map_file: Annotated[
        Path | None,
        typer.Option("--map", metavar="FILE", help="A motion map, where names of joints differ."),
    ] = None,
    for_s: Annotated[
        float | None,
        typer.Option("--for", min=0.1, metavar="SECONDS", help="End by itself after so long."),
    ] = None,
    replace: Replace = False,
    client: Client,
    json: AsJson = False,
) -> int:
    """Let a robot follow another, within its own limits, until Ctrl-C stops it softly.

    So do SIGTERM and a terminal that is closed; 2 s after the command is killed or has lost the network, the
    robot stops by itself. It first goes slowly to where its leader is. Exit code 1 if it ends otherwise, as
    when its leader is lost.
    """
    request: dict[str, Any] = {
        "leader": as_listed(leader),
        "keep_alive_s": KEEP_ALIVE_S,
        "on_busy": "replace" if replace else "reject",
    }
    if map_file is not None:
        request |= _mapping(map_file)
    return report_outcome(robot, awaited(_follow(client, robot, request, for_s)), json=json)


async def _follow(client: Client, robot: str, request: dict[str, Any], for_s: float | None) -> "Outcome":
    from rich.console import Console

    from .playing import Following

    async with client.connect("follow/start") as daemon:
        return await Following(daemon, robot, Console(stderr=True), for_s).run("follow/start", request)


def _mapping(file: Path) -> dict[str, Any]:
    """Return what a motion map says, as a request has it; raises FormatError."""
    from motiond.formats import load_map

    map_ = load_map(file)
    joints = {
        name: {"from": str(joint.column), "sign": int(joint.sign), "offset": joint.offset, "unit": joint.unit}
        for name, joint in map_.joints.items()
    }
    return {"map": joints, "ignore": "others" if map_.ignores_others else [*map(str, map_.ignored)]}
