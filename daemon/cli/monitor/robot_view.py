"""What one robot has reported lately, as words and numbers for a terminal; nonsense is left out."""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from motiond.text import listed, printable

from .sparkline import History

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from motiond.formats.arrays import Floats

    from ...api import Report, Subject

SILENT_S = 3.0
"""Diagnostics come once a second: something is wrong with a robot that says nothing for so long."""
MOST_EVENTS = 100
HISTOGRAM_S = 60
LIVING = frozenset({"samples", "diagnostics", "state"})


class RobotView:
    """The latest reports of one robot, and how its joints have moved."""

    def __init__(
        self,
        robot: str,
        now: Callable[[], float] = time.monotonic,
        clock: Callable[[], str] = lambda: time.strftime("%H:%M:%S"),
    ) -> None:
        self.robot = robot
        self.events: deque[str] = deque(maxlen=MOST_EVENTS)
        self.position, self.error, self.effort = History(), History(), History()
        self._now = now
        self._clock = clock
        self._latest: dict[Subject, dict[str, Any]] = {}
        self._heard_s: float | None = None
        self._counts: deque[list[float]] = deque(maxlen=HISTOGRAM_S)

    def take(self, report: Report) -> None:
        """Remember a report."""
        data = self._latest[report.subject] = report.data
        if report.subject in LIVING:
            self._heard_s = self._now()
        match report.subject:
            case "samples":
                self._take_sample(data)
            case "diagnostics":
                self._counts.append(_numbers(_mapping(data.get("lateness_histogram")).get("counts")))
            case "event":
                self.note(f"{data.get('kind')}: {data.get('message')}")
            case "result":
                self.note(f"{data.get('motion')} ended with {data.get('code')}; {data.get('message')}")

    def note(self, text: str) -> None:
        """Remember an event."""
        self.events.append(f"{self._clock()} {printable(text)}")

    def _take_sample(self, data: dict[str, Any]) -> None:
        reference, feedback = data["reference"], data["feedback"]
        stamp_s = float(data["stamp_s"])
        if not abs(stamp_s) < 1e12:
            return
        self.position.add(stamp_s, feedback["position"])
        self.error.add(stamp_s, reference["position"] - feedback["position"])
        self.effort.add(stamp_s, feedback["effort"])

    # -- what it does ---------------------------------------------------------------------------------------

    @property
    def absence(self) -> str:
        """Why it takes no requests; '' where it takes them."""
        there = self._latest.get("availability")
        if there is None:
            return "nothing is known of it"
        return printable(
            str(there.get("absence") or ("" if there.get("state") == "online" else "it is offline"))
        )

    @property
    def silent_s(self) -> float:
        """For how long it has said nothing, where it should have; else 0."""
        if self._heard_s is None or self.absence:
            return 0.0
        silent_s = self._now() - self._heard_s
        return silent_s if silent_s > SILENT_S else 0.0

    @property
    def state(self) -> str:
        """What it does; `offline` where its daemon is gone, whatever it has said before."""
        if self.absence:
            return "offline"
        return printable(str(self._latest.get("state", {}).get("state", "offline")))

    @property
    def message(self) -> str:
        """Why it is offline or in fault, as it says."""
        return printable(str(self._latest.get("state", {}).get("message") or ""))

    def doing(self) -> str:
        """Return the state, the motion and how far it is, in words."""
        state = self._latest.get("state", {})
        parts = [self.state]
        if not self.absence and "follow" in state:
            parts += _followed(_mapping(state["follow"]))
        elif not self.absence and state.get("motion"):
            parts[0] += f" {printable(str(state['motion']))}, {number(state.get('time')):.1f} of "
            parts[0] += f"{number(state.get('duration')):.1f} s"
            loops = state.get("loops")
            if loops != 1:
                parts.append(
                    f"pass {number(state.get('loop')):.0f}" + (f" of {number(loops):.0f}" if loops else "")
                )
            parts.append(f"speed {number(state.get('speed')):.2g}")
        if not self.absence and (beside := _beside(state.get("goals"))):
            parts.append(f"beside it {', '.join(beside)}" if state.get("motion") else ", ".join(beside))
        if not self.absence and state.get("torque") is False:
            parts.append("torque off")
        if not self.absence and isinstance(loose := state.get("loose"), list) and loose:
            parts.append(f"torque off in {listed([printable(str(one)) for one in loose])}")
        if number(state.get("queued")):
            parts.append(f"{number(state.get('queued')):.0f} waiting")
        holder = self._latest.get("lease", {}).get("holder")
        if holder:
            parts.append(f"{printable(str(holder))} is in control")
        return "; ".join(parts)

    @property
    def progress(self) -> float | None:
        """How much of the pass is played, 0 to 1; None where none plays."""
        state = self._latest.get("state", {})
        if self.absence or not state.get("motion") or "follow" in state:
            return None
        return min(1.0, max(0.0, number(state.get("progress"))))

    # -- joints and timing ----------------------------------------------------------------------------------

    def joints(self) -> list[tuple[str, str]]:
        """Return the name and the unit of each joint."""
        described = self._latest.get("description", {}).get("joints")
        joints = described if isinstance(described, list) else []
        return [
            (printable(str(one.get("name"))), printable(str(one.get("unit"))))
            for one in joints
            if isinstance(one, dict)
        ]

    def now(self, side: str, quantity: str) -> Floats:
        """Return the newest numbers of telemetry by joint; empty where there are none."""
        sample = self._latest.get("samples")
        return np.empty(0) if sample is None else np.asarray(sample[side][quantity])

    def temperatures(self) -> list[float]:
        """Return the temperatures by joint, in °C; NaN where one is not known."""
        return _numbers(self._latest.get("diagnostics", {}).get("temperature_c"), unknown=np.nan)

    def timing(self) -> str:
        """Return the lateness of the last second, and what servos have had of errors, in words."""
        timing = self._latest.get("diagnostics")
        if timing is None:
            return "no tick yet"
        late = _mapping(timing.get("lateness_s"))
        words = ", ".join(f"{name} {1e3 * number(late.get(name)):.3g}" for name in ("p50", "p99", "max"))
        missed = number(timing.get("missed_deadlines_total", timing.get("missed_deadlines")))
        ticks = f"{number(timing.get('tick_rate_hz')):.0f} ticks/s; late {words} ms; missed {missed:.0f}"
        errors = [f"{name} {count:.0f}" for name, count in self._servo_errors() if count]
        return f"{ticks}; servo errors: {listed(errors)}" if errors else ticks

    def _servo_errors(self) -> Iterator[tuple[str, float]]:
        """Yield how many errors of its servo each joint has had; damaged answers are missed ones as well."""
        errors = _mapping(self._latest.get("diagnostics", {}).get("errors"))
        kinds = [_numbers(errors.get(kind)) for kind in ("missed", "reported", "restarts")]
        for (name, _), *counts in zip(self.joints(), *kinds, strict=False):
            yield name, sum(counts)

    def histogram(self) -> tuple[list[float], list[float]]:
        """Return the bounds of lateness, in s, and how many ticks of the last minute lay up to each."""
        bounds = _numbers(
            _mapping(self._latest.get("diagnostics", {}).get("lateness_histogram")).get("up_to_s")
        )
        wanted = len(bounds) + 1
        fitting = [counts for counts in self._counts if len(counts) == wanted]
        return bounds, [sum(column) for column in zip(*fitting, strict=True)] if fitting else [0.0] * wanted


def _beside(goals: Any) -> list[str]:
    """Return the motions that play beside another."""
    several = goals if isinstance(goals, list) else []
    playing = [goal for goal in several if isinstance(goal, dict) and goal.get("beside")]
    return [printable(str(goal.get("motion"))) for goal in playing]


def number(value: Any, unknown: float = 0.0) -> float:
    """Return a number as it is, and anything else as `unknown`."""
    is_one = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e15
    return float(value) if is_one else unknown


def _followed(follow: dict[str, Any]) -> list[str]:
    """Return what becomes of targets, in words."""
    parts = [f"{number(follow.get('targets_hz')):.0f} targets/s"]
    if lag := _mapping(follow.get("lag")):
        joint, unit = (printable(str(lag.get(part))) for part in ("joint", "unit"))
        parts.append(f"{joint} lags by {abs(number(lag.get('value'))):.3g} {unit}")
    lost = {what: number(follow.get(what)) for what in ("clipped", "dropped", "refused")}
    return parts + [f"{count:.0f} {what}" for what, count in lost.items() if count]


def _numbers(values: Any, unknown: float = 0.0) -> list[float]:
    several: Sequence[Any] = values if isinstance(values, list) else ()
    return [number(value, unknown) for value in several[:1000]]


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
