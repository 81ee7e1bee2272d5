from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("hebi", reason="hebi-py is not installed")

from motiond.drivers.base import DriverConfigError, DriverError
from tests.drivers.errors import message_of
from tests.drivers.hebi.arm import Arm
from tests.tables import table

if TYPE_CHECKING:
    from pathlib import Path

    from motiond.drivers.testing.rig import Clock

GAINS = """<?xml version="1.0"?>
<group_gains>
  <control_strategy>3 4</control_strategy>
  <position><kp>15 20</kp><ki>0 0</ki><d_on_error>1 0</d_on_error><max_target>inf 1.5</max_target></position>
  <velocity><kp>0.05 0.07</kp></velocity>
  <effort><kp>0.25 0.25</kp></effort>
</group_gains>
"""


@pytest.fixture
def gains(tmp_path: Path) -> Path:
    path = tmp_path / "arm.xml"
    path.write_text(GAINS)
    return path


def test_sets_and_reads_back_the_gains_of_a_file(clock: Clock, gains: Path) -> None:
    arm = Arm(clock, gains=gains).open()
    base, elbow = (module.settings for module in arm.modules)
    assert (base["position_kp"], elbow["position_kp"]) == (15, 20)
    assert (base["control_strategy"], elbow["control_strategy"]) == (3, 4)
    assert (base["position_d_on_error"], elbow["position_d_on_error"]) == (1, 0)
    assert (base["velocity_kp"], elbow["velocity_kp"]) == pytest.approx((0.05, 0.07))
    assert "position_kd" not in base


def test_gives_each_module_its_own_gains_in_whatever_order_it_is_driven(clock: Clock, gains: Path) -> None:
    arm = Arm(clock, names=["elbow", "base"], gains=gains).open()
    assert [module.settings["position_kp"] for module in arm.modules] == [20, 15]


def test_a_control_strategy_comes_before_that_of_the_gains(clock: Clock, gains: Path) -> None:
    arm = Arm(clock, gains=gains, control_strategy=2).open()
    assert [module.settings["control_strategy"] for module in arm.modules] == [2, 2]


def test_sends_gains_again_until_they_are_acknowledged(clock: Clock, gains: Path) -> None:
    arm = Arm(clock, of_groups={"lost_acknowledgements": 4}, gains=gains).open()
    assert arm.elbow.settings["position_kp"] == 20


@table("group, message")
def test_does_not_open_with_other_gains(
    clock: Clock, gains: Path, group: dict[str, Any], message: str
) -> None:
    arm = Arm(clock, of_groups=group, gains=gains)
    assert message_of(DriverError, arm.open) == message
    with pytest.raises(DriverError, match="is not open"):
        arm.driver.enable()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (GAINS.replace("15 20", "15 20 25"), "Error calling hebiGroupCommandReadGains: "),
        ("<group_gains", "Error calling hebiGroupCommandReadGains: "),
        ('<?xml version="1.0"?><html/>', "there are none in it"),
        ("<group_gains><position/></group_gains>", "there are none in it"),
    ],
    ids=["another number of modules", "no XML", "no gains", "empty"],
)
def test_refuses_a_file_that_is_no_gains_of_this_arm(
    clock: Clock, tmp_path: Path, text: str, reason: str
) -> None:
    path = tmp_path / "gains.xml"
    path.write_text(text)
    arm = Arm(clock, gains=path)
    for act in (arm.driver.rehearse, arm.driver.open):
        with pytest.raises(DriverConfigError) as caught:
            act()
        assert str(caught.value).startswith(f"{path}: cannot be read as gains of 2 modules; {reason}")
        assert str(caught.value).endswith("; correct `gains`")
    assert arm.lookup.groups == []  # before modules are looked for
