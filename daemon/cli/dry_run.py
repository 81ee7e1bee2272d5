"""What `motiond play --dry-run` says and writes; its exit codes are those of a real play."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import orjson
import typer

from ..api.requests import RawRequest, parse
from ..config.settings import load_settings
from .output import DONE, FAILED, print_json, tell

if TYPE_CHECKING:
    from pathlib import Path

    from ..api.schemas import PlayRequest
    from ..tools.dry_run import Rehearsal


def play_dry(config: Path, robot: str, request: dict[str, Any], trace: Path | None, *, json: bool) -> int:
    """Play a motion without a daemon and tell how it went; the exit codes are those of a real play.

    Parameters
    ----------
    trace : Path, optional
        Where to write every tick.
    """
    from ..telemetry.npz import save_trace
    from ..tools.dry_run import rehearse

    checked = cast("PlayRequest", parse(RawRequest(robot, "play", orjson.dumps(request))))
    rehearsal = rehearse(load_settings(config), robot, checked, traced=trace is not None)
    if trace is not None and rehearsal.trace is not None:
        save_trace(trace, rehearsal.trace)
    return _tell(robot, rehearsal, json=json)


def _tell(robot: str, rehearsal: Rehearsal, *, json: bool) -> int:
    result = rehearsal.result
    text = f"{robot}: {result['motion']} ended with {result['code']}; {result['message']}"
    succeeded = result["code"] == "SUCCESSFUL"
    if json:
        print_json(rehearsal.payload())
    elif succeeded:
        typer.echo(text)
    if not json:
        typer.echo(f"{robot}: {_how(rehearsal)}")
    return DONE if succeeded else tell(text, FAILED)


def _how(rehearsal: Rehearsal) -> str:
    replaced = f" in place of {rehearsal.in_place_of}" if rehearsal.in_place_of else ""
    times = f"{rehearsal.lasted_s:.1f} s of motion in {rehearsal.took_s:.2f} s"
    return f"dry run on simulated actuators{replaced}; {times}"
