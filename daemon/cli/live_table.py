"""What a robot does, for a terminal: a table that is redrawn, or one line a second."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from ..api import Report, Subject, Subscription

SHOWN: frozenset[Subject] = frozenset({"description", "state", "result", "telemetry", "diagnostics"})
COLUMNS = ("joint", "reference", "feedback", "error", "unit")

_STYLES = {"playing": "green", "approaching": "cyan", "stopping": "yellow", "estopped": "red", "fault": "red"}


class LiveTable:
    """The latest reports of one robot, as a renderable of rich."""

    def __init__(self, robot: str) -> None:
        self._robot = robot
        self._latest: dict[Subject, dict[str, Any]] = {}

    def take(self, report: Report) -> None:
        """Remember a report."""
        self._latest[report.subject] = report.data

    def take_all(self, reports: Subscription) -> None:
        """Remember every report that has come."""
        while report := reports.get_now():
            if report.robot == self._robot:
                self.take(report)

    def __rich__(self) -> Group:
        return Group(Text(self._doing(), style=self._style()), self._joints(), self._timing(), self._result())

    def line(self) -> str:
        """Return everything in one line, for where there is no terminal."""
        telemetry = self._latest.get("telemetry")
        parts = [self._doing(), self._timing()]
        if telemetry is not None:
            errors = np.abs(telemetry["error"]["position"])
            worst = f"{np.nanmax(errors):.4f}" if np.isfinite(errors).any() else "-"
            parts.insert(1, f"largest error {worst}")
        return "; ".join((*parts, self._result()))

    def _style(self) -> str:
        return "bold " + _STYLES.get(self._latest.get("state", {}).get("state", ""), "")

    def _doing(self) -> str:
        state = self._latest.get("state", {"state": "starting"})
        text = f"{self._robot}: {state['state']}"
        if state.get("motion"):
            text += f" {state['motion']}, {state['time']:.1f} of {state['duration']:.1f} s"
        return f"{text}; {state['message']}" if state.get("message") else text

    def _joints(self) -> Table:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for column in COLUMNS:
            table.add_column(column, justify="right" if column in COLUMNS[1:4] else "left", min_width=9)
        telemetry = self._latest.get("telemetry", {})
        for index, joint in enumerate(self._latest.get("description", {}).get("joints", [])):
            values = (telemetry[kind]["position"][index] if telemetry else np.nan for kind in COLUMNS[1:4])
            table.add_row(joint["name"], *(_number(value) for value in values), joint["unit"])
        return table

    def _timing(self) -> str:
        timing = self._latest.get("diagnostics")
        if timing is None:
            return "no tick yet"
        late = ", ".join(f"{name} {value * 1e3:.3f}" for name, value in timing["lateness_s"].items())
        missed = timing.get("missed_deadlines_total", timing["missed_deadlines"])
        return f"{timing['tick_rate_hz']:.0f} ticks/s, lateness in ms {late}, missed deadlines {missed}"

    def _result(self) -> str:
        result = self._latest.get("result")
        if result is None:
            return "no motion has ended yet"
        return f"last result: {result['motion']} {result['code']}"


def _number(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:+.4f}"
