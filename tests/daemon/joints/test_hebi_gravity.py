"""What HEBI modules carry: the robot's description, with its payload, as hebi-py weighs the same HRDF."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

pytest.importorskip("hebi", reason="hebi-py is not installed")

from motiond.daemon.config.robot import JointSettings, PayloadSettings
from motiond.daemon.joints import build_joint_map, with_gravity, with_payload
from motiond.drivers.base import DriverConfigError
from motiond.drivers.hebi.lookup import import_hebi
from motiond.drivers.testing.rig import Clock
from motiond.formats import load_robot
from tests.drivers.hebi.arm import Arm
from tests.drivers.hebi.fake_hebi import EFFORT_CONTROL, FakeModule

if TYPE_CHECKING:
    from motiond.formats.arrays import Floats

HRDF = Path(__file__).parents[3] / "config" / "robots" / "six_axis.hrdf"
JOINTS = ("base", "shoulder", "elbow", "wrist1", "wrist2", "wrist3")
POSITION = [0.3, 0.9, -0.7, 0.4, 1.1, -0.2]
UPRIGHT = (1.0, 0.0, 0.0, 0.0)
PAYLOAD = PayloadSettings(frame="wrist3/output", mass=2.0, com=(0.1, 0.0, 0.05))


@pytest.fixture
def clock() -> Clock:
    return Clock()


def options(payload: PayloadSettings | None = None, **given: Any) -> dict[str, Any]:
    model = load_robot(HRDF)
    joint_map = build_joint_map("arm", model, {})
    own = {"gravity_compensation": True} | given
    return with_gravity("hebi", own, with_payload("arm", model, payload), joint_map)


def arm_of(clock: Clock, given: dict[str, Any]) -> Arm:
    pairs = zip(JOINTS, POSITION, strict=True)
    modules = [FakeModule(name, at, orientation=UPRIGHT, settings=dict(EFFORT_CONTROL)) for name, at in pairs]
    return Arm(clock, modules, **given)


def hebis_own() -> Floats:
    model = import_hebi().robot_model.import_from_hrdf(str(HRDF))
    efforts: Floats = model.get_grav_comp_efforts(np.array(POSITION), np.array([0.0, 0.0, -9.80665]))
    return efforts


@pytest.mark.parametrize("given", [{"hrdf": HRDF}, {"base_orientation": UPRIGHT}], ids=["sensor", "base"])
def test_modules_carry_the_description_as_hebi_py_would(clock: Clock, given: dict[str, Any]) -> None:
    arm = arm_of(clock, options(**given)).hold()
    np.testing.assert_allclose(arm.efforts(), hebis_own(), atol=1e-3)


def test_they_carry_the_payload_too(clock: Clock) -> None:
    arm = arm_of(clock, options(PAYLOAD, base_orientation=UPRIGHT)).hold()
    model = load_robot(HRDF)

    def height(q: Floats) -> float:
        return float((model.forward_kinematics(q)["wrist3/output"] @ [0.1, 0.0, 0.05, 1.0])[2])

    steps = np.eye(6) * 1e-6
    pulled = [2 * 9.80665 * (height(POSITION + step) - height(POSITION - step)) / 2e-6 for step in steps]
    np.testing.assert_allclose(arm.efforts() - hebis_own(), pulled, atol=1e-3)


def test_a_hand_guides_them_without_a_model_of_hebis(clock: Clock) -> None:
    arm = arm_of(clock, options(base_orientation=UPRIGHT)).open()
    arm.driver.guide()
    np.testing.assert_allclose(arm.efforts(), hebis_own(), atol=1e-3)


def test_a_description_without_masses_leaves_it_to_the_hrdf(clock: Clock, tmp_path: Path) -> None:
    joints = "".join(f'<joint axis="rz" tag="{name}"/>' for name in JOINTS)
    light = tmp_path / "light.hrdf"
    light.write_text(f'<robot version="1.6.0">{joints}</robot>')
    model = load_robot(light)
    given = {"gravity_compensation": True, "hrdf": HRDF, "base_orientation": UPRIGHT}
    filled = with_gravity("hebi", given, model, build_joint_map("arm", model, {}))
    assert filled == given
    np.testing.assert_allclose(arm_of(clock, filled).hold().efforts(), hebis_own(), atol=1e-3)


def test_which_way_is_down_is_not_known_without_a_base_or_a_model_of_hebis(clock: Clock) -> None:
    with pytest.raises(DriverConfigError) as caught:
        arm_of(clock, options())
    assert str(caught.value) == "driver hebi: gravity compensation needs a model; there is none; set `hrdf`"


def test_each_part_of_a_composite_carries_what_its_own_actuators_move() -> None:
    model = load_robot(HRDF)
    joint_map = build_joint_map("arm", model, {"wrist3": JointSettings(actuator="tool")})
    parts = {
        "arm": {"type": "hebi", "families": "Arm", "actuators": list(JOINTS[:5])},
        "tool": {"type": "sim", "actuators": ["tool"], "gravity": {"from_model": True}},
    }
    filled = with_gravity("composite", {"parts": parts}, model, joint_map)["parts"]
    bodies = [[body["actuator"] for body in filled[part]["gravity"]["bodies"]] for part in ("arm", "tool")]
    assert bodies == [[*JOINTS[:5]], ["tool"]]
    whole = with_gravity("hebi", {}, model, joint_map)["gravity"]["bodies"]
    last = filled["arm"]["gravity"]["bodies"][-1]
    assert last["mass"] == pytest.approx(whole[-1]["mass"] + whole[-2]["mass"])
