"""What a robot reports of what it touches, by a driver that knows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.daemon.api import PlayRequest
from motiond.daemon.config.settings import load_settings
from motiond.daemon.tools.dry_run import run_dry
from motiond.drivers import CONTACT, ActuatorState
from motiond.drivers.sim.driver import SimDriver
from tests.daemon.programs import run_here
from tests.daemon.recording.recordings import read
from tests.daemon.rig import Rig, ask

if TYPE_CHECKING:
    from pathlib import Path

BODIES = ("floor", "upper arm", "hand")
ARM_ON_FLOOR = (0.0, 1.0, 0.2, 0.0, 0.0, 0.0, 0.0, 2.0)
HAND_ON_FLOOR = (0.0, 2.0, 0.5, 0.1, 0.0, 1.0, 0.0, 9.0)


class Touches:
    """What the simulated actuators of a test touch.

    `now`: in each reading. `once`: in the first one in which the last actuator is beyond `beyond`.
    """

    def __init__(self) -> None:
        self.now: list[tuple[float, ...]] = []
        self.once: list[tuple[float, ...]] = []
        self.beyond = -np.inf
        self.slots: set[int] = set()

    def fill(self, state: ActuatorState) -> None:
        touching = self.now
        if self.once and state.position[-1] > self.beyond:
            touching, self.once = self.once, []
        state.contacts.fill(np.nan)
        state.contacts[: len(touching)] = np.array(touching).reshape(-1, CONTACT)
        self.slots.add(len(state.contacts))


@pytest.fixture
def touches(monkeypatch: pytest.MonkeyPatch) -> Touches:
    """Let simulated actuators touch things."""
    touches, make, open_it, read = Touches(), SimDriver.__init__, SimDriver.open, SimDriver.read

    def make_touching(driver: SimDriver, *arguments: Any) -> None:
        make(driver, *arguments)
        driver.contact_slots = 2

    def open_touching(driver: SimDriver) -> None:
        open_it(driver)
        driver.bodies = BODIES

    def read_and_feel(driver: SimDriver, state: ActuatorState) -> None:
        read(driver, state)
        touches.fill(state)

    monkeypatch.setattr(SimDriver, "__init__", make_touching)
    monkeypatch.setattr(SimDriver, "open", open_touching)
    monkeypatch.setattr(SimDriver, "read", read_and_feel)
    return touches


def on_floor(body: str, position: list[float], force: list[float]) -> dict[str, Any]:
    return {"bodies": ["floor", body], "position": position, "force": force}


HAND = on_floor("hand", [0.5, 0.1, 0.0], [1.0, 0.0, 9.0])
ARM = on_floor("upper arm", [0.2, 0.0, 0.0], [0.0, 0.0, 2.0])


async def test_telemetry_has_what_touches_by_name_while_it_does(tmp_path: Path, touches: Touches) -> None:
    rig = Rig(tmp_path)
    async with rig.running():
        assert (await rig.until("telemetry", lambda _: True))["contacts"] == []
        described = await rig.until("description", lambda data: "bodies" in data)
        assert described["bodies"] == [*BODIES]
        touches.now = [ARM_ON_FLOOR, HAND_ON_FLOOR]
        sample = await rig.until("telemetry", lambda data: bool(data["contacts"]))
        assert sample["contacts"] == [ARM, HAND]
        touches.now = []
        since = len(rig.reports)
        await rig.until("telemetry", lambda data: data["contacts"] == [], since)
    assert touches.slots == {2}


async def test_a_touch_of_one_tick_is_in_one_sample_and_in_the_result(
    tmp_path: Path, touches: Touches
) -> None:
    """Telemetry comes every 10 ticks or more seldom."""
    rig = Rig(tmp_path)
    async with rig.running() as registry:
        goal = await rig.swings(registry)
        since = len(rig.reports)
        touches.once = [HAND_ON_FLOOR]
        await rig.until("telemetry", lambda data: bool(data["contacts"]), since)
        await rig.until("telemetry", lambda data: data["contacts"] == [], len(rig.reports))
        felt = [data["contacts"] for data in rig.reports_on("telemetry") if data["contacts"]]
        assert felt == [[HAND]]
        touches.once, touches.beyond = [ARM_ON_FLOOR], -np.inf
        await rig.until("telemetry", lambda data: bool(data["contacts"]), len(rig.reports))
        await ask(registry, "stop")
        result = await rig.rest_after(goal)
    assert result["details"]["contacts"] == [ARM, HAND]


async def test_on_virtual_time_each_sample_has_what_touched_until_then(
    tmp_path: Path, touches: Touches
) -> None:
    """All that has happened is read at once, long after it did."""
    rig = Rig(tmp_path)
    rig.robot["clock"] = "virtual"
    touches.once, touches.beyond = [HAND_ON_FLOOR], 0.3
    async with rig.running() as registry:
        await rig.until_state("idle")
        await ask(registry, "play", motion="short")
        await rig.until("telemetry", lambda data: data["frame"] > 90.0)
    samples = rig.reports_on("telemetry")
    felt = [at for at, data in enumerate(samples) if data["contacts"]]
    assert [samples[at]["contacts"] for at in felt] == [[HAND]]
    assert [samples[at + step]["feedback"]["position"][1] > 0.3 for at in felt for step in (-1, 0)] == [
        False,
        True,
    ]


async def test_a_robot_whose_driver_knows_no_contacts_reports_none(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    async with rig.running() as registry:
        sample = await rig.until("telemetry", lambda _: True)
        result = await rig.result_of((await ask(registry, "play", motion="short"))["goal_id"])
    assert "contacts" not in result["details"]
    assert sample.keys() == {"stamp_s", "frame", "reference", "feedback", "error"}


async def test_a_recording_has_what_touches_by_name(tmp_path: Path, touches: Touches) -> None:
    rig = Rig(tmp_path)
    rig.robot["recording"] = {"folder": str(tmp_path / "recordings")}
    async with rig.running() as registry:
        await rig.until_state("idle")
        await ask(registry, "record/start")
        touches.once, touches.beyond = [HAND_ON_FLOOR], 0.3
        await rig.rest_after((await ask(registry, "play", motion="short"))["goal_id"])
        await ask(registry, "record/stop")
    (path,) = (tmp_path / "recordings").iterdir()
    found = read(path)
    touched = found.messages["/motiond/contacts"]
    assert [message["contacts"] for message in touched] == [[HAND], []]
    assert touched[0]["tick"] in found.numbers["/joint_states"]


def test_a_dry_run_tells_what_it_touched(tmp_path: Path, touches: Touches) -> None:
    rig = Rig(tmp_path)
    touches.once, touches.beyond = [HAND_ON_FLOOR], 0.3
    run = run_dry(load_settings(rig.config), "arm", PlayRequest(motion="short"))
    assert run.result["details"]["contacts"] == [HAND]


def test_the_command_of_a_dry_run_says_in_words_what_it_touched(
    tmp_path: Path, touches: Touches, capsys: pytest.CaptureFixture[str]
) -> None:
    rig = Rig(tmp_path)
    touches.once, touches.beyond = [HAND_ON_FLOOR], 0.3
    code, out, _ = run_here(capsys, "play", "arm", "short", "--dry-run", "-c", rig.config)
    assert code == 0
    assert "arm: floor and hand touched, with up to 9.06 N" in out.splitlines()
