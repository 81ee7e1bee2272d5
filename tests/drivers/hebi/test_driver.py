from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

pytest.importorskip("hebi", reason="hebi-py is not installed")

from motiond.drivers.base import ActuatorCommand, ActuatorState, DriverConfigError
from motiond.drivers.hebi.config import load_hebi_config
from motiond.drivers.hebi.driver import HebiDriver
from motiond.drivers.hebi.lookup import Module, missing_modules
from motiond.drivers.hebi.options import HebiOptions
from motiond.drivers.registry import make_driver
from tests.drivers.hebi.fake_hebi import FakeLookup, FakeModule

if TYPE_CHECKING:
    from motiond.drivers.testing.rig import Clock

FILES = Path(__file__).parents[2] / "files"
NAN = float("nan")
ARM = ("base", "elbow")


class Arm:
    """An open driver of two modules, and these modules."""

    def __init__(self, clock: Clock, **options: Any) -> None:
        self.lookup = FakeLookup([FakeModule(name) for name in ARM], clock)
        self.base, self.elbow = self.lookup.modules.values()
        checked = HebiOptions.model_validate({"families": "Arm"} | options)
        self.driver = HebiDriver(ARM, checked, clock, lambda _: self.lookup)
        self.driver.open()

    def write(self, position: Any = NAN, velocity: Any = NAN, effort: Any = NAN) -> None:
        command = ActuatorCommand(len(ARM))
        command.position[:], command.velocity[:], command.effort[:] = position, velocity, effort
        self.driver.write(command)

    def assert_sent(self, position: Any = NAN, velocity: Any = NAN, effort: Any = NAN) -> None:
        """Compare with the last command that the modules have received."""
        fields = [np.broadcast_to(each, 2) for each in (position, velocity, effort)]
        np.testing.assert_allclose(np.transpose([self.base.goal, self.elbow.goal]), fields, rtol=1e-6)


@pytest.fixture
def arm(clock: Clock) -> Arm:
    arm = Arm(clock)
    arm.driver.enable()
    return arm


def test_sends_the_last_position_again_where_none_is_commanded_but_none_beside_a_velocity(arm: Arm) -> None:
    arm.write(position=[0.1, -0.2])
    arm.write(position=[NAN, 0.3])
    arm.assert_sent([0.1, 0.3], [NAN, NAN])
    arm.write(position=[0.2, NAN], velocity=[NAN, 1])
    arm.assert_sent([0.2, NAN], [NAN, 1.0])


def test_releases_with_an_empty_command_that_hardly_lives(arm: Arm, clock: Clock) -> None:
    arm.driver.disable()
    arm.assert_sent()
    assert arm.elbow.alive_until_s == pytest.approx(clock.now_s + 0.001)
    assert arm.lookup.group.command_lifetime == 250


def test_halt_keeps_the_effort_that_holds_the_arm_up(arm: Arm) -> None:
    arm.write(position=[0.5, 0.5], velocity=[1, 1], effort=[2, 3])
    for _ in range(2):
        arm.driver.halt()
        arm.base.position = arm.elbow.position = 9.0
    arm.assert_sent([0.5, 0.5], [0.0, 0.0], [2.0, 3.0])


def test_the_group_has_the_lifetime_and_reports_at_the_rate_of_the_loop_unless_another_is_set(
    clock: Clock,
) -> None:
    for options, feedback_hz in (({}, 250), ({"feedback_frequency_hz": 50}, 50)):
        arm = Arm(clock, command_lifetime_s=0.15, **options)
        arm.driver.set_period(0.004)
        group = arm.lookup.group
        assert (group.command_lifetime, round(group.feedback_frequency)) == (150, feedback_hz)


def test_keeps_the_last_feedback_and_its_stamp_until_new_comes(arm: Arm, clock: Clock) -> None:
    arm.write(position=[0.4, 0.6])
    arm.elbow.temperature_c = 35.0
    state = ActuatorState(len(ARM))
    for silence_s in (0.0, 0.1):
        arm.base.mute = arm.elbow.mute = silence_s > 0
        clock.now_s += silence_s
        arm.driver.read(state)
        np.testing.assert_allclose(state.position, [0.4, 0.6], rtol=1e-6)
        assert state.temperature_c.tolist() == [30.0, 35.0]
        assert (state.stamp_s == clock.now_s - silence_s).all()


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (
            {("Arm", "base"), ("Arm", "elbw")},
            "driver hebi: not found in 3 s: Arm/elbow; found Arm/base, Arm/elbw; did you mean 'Arm/elbw'?",
        ),
        (
            set(),
            (
                "driver hebi: not found in 3 s: Arm/base, Arm/elbow; found no modules at all; "
                "check power, cables and the network"
            ),
        ),
    ],
)
def test_reports_which_modules_are_missing(found: set[tuple[str, str]], message: str) -> None:
    wanted = [Module("Arm", name) for name in ARM]
    assert str(missing_modules(wanted, {Module(*pair) for pair in found}, 3)) == message


def test_reports_how_to_install_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hebi", None)
    driver = make_driver("hebi", {"families": "Arm"}, ARM)
    with pytest.raises(DriverConfigError) as caught:
        driver.open()
    assert str(caught.value) == (
        "driver hebi: hebi-py cannot be imported; import of hebi halted; None in sys.modules; "
        "pip install 'motiond[hebi]'"
    )


def test_matches_modules_by_name_where_all_are_named() -> None:
    options = HebiOptions.model_validate({"families": ["Arm", "Hand"], "names": ["elbow", "base"]})
    assert HebiDriver(ARM, options).modules == (Module("Hand", "base"), Module("Arm", "elbow"))


def test_a_robot_configuration_sets_up_the_group(clock: Clock, tmp_path: Path) -> None:
    path, text = tmp_path / "arm.cfg.yaml", (FILES / "good" / "arm.cfg.yaml").read_text()
    path.write_text(text.replace('gains:\n  default: "gains/A-2085-06.xml"\n', ""))
    config = load_hebi_config(path)
    lookup = FakeLookup([FakeModule(name) for name in config.names], clock)
    options = HebiOptions.model_validate({"config": path, "gravity_compensation": False})
    driver = HebiDriver(config.names, options, clock, lambda _: lookup)
    driver.open()
    assert driver.modules[2] == Module("Arm", "J3_elbow")
    assert (lookup.group.command_lifetime, lookup.group.feedback_frequency) == (250, 100)


def test_a_file_that_is_missing_is_reported_before_modules_are_looked_for(clock: Clock) -> None:
    path = FILES / "good" / "arm.cfg.yaml"
    names = load_hebi_config(path).names
    options = HebiOptions.model_validate({"config": path, "gravity_compensation": False})
    driver = HebiDriver(names, options, clock, lambda _: pytest.fail("it looks for modules"))
    gains = path.parent / "gains" / "A-2085-06.xml"
    with pytest.raises(DriverConfigError) as caught:
        driver.open()
    assert str(caught.value) == (
        f"{gains}: cannot be read as gains of 6 modules; {gains} is not a file; correct `gains`"
    )
