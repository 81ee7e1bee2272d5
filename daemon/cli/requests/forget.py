"""The subcommand that clears what a broker keeps of a robot that is gone."""

import typer

from ..output import AsJson, RobotName, awaited, print_json
from .broker import Client, asks_a_daemon

app = typer.Typer()


@app.command()
@asks_a_daemon
def forget(robot: RobotName, *, client: Client, json: AsJson = False) -> None:
    """Clear what the broker keeps of a robot that is gone.

    No daemon may have it any more.
    """
    from ...mqtt.forget import forget as clear

    topics = awaited(clear(client.mqtt(), robot))
    if json:
        print_json({"robot": robot, "cleared": topics})
    else:
        typer.echo(f"{robot}: forgotten; {len(topics)} retained topics are cleared")
