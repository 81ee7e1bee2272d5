"""What `motiond play --dry-run` says and writes; its exit codes are those of a real play."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import orjson
import typer

from ...api import RawRequest, parse
from ...config.settings import load_settings
from ..output import DONE, FAILED, print_json, report

if TYPE_CHECKING:
    from pathlib import Path

    from ...api import PlayRequest
    from ...tools.dry_run import DryRun


def play_dry(config: Path, robot: str, request: dict[str, Any], trace: Path | None, *, json: bool) -> int:
    """Play a motion without a daemon and report how it went; the exit codes are those of a real play."""
    from ...telemetry import save_trace
    from ...tools.dry_run import run_dry

    checked = cast("PlayRequest", parse(RawRequest(robot, "play", orjson.dumps(request))))
    dry_run = run_dry(load_settings(config), robot, checked, traced=trace is not None)
    if trace is not None and dry_run.trace is not None:
        save_trace(trace, dry_run.trace)
    return _report(robot, dry_run, json=json)


def _report(robot: str, dry_run: DryRun, *, json: bool) -> int:
    result = dry_run.result
    text = f"{robot}: {result['motion']} ended with {result['code']}; {result['message']}"
    succeeded = result["code"] == "SUCCESSFUL"
    if json:
        print_json(dry_run.payload())
    elif succeeded:
        typer.echo(text)
    if not json:
        typer.echo(f"{robot}: {_how(dry_run)}")
    return DONE if succeeded else report(text, FAILED)


def _how(dry_run: DryRun) -> str:
    replaced = f" in place of {dry_run.in_place_of}" if dry_run.in_place_of else ""
    times = f"{dry_run.lasted_s:.1f} s of motion in {dry_run.took_s:.2f} s"
    return f"dry run on simulated actuators{replaced}; {times}"
