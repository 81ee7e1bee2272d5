from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.drivers.base import ActuatorCommand, ActuatorState, CommunicationLost, DriverConfigError
from motiond.drivers.hebi.config import load_hebi_config
from motiond.drivers.hebi.driver import HebiDriver
from motiond.drivers.hebi.lookup import Module, missing_modules
from motiond.drivers.hebi.options import HebiOptions
from motiond.drivers.registry import check_options, make_driver
from tests.contract.hebi_bench import Bench

if TYPE_CHECKING:
    from motiond.drivers.testing.rig import Clock

pytest.importorskip("hebi", reason="hebi-py is not installed")

FILES = Path(__file__).parents[2] / "files"
NAN = float("nan")
ARM = ("base", "elbow")


class Arm:
    """An open driver of two imitated modules, and these modules."""

    def __init__(self, clock: Clock, **options: Any) -> None:
        self.bench = Bench(ARM)
        self.driver = HebiDriver(
            ARM, HebiOptions.model_validate({"families": "Arm"} | options), clock, lambda *_: self.bench
        )
        self.driver.open()

    def write(self, position: Any = NAN, velocity: Any = NAN, effort: Any = NAN) -> None:
        command = ActuatorCommand(len(ARM))
        command.position[:], command.velocity[:], command.effort[:] = position, velocity, effort
        self.driver.write(command)

    def read(self) -> ActuatorState:
        state = ActuatorState(len(ARM))
        self.driver.read(state)
        return state

    def last_sent(self) -> list[Any]:
        sent = self.bench.sent[-1]
        return [sent.position, sent.velocity, sent.effort]


@pytest.fixture
def arm(clock: Clock) -> Arm:
    arm = Arm(clock)
    arm.driver.enable()
    return arm


def test_sends_the_last_position_again_where_none_is_commanded(arm: Arm) -> None:
    arm.write(position=[0.1, -0.2])
    arm.write(position=[NAN, 0.3])
    np.testing.assert_allclose(arm.last_sent()[0], [0.1, 0.3], rtol=1e-6)


def test_sends_no_position_beside_a_velocity_alone(arm: Arm) -> None:
    arm.write(position=[0.1, -0.2])
    arm.write(position=[0.2, NAN], velocity=[NAN, 1])
    np.testing.assert_allclose(arm.last_sent()[:2], [[0.2, NAN], [NAN, 1.0]], rtol=1e-6)


def test_commands_the_measured_position_to_take_hold(arm: Arm) -> None:
    arm.driver.disable()
    arm.bench.push(np.array([0.4, 0.6]))
    arm.driver.enable()
    np.testing.assert_allclose(arm.last_sent(), [[0.4, 0.6], [0.0, 0.0], [NAN, NAN]], rtol=1e-6)


def test_releases_with_an_empty_command_that_hardly_lives(arm: Arm) -> None:
    arm.driver.disable()
    assert np.isnan(arm.last_sent()).all()
    assert arm.bench.sent[-1].lifetime_ms == 1
    assert arm.bench.command_lifetime == 250


def test_halt_keeps_the_effort_that_holds_the_arm_up(arm: Arm) -> None:
    arm.write(position=[0.5, 0.5], velocity=[1, 1], effort=[2, 3])
    arm.driver.halt()
    arm.bench.push(np.array([9.0, 9.0]))
    arm.driver.halt()
    np.testing.assert_allclose(arm.last_sent(), [[0.5, 0.5], [0.0, 0.0], [2.0, 3.0]], rtol=1e-6)


def test_gives_the_lifetime_in_the_groups_milliseconds(clock: Clock) -> None:
    arm = Arm(clock, command_lifetime_s=0.15)
    assert arm.bench.command_lifetime == 150


def test_lets_the_modules_report_at_the_rate_of_the_loop(clock: Clock) -> None:
    arm = Arm(clock)
    arm.driver.set_period(0.004)
    assert arm.bench.feedback_frequency == pytest.approx(250)


def test_keeps_the_feedback_frequency_that_is_set(clock: Clock) -> None:
    arm = Arm(clock, feedback_frequency_hz=50)
    arm.driver.set_period(0.004)
    assert arm.bench.feedback_frequency == 50


def test_reports_the_temperature_of_each_winding(arm: Arm) -> None:
    np.testing.assert_array_equal(arm.read().temperature_c, [35, 35])


def test_keeps_the_last_feedback_and_its_stamp_until_new_comes(arm: Arm, clock: Clock) -> None:
    arm.bench.push(np.array([0.4, 0.6]))
    arm.read()
    arm.bench.silent = True
    clock.now_s += 0.1
    state = arm.read()
    np.testing.assert_allclose(state.position, [0.4, 0.6], rtol=1e-6)
    assert (state.stamp_s == clock.now_s - 0.1).all()


def test_reports_which_module_does_not_report(arm: Arm, clock: Clock) -> None:
    clock.now_s += 0.1
    arm.bench.push(np.array([0.1, NAN]))
    arm.read()
    clock.now_s += 0.1
    with pytest.raises(CommunicationLost) as caught:
        arm.read()
    assert str(caught.value) == (
        "driver hebi: no feedback for 0.20 s from Arm/elbow; `feedback_timeout_s` is 0.125; "
        "check power, cables and the network"
    )


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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "driver hebi: give either `config` or `families`"),
        (
            {"config": "arm.cfg.yaml", "names": ["base"]},
            "driver hebi: `names` stand in the file that `config` names; remove them here",
        ),
        (
            {"families": "Arm", "command_lifetime_s": 0},
            (
                "driver hebi: option 'command_lifetime_s' is 0; "
                "0 means forever, and nothing would stop the modules when setpoints end"
            ),
        ),
        (
            {"families": "Arm", "command_lifetime_s": 250},
            "driver hebi: option 'command_lifetime_s' is 250; modules take more than 0 and at most 5 s",
        ),
        (
            {"families": "Arm", "names": ["J1", "J2", "J3"]},
            (
                "driver hebi: 3 modules do not go with 2 actuators; "
                "they are matched by name, or else by order; name as many modules as there are actuators"
            ),
        ),
        (
            {"families": ["Arm", "Hand", "Leg"]},
            (
                "driver hebi: 3 families do not go with 2 names; "
                "one family holds for all names, or each name has its own; correct `families` or `names`"
            ),
        ),
    ],
)
def test_refuses_wrong_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(DriverConfigError) as caught:
        check_options("hebi", options, ARM)
    assert str(caught.value) == message


def test_matches_modules_by_name_where_all_are_named() -> None:
    options = HebiOptions.model_validate({"families": ["Arm", "Hand"], "names": ["elbow", "base"]})
    assert HebiDriver(ARM, options).modules == (Module("Hand", "base"), Module("Arm", "elbow"))


def test_a_robot_configuration_sets_up_the_group(clock: Clock, tmp_path: Path) -> None:
    path, text = tmp_path / "arm.cfg.yaml", (FILES / "good" / "arm.cfg.yaml").read_text()
    path.write_text(text.replace('gains:\n  default: "gains/A-2085-06.xml"\n', ""))
    config = load_hebi_config(path)
    bench = Bench(config.names)
    options = HebiOptions.model_validate({"config": path, "gravity_compensation": False})
    driver = HebiDriver(config.names, options, clock, lambda *_: bench)
    driver.open()
    assert driver.modules[2] == Module("Arm", "J3_elbow")
    assert (bench.command_lifetime, bench.feedback_frequency) == (250, 100)


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
