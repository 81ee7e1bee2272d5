"""The subcommand that has a daemon read motions, certificates and tokens again."""

from typing import TYPE_CHECKING, Any

import typer

from motiond import local

from ..output import DONE, FAILED, NOBODY_ANSWERS, AnyRobotName, AsJson, awaited, print_json, report
from .broker import Client, asks_a_daemon
from .request import ask_daemon_here

if TYPE_CHECKING:
    from pathlib import Path

    from motiond.client import Robot

app = typer.Typer()

READING_S = 85.0
"""Less than the 90 s that systemd gives to `ExecReload=`."""


@app.command()
@asks_a_daemon
def reload(robot: AnyRobotName = None, *, client: Client, json: AsJson = False) -> int:
    """Read motions, certificates and tokens again.

    Exit code 1 if a motion cannot be played.

    The daemon of this configuration on this machine also names each key of the configuration that has
    changed: it counts from the daemon's next start on. With ROBOT, or where that daemon is elsewhere, only
    motion and marker files are read again. What plays or waits keeps the rows it was accepted with.
    """
    from motiond.client import NoAnswer

    config, code, is_asked_here = client.own_config if robot is None else None, DONE, True
    if config is not None:
        reason = f"{config}: no daemon of this configuration runs on this machine"
        if local.daemon_of(config):
            try:
                return _reload_here(config, json=json)
            except NoAnswer as error:  # somebody has its socket who is not believed
                reason, code, is_asked_here = str(error), NOBODY_ANSWERS, False
        report(f"{reason}; motions are read again, the configuration is not", code)
    rows = awaited(_reload_motions(client, robot, is_asked_here=is_asked_here))
    if json:
        print_json([_payload(row) for row in rows] if robot is None else _payload(rows[0]))
    for row in rows:
        failure = row["error"]
        code = max(code, report(str(failure), failure.exit_code) if failure else _print(row, json=json))
    return code


def _reload_here(config: "Path", *, json: bool) -> int:
    """Print what can be played, and what needs a restart."""
    answer = awaited(ask_daemon_here(config, "reload", {}, READING_S))
    if json:
        print_json(answer)
    code = DONE
    for robot, listing in answer["motions"].items():
        code = max(code, _print({"robot": robot, **listing}, json=json))
    for key in answer["restart"]:
        report(f"{key}: has changed, which a running daemon does not take; restart it", DONE)
    return code


async def _reload_motions(client: Client, name: str | None, *, is_asked_here: bool) -> list[dict[str, Any]]:
    import asyncio

    from motiond.client import ClientError, NoAnswer

    async def row_of(robot: "Robot") -> dict[str, Any]:
        try:
            await robot.status()  # whether anybody is there is soon known
            return {"robot": robot.name, **await robot.request("motions/reload"), "error": None}
        except ClientError as error:
            return {"robot": robot.name, "motions": [], "error": error}

    async with client.connect("reload", is_asked_here=is_asked_here) as daemon:
        robots = await daemon.robots() if name is None else [daemon.robot(name)]
        if not robots:
            raise NoAnswer(await daemon.absence("+"))
        return await asyncio.gather(*map(row_of, robots))


def _payload(row: dict[str, Any]) -> dict[str, Any]:
    error = row["error"] and str(row["error"])
    return {"robot": row["robot"], "motions": row["motions"], "more": row.get("more", 0), "error": error}


def _print(row: dict[str, Any], *, json: bool) -> int:
    """Print what a robot has now, and what of it cannot be played."""
    from motiond.text import listed

    playable = [motion["name"] for motion in row["motions"] if motion["ok"]]
    if not json:
        names = listed(playable, more=row.get("more", 0), longest=None)
        typer.echo(f"{row['robot']}: {f'plays {names}' if playable else 'has no motion that can be played'}")
    code = DONE
    for motion in row["motions"]:
        for reason in motion.get("reason", "").splitlines():
            code = report(f"{row['robot']}: {reason}", FAILED)
    return code
