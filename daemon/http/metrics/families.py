"""The metrics themselves: names, help texts and labels, filled in at each scrape (prometheus-client).

Names follow Prometheus' practice: base units in the name, `_total` for what only grows. Labels are the robots
and joints of the configuration, and the codes and states that the code knows; nothing that comes from outside
makes another series.
"""

from __future__ import annotations

import math
from importlib.metadata import version
from itertools import accumulate
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
)
from prometheus_client.registry import Collector

from ...ipc.states import ResultCode, State

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from prometheus_client.core import Metric

    from ..served import Served
    from .totals import RobotTally

VERSION = version("motiond")
TOTALS = {
    "ticks": ("motiond_stream_ticks", "Ticks that the stream process has recorded."),
    "missed_deadlines": (
        "motiond_stream_missed_deadlines",
        "Deadlines that had passed when the stream process came to the next tick.",
    ),
    "skipped_rows": ("motiond_stream_skipped_rows", "Rows of motions passed over because of late ticks."),
    "records_lost": (
        "motiond_stream_records_lost",
        "Ticks whose record was overwritten before the daemon read it; no other metric counts them.",
    ),
    "driver_errors": ("motiond_driver_errors", "Errors that the driver has met and gone on after."),
}
"""By the field of a tally: name and help text."""
BY_CLOCK = {
    "synchronised": ("motiond_clock_synchronised", "Whether the machine's clock is kept to that of others."),
    "estimated_error_s": (
        "motiond_clock_estimated_error_seconds",
        "How far the machine's clock probably is off; missing where nothing estimates it.",
    ),
    "max_error_s": (
        "motiond_clock_max_error_seconds",
        "How far the machine's clock is off at most; missing where it is not known.",
    ),
}
"""By the key of the clock's state: name and help text."""
BY_JOINT = {
    "temperature_c": ("motiond_joint_temperature_celsius", "Temperature of the joint's actuator."),
    "voltage_v": ("motiond_joint_voltage_volts", "Supply voltage of the joint's actuator."),
}
LATENESS = "motiond_stream_lateness_seconds"


def expose(served: Served, tallies: Mapping[str, RobotTally], clients: int) -> bytes:
    """Return all metrics as text; `clients` are those of the WebSocket."""
    registry = CollectorRegistry()
    registry.register(_DaemonCollector(served, tallies, clients))
    ProcessCollector(registry=registry)
    return generate_latest(registry)


class _DaemonCollector(Collector):
    """Makes the metrics of one scrape."""

    def __init__(self, served: Served, tallies: Mapping[str, RobotTally], clients: int) -> None:
        self._served, self._tallies, self._clients = served, tallies, clients

    def collect(self) -> Iterator[Metric]:
        """Yield all of them."""
        yield InfoMetricFamily("motiond_build", "The daemon's version.", {"version": VERSION})
        yield from self._daemon()
        yield from self._clock()
        yield from self._states()
        yield self._lateness()
        yield from self._totals()
        yield self._results()
        yield from self._joints()
        yield self._servo_errors()

    def _daemon(self) -> Iterator[Metric]:
        connected, clients = float(self._served.is_broker_connected()), float(self._clients)
        help_text = "Whether the daemon is connected to the broker and receives its own messages through it."
        yield GaugeMetricFamily("motiond_broker_connected", help_text, connected)
        yield GaugeMetricFamily(
            "motiond_http_clients", "Clients of the WebSocket, pages most of them.", clients
        )

    def _clock(self) -> Iterator[Metric]:
        clock = self._served.clock()
        for key, (name, help_text) in BY_CLOCK.items():
            value = clock[key]
            yield GaugeMetricFamily(name, help_text, None if value is None else float(value))

    def _states(self) -> Iterator[Metric]:
        help_text = "Whether the robot takes requests."
        online = GaugeMetricFamily("motiond_robot_online", help_text, labels=["robot"])
        state = GaugeMetricFamily(
            "motiond_robot_state", "1 for the state that the robot is in.", labels=["robot", "state"]
        )
        known = {(report.robot, report.subject): report.data for report in self._served.hub.latest()}
        for robot in self._tallies:
            online.add_metric([robot], float(known.get((robot, "availability")) == {"state": "online"}))
            present = known.get((robot, "state"), {"state": State.OFFLINE})["state"]
            for one in State:
                state.add_metric([robot, one], float(one == present))
        yield online
        yield state

    def _lateness(self) -> Metric:
        help_text = "How late ticks of the stream process began."
        family = HistogramMetricFamily(LATENESS, help_text, labels=["robot"])
        for robot, tally in self._tallies.items():
            if tally.bounds_s:
                bounds = [*(f"{bound:g}" for bound in tally.bounds_s), "+Inf"]
                counts = map(float, accumulate(tally.lateness))
                family.add_metric([robot], [*zip(bounds, counts, strict=True)], tally.lateness_sum_s)
        return family

    def _totals(self) -> Iterator[Metric]:
        for field, (name, help_text) in TOTALS.items():
            family = CounterMetricFamily(name, help_text, labels=["robot"])
            for robot, tally in self._tallies.items():
                family.add_metric([robot], tally.totals[field])
            yield family

    def _results(self) -> Metric:
        help_text = "Goals that have ended, by the code of their result."
        family = CounterMetricFamily("motiond_results", help_text, labels=["robot", "code"])
        for robot, tally in self._tallies.items():
            for code in ResultCode:
                family.add_metric([robot, code], tally.results[code])
        return family

    def _joints(self) -> Iterator[Metric]:
        for field, (name, help_text) in BY_JOINT.items():
            family = GaugeMetricFamily(name, help_text, labels=["robot", "joint"])
            for robot, (_, joint_map) in self._served.models.items():
                for joint, value in zip(
                    joint_map.joints, getattr(self._tallies.get(robot), field, ()), strict=False
                ):
                    if not math.isnan(value):
                        family.add_metric([robot, joint], float(value))
            yield family

    def _servo_errors(self) -> Metric:
        help_text = "What has gone wrong with the joint's actuator, by kind."
        family = CounterMetricFamily("motiond_servo_errors", help_text, labels=["robot", "joint", "kind"])
        for robot, (_, joint_map) in self._served.models.items():
            if (tally := self._tallies.get(robot)) is not None:
                for kind, counts in tally.servo_errors.items():
                    for joint, count in zip(joint_map.joints, counts, strict=False):
                        family.add_metric([robot, joint, kind], float(count))
        return family
