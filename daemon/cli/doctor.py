"""The subcommand that looks at the machine, and at all that the configuration names."""

from math import isfinite
from typing import Annotated

import typer

from .output import DEFAULT_CONFIG, DONE, FAILED, AsJson, print_json
from .requests.broker import Client, asks_a_daemon

app = typer.Typer()

COLOURS = {"ok": "green", "warning": "yellow", "failure": "red", "not applicable": "bright_black"}


@app.command()
@asks_a_daemon
def doctor(
    *,
    seconds: Annotated[
        float, typer.Option(min=0, max=3600, help="How long wake-ups are measured; 0 leaves that out.")
    ] = 5.0,
    client: Client,
    json: AsJson = False,
) -> int:
    """Look at the machine: broker, clock, real time, ports, disk.

    Exit code 1 if something cannot work. Nothing moves, and a daemon that runs is not disturbed.
    """
    from rich.console import Console

    from ..config.section import ConfigError
    from ..doctor.examination import STEPS, examine
    from ..doctor.report import Verdict, lines_of
    from ..tools.batch import progress_if_slow

    if not isfinite(seconds):  # typer's bounds let it pass
        raise typer.BadParameter(f"{seconds} is no time; give seconds from 0 to 3600", param_hint="--seconds")
    config = client.config or (DEFAULT_CONFIG if DEFAULT_CONFIG.is_file() else None)
    try:
        mqtt = client.mqtt()
    except ConfigError:  # the check of the configuration reports it
        mqtt = None
    with progress_if_slow(Console(stderr=True), "looking at the machine", STEPS) as done:
        report = examine(config, mqtt, seconds, done)
    if json:
        print_json(report.model_dump(mode="json"))
    else:
        for line in lines_of(report, lambda verdict, text: typer.style(text, fg=COLOURS[verdict])):
            typer.echo(line)
    return FAILED if report.verdict is Verdict.FAILURE else DONE
