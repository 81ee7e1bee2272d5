"""All robots at a broker, for a terminal: a table that is redrawn, or one line a second."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from motiond.client import connect
from motiond.text import listed

from ...api import ReportHub
from ...config.client import brokers_of
from ...fleet.gateway import Gateway, ended_by_signals
from ..output import STATE_STYLES

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console, ConsoleOptions, RenderResult

    from ...api import Report, Subject, Subscription
    from ...config.mqtt import MqttSettings

DRAW_S, LINE_S = 0.25, 1.0
SHOWN: frozenset[Subject] = frozenset({"availability", "description", "state", "diagnostics"})
COLUMNS = ("robot", "groups", "state", "motion", "progress", "daemon", "clock", "offline since")
TROUBLE = ("fault", "estopped", "offline")
LEAST_ROWS, LINES_AROUND = 3, 6
_STYLES = STATE_STYLES | {"offline": "dim"}


async def show(mqtt: MqttSettings, console: Console, seconds: float | None) -> None:
    """Show all robots at the brokers until a signal comes."""
    async with connect(brokers_of(mqtt)):  # a wrong broker is reported
        pass
    hub = ReportHub()
    gateway = Gateway(mqtt, hub, asks=False)

    def broker() -> str:
        return f"{gateway.address}: {'connected' if gateway.connected.is_set() else 'not connected'}"

    table = FleetTable(lambda: gateway.robots.robots, broker)
    with hub.subscribe(SHOWN, length=10_000) as reports:
        async with asyncio.TaskGroup() as tasks:
            helpers = [
                tasks.create_task(gateway.run(), name="fleet.gateway"),
                tasks.create_task(_draw(table, reports, console), name="fleet.show"),
            ]
            ended = asyncio.Event()
            with ended_by_signals(ended), suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await ended.wait()
            for helper in helpers:
                helper.cancel()


async def _draw(table: FleetTable, reports: Subscription, console: Console) -> None:
    if not console.is_terminal:
        while True:
            await asyncio.sleep(LINE_S)
            table.take_all(reports)
            console.print(table.line(), soft_wrap=True, markup=False, highlight=False)
    with Live(table, console=console, auto_refresh=False) as live:
        while True:
            table.take_all(reports)
            live.refresh()
            await asyncio.sleep(DRAW_S)


class FleetTable:
    """The latest reports of all robots, as a renderable of rich.

    Where the terminal has fewer lines than there are robots, those in trouble come first, then those that
    move, and the others are counted.
    """

    def __init__(self, robots: Callable[[], tuple[str, ...]], broker: Callable[[], str]) -> None:
        self._robots = robots
        self._broker = broker
        self._latest: dict[tuple[str, Subject], dict[str, Any]] = {}

    def take_all(self, reports: Subscription) -> None:
        """Remember every report that has come."""
        while report := reports.get_now():
            self.take(report)

    def take(self, report: Report) -> None:
        """Remember a report."""
        self._latest[report.robot, report.subject] = report.data

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        height = options.height or console.height
        yield Group(Text(self.line(), style="bold"), self._table(max(LEAST_ROWS, height - LINES_AROUND)))

    def line(self) -> str:
        """Return everything in one line, for where there is no terminal."""
        names = self._robots()
        states = Counter(self.state(name) for name in names)
        counted = ", ".join(f"{number} {state}" for state, number in sorted(states.items()))
        troubled = [name for name in names if self.state(name) in TROUBLE]
        parts = [
            self._broker(),
            f"{len(names)} robot{'' if len(names) == 1 else 's'}" + (f": {counted}" if counted else ""),
        ]
        return "; ".join([*parts, *([f"look at {listed(troubled, longest=None)}"] if troubled else [])])

    def state(self, name: str) -> str:
        """Return what a robot does, `offline` where its daemon is gone, whatever it has said before."""
        if self._of(name, "availability").get("state") != "online":
            return "offline"
        return str(self._of(name, "state").get("state", "offline"))

    def rows(self, most: int) -> tuple[list[tuple[str, ...]], int]:
        """Return the cells of the robots that fit, by name, and how many others there are."""
        names = sorted(self._robots(), key=self._urgency)
        return [self._row(name) for name in sorted(names[:most])], max(0, len(names) - most)

    def _urgency(self, name: str) -> tuple[int, str]:
        state = self.state(name)
        return (0 if state in TROUBLE else 2 if state == "idle" else 1), name

    def _of(self, name: str, subject: Subject) -> dict[str, Any]:
        return self._latest.get((name, subject), {})

    def _row(self, name: str) -> tuple[str, ...]:
        state, report, there = self.state(name), self._of(name, "state"), self._of(name, "availability")
        moves = state not in TROUBLE and report.get("motion")
        daemon, host = there.get("bridge") or "", there.get("host")
        return (
            name,
            ", ".join(map(str, self._of(name, "description").get("groups", ()))),
            state,
            str(report["motion"]) if moves else "",
            f"{_number(report.get('progress')):.0%}" if moves and "progress" in report else "",
            f"{daemon} on {host}" if host else daemon,
            "" if state == "offline" else clock_words(self._of(name, "diagnostics").get("clock")),
            _since(there) if state == "offline" else "",
        )

    def _table(self, most: int) -> Table:
        rows, more = self.rows(most)
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for column in COLUMNS:
            table.add_column(column, justify="right" if column == "progress" else "left", no_wrap=True)
        for row in rows:
            table.add_row(*map(Text, row), style=_STYLES.get(row[2], ""))
        if more:
            table.add_row(Text(f"… and {more} more"))
        return table


def clock_words(clock: Any) -> str:
    """Report how good a clock is; '' where it is not known."""
    if not isinstance(clock, dict):
        return ""
    if clock.get("synchronised") is not True:
        return "not synchronised"
    error_s = clock.get("estimated_error_s")
    return "synchronised" if error_s is None else f"within {1e3 * _number(error_s):.3g} ms"


def _since(availability: dict[str, Any]) -> str:
    stamp = availability.get("since_utc")
    return f"{stamp[:19].replace('T', ' ')} UTC" if isinstance(stamp, str) else "not known"


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
