"""`motiond monitor`, which shows one robot, with keys to stop it.

- `command`: what runs; `screen`: what it shows; `robot_view`: what is known of a robot
- `commander`: what keys ask for; `sparkline`: numbers over time
"""

import typer

from ..output import ShownRobotName, awaited
from ..requests.broker import Client, asks_a_daemon

app = typer.Typer()


@app.command()
@asks_a_daemon
def monitor(robot: ShownRobotName = None, *, client: Client) -> int:
    """Show a robot as it moves, with keys to stop and pause it.

    Until q or Ctrl-C.
    """
    from ..terminal import refuse_no_terminal

    refuse_no_terminal("monitor", "`motiond status`")
    from .command import run_monitor

    mqtt = client.mqtt() if client.broker is None else client.known_mqtt()[0]
    return awaited(run_monitor(mqtt, robot, client))
