"""Processor time of one daemon by the number of its robots and their rate, and the plane that fits it.

The daemon is a process of its own, and all its robots play at once, with telemetry to a mosquitto, whose own
time does not count. The rate is how often a
stream wakes: of a slow motion also between its rows. The figures are printed beside the plane's and drawn:
`python -m bench.fleet_processor FILE` says where, as SVG or PNG.
"""

from __future__ import annotations

import asyncio
import math
import os
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import orjson
import psutil

from bench.many_robots import Layout, configuration
from bench.programs import free_port, running_daemon, used_s
from motiond.daemon.mqtt.client import MqttConnection
from motiond.daemon.stream.locks import TITLE
from motiond.daemon.stream.timing.schedule import CHECK_PERIOD_S, ROUNDING
from tests.daemon.conftest import Mosquitto
from tests.daemon.rig import sweep
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from motiond.formats.arrays import Floats

SECONDS = 10.0
ROBOTS, RATES_HZ, JOINTS = (1, 2, 5, 10, 20), (50, 100, 150, 200), 6
SWING_S, SETTLE_S = 2.0, 1.0
GOAL = 0.99
"""R² from which it counts as linear."""
PICTURE = Path("build/fleet-processor.svg")
COLOURS = ("#1f5fa8", "#2e7d32", "#c62828", "#6b6b6b")
PARTS = ("streams", "daemon", "both")


@dataclass(frozen=True, slots=True)
class Share:
    """What a daemon's robots took.

    Attributes
    ----------
    robots, rate_hz : int
        How many played, and their setpoints a second.
    streams, daemon : float
        Shares of a core: of all stream processes, and of the daemon itself.
    played : float
        How many of the ticks that were due the robots had, as a share: what was left out took no time.
    waited : float
        For what share of the time the daemon could have gone on, but had no processor.
    """

    robots: int
    rate_hz: int
    streams: float
    daemon: float
    played: float
    waited: float = 0.0

    @property
    def both(self) -> float:
        """What streams and daemon took, as a share of a core."""
        return self.streams + self.daemon

    @property
    def wakes_hz(self) -> float:
        """How often each stream wakes."""
        return wakes_hz(self.rate_hz)


@dataclass(frozen=True, slots=True)
class Plane:
    """A share of a core as a + b·robots + c·robots·wakes_hz, by least squares.

    Attributes
    ----------
    base, robot, wake_s : float
        a and b, in shares of a core; c, in s.
    fitted, off : array (shares,)
        What it says of each of the shares that it was laid through, and how much more was measured.
    r2 : float
        How much of the variance of these it explains.
    """

    base: float
    robot: float
    wake_s: float
    fitted: Floats
    off: Floats
    r2: float

    def at(self, robots: float, rate_hz: float) -> float:
        """Return the share that it says of so many robots."""
        return self.base + robots * (self.robot + self.wake_s * wakes_hz(rate_hz))


def wakes_hz(rate_hz: float) -> float:
    """Return how often a motion's stream wakes: to hear commands and read feedback, between rows too."""
    return rate_hz * max(1, math.ceil(1.0 / (rate_hz * CHECK_PERIOD_S) - ROUNDING))


def plane_through(shares: Sequence[Share], part: str = "both") -> Plane:
    """Return the plane that is nearest to a part of all shares: `streams`, `daemon` or `both`.

    Raises
    ------
    ValueError
        If they are of too few numbers of robots or rates to tell its three parts from each other.
    """
    terms = np.array([(1.0, one.robots, one.robots * one.wakes_hz) for one in shares])
    measured = np.array([getattr(one, part) for one in shares])
    factors, _, rank, _ = np.linalg.lstsq(terms, measured, rcond=None)
    if rank < terms.shape[1]:
        raise ValueError(f"{len(shares)} shares: no plane; measure more numbers of robots, or rates")
    off = measured - terms @ factors
    r2 = 1.0 - float((off**2).sum() / ((measured - measured.mean()) ** 2).sum())
    base, robot, wake_s = map(float, factors)
    return Plane(base, robot, wake_s, terms @ factors, off, r2)


def table(shares: Sequence[Share]) -> list[str]:
    """Return the lines that tell of them, beside the planes."""
    both = plane_through(shares)
    names = ("streams", "daemon", "both", "plane", "ticks", "waited")
    rows = [f"{'robots':>6}{'Hz':>6}" + "".join(f"{name:>10}" for name in names)]
    for one, fitted in zip(shares, both.fitted, strict=True):
        values = (one.streams, one.daemon, one.both, fitted, one.played, one.waited)
        rows.append(f"{one.robots:6}{one.rate_hz:6}" + "".join(f"{100 * value:9.1f}%" for value in values))
    for part in PARTS:
        plane = plane_through(shares, part)
        worst = int(np.abs(plane.off).argmax())
        each = f"{100 * plane.robot:.2f} % + {1e6 * plane.wake_s:.0f} µs · rate"
        most = f"{100 * plane.off[worst]:+.1f} % ({shares[worst].robots} at {shares[worst].rate_hz} Hz)"
        fits = f"largest residual {most}, R² {plane.r2:.4f}"
        rows.append(f"{part:8} {100 * plane.base:.1f} % + robots · ({each}); {fits}")
    least_hz = 1.0 / CHECK_PERIOD_S
    rows.append(f"the rate is how often streams wake: {least_hz:g} times a second at least, between rows too")
    rows.append(f"linear: R² of both {both.r2:.4f} (goal: at least {GOAL})")
    return rows


def draw(shares: Sequence[Share], target: Path) -> None:
    """Draw them into a file (SVG or PNG), over the robots and over how often all streams wake."""
    from matplotlib import rc_context  # noqa: PLC0415 - what every worker would load to collect the tests
    from matplotlib.figure import Figure  # noqa: PLC0415 - the same

    plane = plane_through(shares)
    with rc_context({"svg.hashsalt": PICTURE.name}):  # the same picture of the same figures
        figure = Figure(figsize=(9.0, 3.6), dpi=110, layout="constrained")
        by_robots, by_wakes = figure.subplots(1, 2, sharey=True)
        _draw_robots(by_robots, shares, plane)
        _draw_wakes(by_wakes, shares)
        for panel in (by_robots, by_wakes):
            panel.grid(visible=True, linewidth=0.4, alpha=0.5)
            panel.set_xlim(left=0)
            panel.set_ylim(bottom=0)
            panel.tick_params(labelsize=8, length=2)
        target.parent.mkdir(parents=True, exist_ok=True)
        is_svg = target.suffix.lower() == ".svg"
        figure.savefig(target, metadata={"Date": None} if is_svg else None)


def _draw_robots(panel: Axes, shares: Sequence[Share], plane: Plane) -> None:
    rates = sorted({one.rate_hz for one in shares})
    reach = np.array([0, max(one.robots for one in shares)])
    for rate_hz, colour in zip(rates, COLOURS, strict=False):
        own = [one for one in shares if one.rate_hz == rate_hz]
        panel.plot(reach, [100 * plane.at(count, rate_hz) for count in reach], color=colour, linewidth=1.0)
        counts, cores = [one.robots for one in own], [100 * one.both for one in own]
        panel.plot(counts, cores, "o", color=colour, markersize=4, label=f"{rate_hz} Hz")
    panel.set_title(f"R² {plane.r2:.4f}", fontsize=8, loc="right", pad=2)
    panel.set_xlabel("robots", fontsize=9)
    panel.set_ylabel("processor time in % of a core", fontsize=9)
    panel.legend(fontsize=8, title="measured; line: the plane", title_fontsize=8)


def _draw_wakes(panel: Axes, shares: Sequence[Share]) -> None:
    """Show streams and daemon apart: which of them grows with the rate."""
    all_wake_hz = [one.robots * one.wakes_hz for one in shares]
    for part, colour in zip(PARTS[:2], (COLOURS[0], COLOURS[2]), strict=True):
        values = [100 * getattr(one, part) for one in shares]
        panel.plot(all_wake_hz, values, "o", color=colour, markersize=4, label=part)
    panel.set_xlabel("wakes of all streams a second", fontsize=9)
    panel.legend(fontsize=8)


def main(seconds: float = SECONDS, picture: Path = PICTURE) -> None:
    """Print the shares beside the plane, and draw them."""
    print(f"one daemon, {JOINTS} joints a robot, telemetry to a broker, {seconds:g} s each; shares of a core")
    shares = asyncio.run(_measure(seconds))
    print("\n".join(table(shares)))
    draw(shares, picture)
    print(f"drawn: {picture}")


class Robots:
    """The robots of a daemon, by MQTT.

    Parameters
    ----------
    client : MqttConnection
    names : tuple of str

    Attributes
    ----------
    tick_rates_hz : list of float
        What they have reported of each second.
    """

    def __init__(self, client: MqttConnection, names: tuple[str, ...]) -> None:
        self._client = client
        self._states = dict.fromkeys(names, "")
        self._changed = asyncio.Event()
        self.tick_rates_hz: list[float] = []

    async def hear(self) -> NoReturn:
        """Note states and diagnostics, until cancelled."""
        for subject in ("state", "diagnostics"):
            await self._client.subscribe(f"motiond/+/{subject}", qos=1)
        async for message in self._client.messages:
            _, robot, subject = message.topic.value.split("/")
            data = orjson.loads(bytes(message.payload))
            if subject == "state":
                self._states[robot] = data["state"]
                self._changed.set()
            else:
                self.tick_rates_hz.append(data["tick_rate_hz"])
        raise AssertionError  # it hears until cancelled

    async def all_do(self, verb: str, until: str, **body: Any) -> None:
        """Ask all robots for something, and wait until each is in a state."""
        for robot in self._states:
            await self._client.publish(f"motiond/{robot}/request/{verb}", orjson.dumps(body), 1)
        await self.until_all(until)

    async def until_all(self, state: str) -> None:
        """Wait until all robots are in a state."""
        async with asyncio.timeout(PATIENCE_S):
            while set(self._states.values()) != {state}:
                self._changed.clear()
                await self._changed.wait()


async def _measure(seconds: float) -> list[Share]:
    """Return what each number of robots took at each rate."""
    shares = []
    motions = {_motion(rate): (sweep(SWING_S, rate, JOINTS), float(rate)) for rate in RATES_HZ}
    for count in ROBOTS:
        names = tuple(f"robot{number}" for number in range(count))
        with tempfile.TemporaryDirectory() as name:
            os.environ["XDG_CACHE_HOME"] = os.environ["XDG_STATE_HOME"] = name
            folder = Path(name)
            mosquitto = Mosquitto(free_port(), folder)
            await mosquitto.start()
            try:
                layout = Layout(names, JOINTS, motions, broker=mosquitto.settings.url)
                with running_daemon(configuration(folder, layout)) as daemon:
                    process = psutil.Process(daemon.pid)
                    async with MqttConnection(mosquitto.settings) as client:
                        shares += await _shares(Robots(client, names), count, process, seconds)
            finally:
                await mosquitto.kill()
    return shares


async def _shares(robots: Robots, count: int, daemon: psutil.Process, seconds: float) -> list[Share]:
    hearing = asyncio.create_task(robots.hear(), name="fleet.hear")
    await robots.until_all("idle")
    shares = [await _share(robots, count, daemon, rate, seconds) for rate in RATES_HZ]
    hearing.cancel()
    await asyncio.wait((hearing,))
    return shares


async def _share(robots: Robots, count: int, daemon: psutil.Process, rate_hz: int, seconds: float) -> Share:
    await robots.all_do("play", "playing", motion=_motion(rate_hz), loop="forever", ping_pong=True)
    await asyncio.sleep(SETTLE_S)
    streams = [one for one in daemon.children(recursive=True) if one.cmdline()[:1][0].startswith(TITLE)]
    assert len(streams) == count
    robots.tick_rates_hz.clear()
    begun_s, before = time.monotonic(), _used_s(daemon, streams)
    await asyncio.sleep(seconds)
    lasted_s, after = time.monotonic() - begun_s, _used_s(daemon, streams)
    played = float(np.mean(robots.tick_rates_hz)) / rate_hz
    await robots.all_do("stop", "idle")
    of_streams, own, waited = ((end - begin) / lasted_s for begin, end in zip(before, after, strict=True))
    return Share(count, rate_hz, of_streams, own, played, waited)


def _used_s(daemon: psutil.Process, streams: list[psutil.Process]) -> tuple[float, float, float]:
    """Return the processor time of streams and daemon, and how long the daemon waited for a processor."""
    waited_s = int(Path(f"/proc/{daemon.pid}/schedstat").read_text().split()[1]) / 1e9
    return sum(map(used_s, streams)), used_s(daemon), waited_s


def _motion(rate_hz: int) -> str:
    return f"swing{rate_hz}"


if __name__ == "__main__":
    main(picture=Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURE)
