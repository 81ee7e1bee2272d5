"""The screen of `motiond monitor`: as many lines as the terminal has, of which the most important stay."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from rich.text import Text

from motiond.text import printable

from ..output import STATE_STYLES
from .robot_view import number
from .sparkline import BLOCKS, PLAIN_BLOCKS, bars, sparkline

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.console import Console, ConsoleOptions, RenderResult

    from .commander import Commander
    from .robot_view import RobotView
    from .sparkline import History

KEYS = (
    "s stop   e estop   p pause   r resume   Tab robot   q quit",
    "s stop  e estop  p pause  r resume  q quit",
    "s stop  e estop  q quit",
    "s stop  q quit",
)
"""From the widest on; the first for which there is room is shown."""
LOUD, QUESTION, FAINT = "bold white on red", "bold black on yellow", "dim"
LEAST_SPAN = {"rad": 0.02, "m": 0.001}
"""By the joint's unit, efforts in N·m and N too: what differs by less is drawn as nearly level."""
NAME, NUMBER, HEAT, BAR = 14, 9, 4, 20
LEAST_SPARK, MOST_SPARK = 6, 40
LEAST_EVENTS, LEAST_FOR_TIMING, LEAST_FOR_ANY, LINES_AROUND = 2, 14, 5, 6


class Column(NamedTuple):
    """A column of the joints' table."""

    title: str
    width: int
    cell: Callable[[int], str]
    right: bool = True


class MonitorScreen:
    """Everything that is shown, as a renderable of rich."""

    def __init__(
        self,
        robots: Callable[[], Sequence[str]],
        broker: Callable[[], tuple[str, bool]],
        shown: Callable[[], RobotView | None],
        commander: Commander,
    ) -> None:
        self._robots = robots
        self._broker = broker
        self._shown = shown
        self._commander = commander

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        height = options.height or console.height
        blocks = BLOCKS if console.encoding.lower().startswith("utf") else PLAIN_BLOCKS
        lines = self.lines(options.max_width, height, blocks)
        yield Text("\n", end="").join(lines)

    def lines(self, width: int, height: int, blocks: str = BLOCKS) -> list[Text]:
        """Return the lines of a screen, none longer and no more than there is room for."""
        view = self._shown()
        head, foot = self._head(view, width), self._foot(width)
        room = max(0, height - len(head) - len(foot))
        body = [] if view is None else _body(view, width, room, blocks)
        empty = [Text()] * max(0, room - len(body))
        lines = [*head, *body[:room], *empty, *foot]
        lines = [*lines[: max(0, height - len(foot))], *foot] if len(lines) > height else lines
        for line in lines:
            line.truncate(width, overflow="crop")
        return lines[-height:]

    # -- around it ------------------------------------------------------------------------------------------

    def _head(self, view: RobotView | None, width: int) -> list[Text]:
        address, connected = self._broker()
        connection = f"{printable(address)}: {'connected' if connected else 'NOT CONNECTED, tried again'}"
        lines = [Text(connection.ljust(width), style="bold" if connected else LOUD), self._names(view, width)]
        if view is None:
            known = "no robot is known at this broker"
            return [*lines, Text(known if connected else "")]
        style = "bold " + STATE_STYLES.get(view.state, "")
        lines.append(Text(f"{view.robot}: {view.doing()}", style=style))
        if view.robot not in self._robots():
            lines.append(
                Text(f"no robot '{view.robot}' is at this broker; Tab shows another".ljust(width), style=LOUD)
            )
        elif view.absence:
            lines.append(Text(f"{view.absence}; what follows is old".ljust(width), style=LOUD))
        elif view.silent_s:
            lines.append(Text(f"no report for {view.silent_s:.0f} s".ljust(width), style=LOUD))
        if view.message and not view.absence:
            lines.append(Text(view.message))
        return lines

    def _names(self, view: RobotView | None, width: int) -> Text:
        """Name the robots, from as far on that the one that is shown is among them."""
        names = [printable(name) for name in self._robots()]
        chosen = view.robot if view is not None else ""
        first = 0
        while chosen in names[first + 1 :] and sum(
            len(name) + 2 for name in names[first : names.index(chosen) + 1]
        ) > max(width - 4, 0):
            first += 1
        text = Text("… " if first else "")
        for name in names[first:]:
            text.append(f" {name} ", style="reverse" if name == chosen else "")
        return text

    def _foot(self, width: int) -> list[Text]:
        commander = self._commander
        lines = []
        if commander.alarm is not None:
            lines += _wrapped(commander.words(commander.alarm), width, LOUD)
        last = commander.last
        if last is not None and last is not commander.alarm:
            style = LOUD if last.is_bad and last.stops else "red" if last.is_bad else "bold"
            lines += _wrapped(commander.words(last), width, style)
        if commander.notice:
            lines.append(Text(commander.notice, style="bold"))
        if commander.question is not None:
            robot, verb = commander.question
            question = f"{verb} {robot}? It may move.  y yes, any other key no"
            lines.append(Text(question.ljust(width), style=QUESTION))
        else:
            shown = next((keys for keys in KEYS if len(keys) <= width), KEYS[-1])
            lines.append(Text(shown, style="reverse"))
        return lines


def _wrapped(message: str, width: int, style: str) -> list[Text]:
    """Return a message in as many lines as it needs: what to do stands at its end."""
    return [Text(line.ljust(width), style=style) for line in wrap(message, max(1, width))]


# -- the robot ----------------------------------------------------------------------------------------------


def _body(view: RobotView, width: int, room: int, blocks: str) -> list[Text]:
    """Share the room between progress, joints, timing and events."""
    style = FAINT if view.absence else ""
    lines = (
        [Text(_bar(view.progress, min(BAR, width - 8), blocks))] if view.progress is not None else [Text()]
    )
    joints = view.joints()
    has_room = room >= min(LEAST_FOR_TIMING, len(joints) + LINES_AROUND)
    timing = _timing(view, blocks) if has_room else [view.timing()] if room > LEAST_FOR_ANY else []
    left = room - len(lines) - len(timing) - 1
    most = max(1, left - LEAST_EVENTS)
    lines += [Text(line, style=style) for line in _table(view, joints, width, most, blocks)]
    lines += [Text(line, style=style) for line in timing]
    events = list(view.events)
    return [*lines, *(Text(event) for event in events[-max(0, room - len(lines)) :] if room > len(lines))]


def _bar(progress: float | None, width: int, blocks: str) -> str:
    full = round((progress or 0.0) * width)
    return f"[{blocks[-1] * full}{' ' * (width - full)}] {progress or 0.0:4.0%}"


def _timing(view: RobotView, blocks: str) -> list[str]:
    bounds_s, counts = view.histogram()
    if not bounds_s:
        return [view.timing()]
    wide = "".join(2 * one for one in bars(counts, blocks))
    least, most = f"{1e3 * bounds_s[0]:g}", f"{1e3 * bounds_s[-1]:g}"
    return [view.timing(), f"the last minute: {least} ms |{wide}| over {most} ms"]


def _table(
    view: RobotView, joints: Sequence[tuple[str, str]], width: int, most: int, blocks: str
) -> list[str]:
    """Return the joints' table with its head; joints beyond the room are counted."""
    columns = _columns(view, joints, width, blocks)
    head = " ".join(_fitted(one.title, one) for one in columns)
    shown = len(joints) if len(joints) <= most else max(0, most - 1)
    rows = [" ".join(_fitted(one.cell(joint), one) for one in columns) for joint in range(shown)]
    more = [f"and {len(joints) - shown} more; a higher terminal shows them"] if shown < len(joints) else []
    return [head, *rows, *more]


def _fitted(text: str, column: Column) -> str:
    cut = text[: column.width]
    return cut.rjust(column.width) if column.right else cut.ljust(column.width)


def _columns(view: RobotView, joints: Sequence[tuple[str, str]], width: int, blocks: str) -> list[Column]:
    """Return the columns for which there is room: numbers at first, then a picture of each."""
    positions, efforts = view.now("feedback", "position"), view.now("feedback", "effort")
    errors = view.now("reference", "position") - positions
    heats = np.array(view.temperatures())
    name = min(NAME, max([5, *(len(one) for one, _ in joints)]))
    taken = name + 3 * (NUMBER + 1) + HEAT + 1
    pictures = 3 if width - taken >= 3 * (LEAST_SPARK + 1) + 20 else 2 if width - taken >= 24 else 1
    spark = min(MOST_SPARK, max(0, (width - taken) // pictures - 1))

    def picture(number: int, series: History) -> list[Column]:
        def cell(joint: int) -> str:
            return sparkline(series.of(joint, spark), LEAST_SPAN.get(joints[joint][1], 0.02), blocks)

        return [Column("", spark, cell)] if number <= pictures and spark >= LEAST_SPARK else []

    return [
        Column("joint", name, lambda joint: joints[joint][0], right=False),
        Column("position", NUMBER, lambda joint: _cell(positions, joint, "+.4f")),
        *picture(1, view.position),
        Column("error", NUMBER, lambda joint: _cell(errors, joint, "+.4f")),
        *picture(2, view.error),
        Column("effort", NUMBER, lambda joint: _cell(efforts, joint, "+.3f")),
        *picture(3, view.effort),
        Column("°C", HEAT, lambda joint: _cell(heats, joint, ".0f")),
    ]


def _cell(values: np.ndarray[tuple[int], np.dtype[np.float64]], joint: int, form: str) -> str:
    value = number(float(values[joint]), unknown=np.nan) if joint < len(values) else np.nan
    return "-" if np.isnan(value) else format(value, form)
