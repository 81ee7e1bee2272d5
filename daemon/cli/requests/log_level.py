"""The subcommand that asks the daemon of this machine for what concerns it as a whole."""

from enum import StrEnum
from typing import Annotated, Any

import typer

from motiond import local

from ..output import (
    DEFAULT_CONFIG,
    DONE,
    NOBODY_ANSWERS,
    WRONG_INPUT,
    AsJson,
    ConfigFile,
    awaited,
    report,
    say,
)
from .request import ask_daemon_here

app = typer.Typer()

ANSWER_S = 5.0


class Level(StrEnum):
    """From which level on the daemon logs."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@app.command("log-level")
def log_level(
    level: Annotated[Level | None, typer.Argument(help="The least that is logged from now on.")] = None,
    config: ConfigFile = None,
    *,
    json: AsJson = False,
) -> int:
    """Show from which level on the daemon logs, or set it.

    It is the daemon of this configuration, on this machine.
    """
    config = config or DEFAULT_CONFIG
    if not config.is_file():
        hint = "name the configuration of the daemon with -c"
        return report(
            f"{config}: there is no such file, and so no daemon is known by it; {hint}", WRONG_INPUT
        )
    values: dict[str, Any] = {} if level is None else {"level": str(level)}
    if not local.daemon_of(config):
        hint = "start it with `motiond run`, or name its configuration with -c"
        return report(
            f"{config}: no daemon of this configuration runs on this machine; {hint}", NOBODY_ANSWERS
        )
    answer = awaited(ask_daemon_here(config, "log-level", values, ANSWER_S))
    say(answer, answer["level"], json=json)
    return DONE
