"""URDF in files of other formats: the same robot, hung on what includes it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from motiond.formats import FormatError, load_robot, load_robots
from tests.tables import table

if TYPE_CHECKING:
    from motiond.formats import RobotModel

GOOD = Path(__file__).parents[2] / "files" / "good" / "urdf"
PICKER = (GOOD / "picker.urdf").read_text()
ARM = PICKER.replace('<link name="world"/>', '<link name="floor"/>').replace('"world"', '"floor"')
POSTURE = (0.3, 0.1, -0.5, 0.02, -0.02)


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("picker.urdf").write_text(PICKER)
    Path("arm.urdf").write_text(ARM)


def sdf(text: str) -> RobotModel:
    Path("cell.sdf").write_text(f'<sdf version="1.9">{text}</sdf>')
    return load_robot("cell.sdf")


def hrdf(text: str) -> RobotModel:
    Path("cell.hrdf").write_text(f'<robot version="1.6.0">\n{text}\n</robot>')
    return load_robot("cell.hrdf")


def alike(model: RobotModel, alone: RobotModel, moved: tuple[float, float, float], scope: str = "") -> bool:
    """Whether every link is where it is in the file alone, moved so far."""
    rest = [0.0] * (model.dof - alone.dof)
    there, here = model.forward_kinematics([*POSTURE, *rest]), alone.forward_kinematics(POSTURE)
    shift = np.eye(4)
    shift[:3, 3] = moved
    names = [link.name for link in alone.links if link.name != "world"]
    return all(np.allclose(there[scope + name], shift @ here[name], atol=1e-12) for name in names)


def test_a_model_of_sdformat_may_be_urdf() -> None:
    model = sdf("<world name='w'><include><uri>picker.urdf</uri><pose>0 0 2 0 0 0</pose></include></world>")
    alone = load_robot("picker.urdf")
    assert (model.name, model.format, model.canonical_link) == ("picker", "sdf", "base")
    assert alike(model, alone, (0, 0, 2))
    for one, other in zip(model.joints, alone.joints, strict=True):
        assert (one.name, one.type, one.coordinates) == (other.name, other.type, other.coordinates)
        assert (one.parent, one.child, one.mimic) == (other.parent, other.child, other.mimic)
    for link, other_link in zip(model.links, alone.links[1:], strict=True):
        assert (link.name, link.mass, link.inertia.tolist()) == (
            other_link.name,
            other_link.mass,
            other_link.inertia.tolist(),
        )
        assert [shape.kind for shape in link.shapes] == [shape.kind for shape in other_link.shapes]
        np.testing.assert_allclose(link.com, other_link.com)


@pytest.mark.parametrize(("merge", "scope"), [("false", "tool::"), ("true", "")])
def test_a_nested_model_of_sdformat_may_be_urdf(merge: str, scope: str) -> None:
    model = sdf(
        f"""<model name="cell"><link name="table"/>
        <include merge="{merge}"><uri>arm.urdf</uri><name>tool</name>
          <pose>1 0 0 0 0 0</pose></include>
        <joint name="on" type="fixed"><parent>table</parent><child>{scope}floor</child></joint></model>"""
    )
    assert [joint.name for joint in model.joints if joint.coordinates] == [
        f"{scope}{name}" for name in ("shoulder", "lift", "spin", "left_finger", "right_finger")
    ]
    assert alike(model, load_robot("arm.urdf"), (1, 0, 0), scope)


def test_urdf_in_the_folder_of_a_model_is_found_by_its_config() -> None:
    Path("tool").mkdir()
    Path("arm.urdf").rename("tool/model.urdf")
    Path("tool/model.config").write_text('<model><sdf version="1.9">model.urdf</sdf></model>')
    assert sdf("<world name='w'><include><uri>tool</uri></include></world>").name == "picker"


def test_an_element_of_hrdf_may_be_urdf() -> None:
    model = hrdf('<rigid-body mass="1" output_trans="0 0 0.5"/>\n<include path="arm.urdf"/>')
    alone = load_robot("arm.urdf")
    assert (model.format, model.joints) == ("hrdf", model.joints)
    assert [joint.name for joint in model.joints] == [joint.name for joint in alone.joints]
    assert alike(model, alone, (0, 0, 0.5))


def test_urdf_hangs_on_every_output_of_hrdf_under_names_of_its_own() -> None:
    model = hrdf(
        '<rigid-body mass="1"><output trans="0 0 1"><include path="arm.urdf"/></output>'
        '<output trans="0 0 2"><actuator type="X5-1" tag="pan"/></output></rigid-body>'
    )
    assert [joint.name for joint in model.joints][-1] == "pan"
    assert alike(model, load_robot("arm.urdf"), (0, 0, 1))


@table("text, message")
def test_what_urdf_cannot_be_included_is_refused(text: str, message: str) -> None:
    Path("float.urdf").write_text((GOOD / "float.urdf").read_text())
    Path("twin.urdf").write_text(ARM.replace('joint name="shoulder"', 'joint name="base"'))
    Path("scopes.urdf").write_text(ARM.replace('"upper"', '"a::b"'))
    Path("none.urdf").write_text('<robot name="none">\n<link name="a"/><link name="b"/></robot>')
    Path("cell.sdf").write_text(f'<sdf version="1.9"><world name="w">\n{text}</world></sdf>')
    Path("cell.hrdf").write_text(f'<robot version="1.6.0">\n{text}</robot>')
    with pytest.raises(FormatError) as caught:
        load_robots("cell.hrdf" if "path" in text else "cell.sdf")
    assert str(caught.value) == message


def test_what_is_odd_in_included_urdf_is_told_with_its_file() -> None:
    warnings = sdf("<world name='w'><include><uri>picker.urdf</uri></include></world>").warnings
    assert warnings == load_robot("picker.urdf").warnings
    assert len(warnings) == 2
    assert hrdf('<include path="arm.urdf"/>').warnings == load_robot("arm.urdf").warnings


@pytest.mark.parametrize("broken", ["", "<link name='l0'/>" * 1500], ids=["good", "broken"])
@pytest.mark.parametrize("name", ["cell.sdf", "cell.hrdf"])
def test_urdf_counts_as_often_as_it_is_included(name: str, broken: str) -> None:
    links = "".join(f'<link name="l{n}"/>' for n in range(1500))
    joints = "".join(
        f'<joint name="j{n}" type="fixed"><parent link="l0"/><child link="l{n}"/></joint>'
        for n in range(1, 1500)
    )
    Path("many.urdf").write_text(f'<robot name="r">{links}{joints}{broken}</robot>')
    sdf_includes = "".join(f"<include><uri>many.urdf</uri><name>i{n}</name></include>" for n in range(11))
    hrdf_includes = '<include path="many.urdf"/>' * 11
    text = {
        "cell.sdf": f'<sdf version="1.9"><world name="w">{sdf_includes}</world></sdf>',
        "cell.hrdf": f'<robot version="1.6.0">{hrdf_includes}</robot>',
    }[name]
    Path(name).write_text(text)
    with pytest.raises(FormatError) as caught:
        load_robots(name)
    assert str(caught.value.problems[-1]) == (
        f"{name}:1: more than 10000 elements; counted with all included files; no real robot is that large"
    )
