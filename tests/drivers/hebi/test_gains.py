from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("hebi", reason="hebi-py is not installed")

from motiond.drivers.base import DriverConfigError, DriverError, DriverTimeout
from motiond.drivers.hebi.driver import HebiDriver
from motiond.drivers.hebi.options import HebiOptions
from tests.drivers.hebi.fake_hebi import FakeGroup, FakeLookup, FakeModule

if TYPE_CHECKING:
    from pathlib import Path

    from motiond.drivers.testing.rig import Clock

ARM = ("base", "elbow")
GAINS = """<?xml version="1.0"?>
<group_gains>
  <control_strategy>3 4</control_strategy>
  <position><kp>15 20</kp><ki>0 0</ki><d_on_error>1 0</d_on_error><max_target>inf 1.5</max_target></position>
  <velocity><kp>0.05 0.07</kp></velocity>
  <effort><kp>0.25 0.25</kp></effort>
</group_gains>
"""


class Network(FakeLookup):
    """A network whose groups have faults before the driver gets them."""

    def __init__(self, clock: Clock, **group: Any) -> None:
        super().__init__([FakeModule(name) for name in ARM], clock)
        self._group_settings = group

    def get_group_from_names(
        self, families: str | list[str], names: str | list[str], timeout_ms: float | None = None
    ) -> FakeGroup:
        group = super().get_group_from_names(families, names, timeout_ms)
        for name, value in self._group_settings.items():
            setattr(group, name, value)
        return group


@pytest.fixture
def gains(tmp_path: Path) -> Path:
    path = tmp_path / "arm.xml"
    path.write_text(GAINS)
    return path


def driver(clock: Clock, network: Network, **options: Any) -> HebiDriver:
    checked = HebiOptions.model_validate({"families": "Arm"} | options)
    return HebiDriver(ARM, checked, clock, lambda _: network)


def test_sets_and_reads_back_the_gains_of_a_file(clock: Clock, gains: Path) -> None:
    network = Network(clock)
    driver(clock, network, gains=gains).open()
    base, elbow = (network[name].settings for name in ARM)
    assert (base["position_kp"], elbow["position_kp"]) == (15, 20)
    assert (base["control_strategy"], elbow["control_strategy"]) == (3, 4)
    assert (base["position_d_on_error"], elbow["position_d_on_error"]) == (1, 0)
    assert (base["velocity_kp"], elbow["velocity_kp"]) == pytest.approx((0.05, 0.07))
    assert "position_kd" not in base


def test_gives_each_module_its_own_gains_in_whatever_order_it_is_driven(clock: Clock, gains: Path) -> None:
    network = Network(clock)
    options = HebiOptions.model_validate({"families": "Arm", "names": ["elbow", "base"], "gains": gains})
    HebiDriver(ARM, options, clock, lambda _: network).open()
    assert network["elbow"].settings["position_kp"] == 15
    assert network["base"].settings["position_kp"] == 20


def test_a_control_strategy_comes_before_that_of_the_gains(clock: Clock, gains: Path) -> None:
    network = Network(clock)
    driver(clock, network, gains=gains, control_strategy=2).open()
    assert [network[name].settings["control_strategy"] for name in ARM] == [2, 2]


def test_sends_gains_again_until_they_are_acknowledged(clock: Clock, gains: Path) -> None:
    network = Network(clock, lost_acknowledgements=4)
    driver(clock, network, gains=gains).open()
    assert network["elbow"].settings["position_kp"] == 20


@pytest.mark.parametrize(
    ("group", "kind", "message"),
    [
        (
            {"lost_acknowledgements": 5},
            DriverTimeout,
            (
                "driver hebi: gains were sent 5 times and not acknowledged; by one or more of Arm/base, "
                "Arm/elbow; check power, cables and the network"
            ),
        ),
        (
            {"reticent": True},
            DriverTimeout,
            (
                "driver hebi: the modules did not report their gains in 1000 ms; so it is not sure that they "
                "have those that were sent; check power, cables and the network"
            ),
        ),
        (
            {"forgets": {"position_kp"}},
            DriverError,
            (
                "driver hebi: modules have other gains than were sent; "
                "Arm/base position_kp: nothing instead of 15, Arm/elbow position_kp: nothing instead of 20; "
                "update their firmware, or take these gains out of `gains`"
            ),
        ),
        (
            {"forgets": {"effort_kp", "control_strategy"}},
            DriverError,
            (
                "driver hebi: modules have other gains than were sent; "
                "Arm/base effort_kp: nothing instead of 0.25, Arm/elbow effort_kp: nothing instead of 0.25, "
                "Arm/base control_strategy: nothing instead of 3 and 1 more; "
                "update their firmware, or take these gains out of `gains`"
            ),
        ),
    ],
    ids=["not acknowledged", "not reported", "gain ignored", "several ignored"],
)
def test_does_not_open_with_other_gains(
    clock: Clock, gains: Path, group: dict[str, Any], kind: type[DriverError], message: str
) -> None:
    arm = driver(clock, Network(clock, **group), gains=gains)
    with pytest.raises(kind) as caught:
        arm.open()
    assert str(caught.value) == message
    with pytest.raises(DriverError, match="is not open"):
        arm.enable()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (None, "{path} is not a file"),
        (GAINS.replace("15 20", "15 20 25"), "Error calling hebiGroupCommandReadGains: "),
        ("<group_gains", "Error calling hebiGroupCommandReadGains: "),
        ('<?xml version="1.0"?><html/>', "there are none in it"),
        ("<group_gains><position/></group_gains>", "there are none in it"),
    ],
    ids=["no file", "another number of modules", "no XML", "no gains", "empty"],
)
def test_refuses_a_file_that_is_no_gains_of_this_arm(
    clock: Clock, tmp_path: Path, text: str | None, reason: str
) -> None:
    path = tmp_path / "gains.xml"
    if text is not None:
        path.write_text(text)
    network = Network(clock)
    for act in ("rehearse", "open"):
        with pytest.raises(DriverConfigError) as caught:
            getattr(driver(clock, network, gains=path), act)()
        assert str(caught.value).startswith(
            f"{path}: cannot be read as gains of 2 modules; " + reason.replace("{path}", str(path))
        )
        assert str(caught.value).endswith("; correct `gains`")
    assert network.groups == []
