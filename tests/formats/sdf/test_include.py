"""SDFormat includes: what a URI finds, how the include changes it, and what may not be read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from motiond.formats import FormatError, load_robot, load_robots
from tests.tables import table

WHEEL = '<sdf version="1.9"><model name="wheel"><pose>9 0 0 0 0 0</pose><link name="rim"/></model></sdf>'
CONFIG = '<model><sdf version="1.9">model.sdf</sdf></model>'


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SDF_PATH", raising=False)


def write(path: str, text: str) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text)


def world(include: str) -> str:
    return f'<sdf version="1.9"><world name="w">\n<include>{include}</include></world></sdf>'


def refusal(path: str = "yard.sdf", within: tuple[str, ...] = ()) -> str:
    with pytest.raises(FormatError) as refused:
        load_robots(path, within=within)
    return str(refused.value)


@table("uri, place")
def test_uri_is_looked_for_beside_the_file_and_along_the_path(
    uri: str, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SDF_PATH", "elsewhere::further")
    write(place, WHEEL)
    if place.endswith("model.sdf"):
        write(str(Path(place).with_name("model.config")), CONFIG)
    write("yard.sdf", world(f"<uri>{uri}</uri>"))
    assert load_robot("yard.sdf").name == "wheel"


def test_models_beside_each_other_find_each_other() -> None:
    write("models/wheel/model.config", CONFIG)
    write("models/wheel/model.sdf", WHEEL)
    write("models/cart/cart.sdf", world("<uri>model://wheel</uri>"))
    assert load_robot("models/cart/cart.sdf").name == "wheel"


@table("include, name, position")
def test_include_may_rename_and_place_its_model(include: str, name: str, position: list[float]) -> None:
    write("wheel.sdf", WHEEL)
    write("yard.sdf", world(f"<uri>wheel.sdf</uri>{include}"))
    robot = load_robot("yard.sdf")
    assert robot.name == name
    assert robot.base_pose[:3, 3].tolist() == position


def test_own_name_in_an_axis_means_the_model_s_frame_under_whichever_name_it_is_included() -> None:
    write(
        "wrist.sdf",
        """<sdf version="1.9"><model name="wrist"><link name="a"/>
        <link name="b"><pose degrees="true">0 0 0 0 0 90</pose></link>
        <joint name="j" type="revolute"><parent>a</parent><child>b</child>
        <axis><xyz expressed_in="wrist">1 0 0</xyz></axis></joint></model></sdf>""",
    )
    write("yard.sdf", world("<uri>wrist.sdf</uri><name>left</name>"))
    write(
        "arm.sdf",
        '<sdf version="1.9"><model name="arm"><link name="base"/><include merge="true"><uri>wrist.sdf</uri>'
        '<pose degrees="true">0 0 0 0 0 45</pose></include></model></sdf>',
    )
    for path in ("wrist.sdf", "yard.sdf", "arm.sdf"):
        (joint,) = load_robot(path).joints
        np.testing.assert_allclose(joint.axes, [[0, -1, 0]], atol=1e-12)


@pytest.mark.parametrize("binding", ["", ' xmlns:experimental="http://sdformat.org/experimental"'])
def test_parameters_that_would_change_the_included_model_warn(binding: str) -> None:
    write("wheel.sdf", WHEEL)
    include = "<uri>wheel.sdf</uri>\n<experimental:params><link element_id='l'/></experimental:params>"
    write("yard.sdf", world(include).replace("<sdf", f"<sdf{binding}"))
    (warning,) = load_robot("yard.sdf").warnings
    assert warning == (
        "yard.sdf:2: <experimental:params> is not read; it would change the included model; "
        "change a copy of the model and include that"
    )


@pytest.mark.parametrize("version", ["", ' version=" "'])
def test_a_file_without_a_version_is_taken_from_a_model_config_that_has_no_other(version: str) -> None:
    write("wheel/model.config", f"<model>\n<sdf{version}>model.sdf</sdf><sdf>other.sdf</sdf></model>")
    write("wheel/model.sdf", WHEEL)
    write("yard.sdf", world("<uri>wheel</uri>"))
    robot = load_robot("yard.sdf")
    (warning,) = robot.warnings
    assert robot.name == "wheel"
    assert warning == (
        "wheel/model.config:2: <sdf> has no 'version'; the first without one is taken; "
        'write <sdf version="1.9">model.sdf</sdf>'
    )
    write("wheel/model.config", CONFIG.replace("</model>", "<sdf>gone.sdf</sdf></model>"))
    assert load_robot("yard.sdf").warnings == ()


def test_slips_in_the_xml_of_a_model_config_warn() -> None:
    write("models/wheel/model.sdf", WHEEL)
    write("models/wheel/model.config", "<!-- a -- b --><model><sdf version='1.9'>model.sdf</sdf></model>")
    write("yard.sdf", world("<uri>models/wheel</uri>"))
    (warning,) = load_robot("yard.sdf").warnings
    assert warning == (
        "models/wheel/model.config:1: '--' in a comment; XML ends comments by it; write - there"
    )


def test_include_may_make_its_model_static() -> None:
    write("wheel.sdf", WHEEL)
    write("yard.sdf", world("<uri>wheel.sdf</uri><static>true</static>"))
    assert load_robot("yard.sdf").frames[0].attached_to == "world"


def test_include_may_place_a_frame_of_its_model() -> None:
    write(
        "rod.sdf",
        '<sdf version="1.9"><model name="rod"><link name="a"/>'
        '<link name="b"><pose>0 0 2 0 0 0</pose></link></model></sdf>',
    )
    write("yard.sdf", world("<uri>rod.sdf</uri><placement_frame>b</placement_frame><pose>1 0 0 0 0 0</pose>"))
    found = load_robot("yard.sdf").forward_kinematics([])
    assert found["a"][:3, 3].tolist() == [1, 0, -2]
    assert found["b"][:3, 3].tolist() == [1, 0, 0]


def test_file_may_include_its_top_model() -> None:
    write("wheel.sdf", WHEEL)
    write("top.sdf", '<sdf version="1.9"><include><uri>wheel.sdf</uri></include></sdf>')
    assert load_robot("top.sdf").name == "wheel"


def test_lights_and_actors_are_no_robots() -> None:
    write("sun.sdf", '<sdf version="1.6"><light name="sun" type="point"/></sdf>')
    write("yard.sdf", world("<uri>sun.sdf</uri>"))
    assert load_robots("yard.sdf") == []


def test_merged_model_stands_in_its_own_frame() -> None:
    write(
        "hand.sdf",
        """<sdf version="1.9"><model name="hand" canonical_link="palm"><link name="wrist"/>
        <link name="palm"><pose>0 0 1 0 0 0</pose></link>
        <frame name="tip"><pose relative_to="palm">0 0 1 0 0 0</pose></frame>
        <model name="tool"><pose>0 1 0 0 0 0</pose><link name="blade"/></model>
        <joint name="roll" type="revolute"><pose relative_to="__model__"/>
          <parent>wrist</parent><child>palm</child>
          <axis><xyz expressed_in="__model__">0 0 1</xyz></axis></joint>
        <joint name="lock" type="fixed"><parent>__model__</parent><child>tool</child></joint>
        </model></sdf>""",
    )
    write(
        "arm.sdf",
        """<sdf version="1.9"><model name="arm"><link name="base"/>
        <frame name="end" attached_to="base"><pose degrees="true">5 0 0 0 0 90</pose></frame>
        <include merge="true"><uri>hand.sdf</uri><pose relative_to="end">1 0 0 0 0 0</pose></include>
        </model></sdf>""",
    )
    robot = load_robot("arm.sdf")
    found = {name: pose[:3, 3].round(9).tolist() for name, pose in robot.forward_kinematics([0.0]).items()}
    assert found["_merged__hand__model__"] == found["wrist"] == found["roll"] == [5, 1, 0]
    assert (found["palm"], found["tip"]) == ([5, 1, 1], [5, 1, 2])
    assert found["tool::blade"] == [4, 1, 0]
    assert {frame.name: frame.attached_to for frame in robot.frames} == {
        "__model__": "base",
        "end": "base",
        "_merged__hand__model__": "palm",
        "tip": "palm",
        "tool": "tool::blade",
        "tool::__model__": "tool::blade",
    }
    np.testing.assert_allclose(robot.joints[0].axes, [[0, 0, 1]], atol=1e-12)
    assert (robot.joints[1].parent, robot.joints[1].child) == ("palm", "tool::blade")
    assert robot.canonical_link == "base"


@table("include, message")
def test_include_that_finds_no_model_is_refused(include: str, message: str) -> None:
    write("good.sdf", WHEEL)
    write("plain/readme.txt", "no model")
    write("future/model.config", '<model><sdf version="2.0">model.sdf</sdf></model>')
    write("gone/model.config", CONFIG)
    write("pointer/model.config", "version https://git-lfs.github.com/spec/v1\n")
    write("yard.sdf", world(include))
    assert refusal().splitlines()[0] == f"yard.sdf:2: {message}"


def test_problems_of_several_included_files_name_their_own_files_once() -> None:
    write("wheel.sdf", '<sdf version="1.9">\n<model name="wheel"><link name="rim"/>\n<link/></model></sdf>')
    write("rod.sdf", '<sdf version="1.9"><model name="rod"><link name="__a__"/></model></sdf>')
    uris = ("wheel.sdf</uri>", "wheel.sdf</uri><name>b</name>", "rod.sdf</uri>")
    write("yard.sdf", world("</include><include>".join(f"<uri>{uri}" for uri in uris)))
    assert refusal() == (
        "wheel.sdf:3: <link> has no 'name'; it is required; write name=\"…\"\n"
        "rod.sdf:1: <link> name '__a__' is reserved; "
        "world and names that begin and end with `__` are SDFormat's own; choose another"
    )


@table("text, message")
def test_included_file_holds_one_model(text: str, message: str) -> None:
    write("wheel.sdf", text)
    write("yard.sdf", world("<uri>wheel.sdf</uri>"))
    assert refusal() == message


def test_models_and_frames_of_a_merged_model_become_those_of_its_world() -> None:
    write(
        "cell.sdf",
        """<sdf version="1.10"><model name="cell"><frame name="mount"><pose>1 0 0.5 0 0 0</pose></frame>
        <model name="arm"><pose relative_to="mount"/><link name="base"/></model>
        <model name="cart"><pose relative_to="__model__">0 0 1 0 0 0</pose><link name="deck"/></model>
        <model name="bin"><link name="box"/></model>
        <joint name="clamp" type="fixed"><parent>arm</parent><child>bin</child></joint></model></sdf>""",
    )
    include = '<include merge="true"><uri>cell.sdf</uri><pose>0 2 0 0 0 0</pose></include>'
    beside = '<model name="lamp"><pose relative_to="mount">0 0 1 0 0 0</pose><link name="foot"/></model>'
    write("yard.sdf", f'<sdf version="1.10"><world name="w">{include}{beside}</world></sdf>')
    robots = load_robots("yard.sdf")
    assert {robot.name: robot.base_pose[:3, 3].tolist() for robot in robots} == {
        "arm": [1, 2, 0.5],
        "cart": [0, 2, 1],
        "lamp": [1, 2, 1.5],
    }
    assert [joint.name for joint in robots[0].joints] == ["clamp"]
    assert robots[0].forward_kinematics([])["bin::box"][:3, 3].tolist() == [0, 2, 0]
    assert robots[0].warnings == ()


def test_a_merged_model_with_links_does_not_fit_into_a_world() -> None:
    write("wheel.sdf", WHEEL)
    text = (
        '<sdf version="1.9"><world name="w">\n<include merge="1"><uri>wheel.sdf</uri></include></world></sdf>'
    )
    write("yard.sdf", text)
    assert refusal() == (
        "yard.sdf:2: model 'wheel' cannot be merged into a world; "
        "it has links, and a world has none of its own; remove 'merge'"
    )


def test_merged_model_is_placed_by_a_frame_of_its_own() -> None:
    write("wheel.sdf", WHEEL)
    include = "<uri>wheel.sdf</uri><placement_frame>base</placement_frame><pose/>"
    body = f'<link name="base"/>\n<include merge="true">{include}</include>'
    write("arm.sdf", f'<sdf version="1.9"><model name="m">{body}</model></sdf>')
    assert refusal("arm.sdf") == (
        "arm.sdf:2: frame '_merged__wheel__model__' has a placement_frame outside of it; "
        "it is placed by a frame of its own; name one"
    )


PADDING = f"<!--{'=' * 250_000}-->"


@pytest.mark.parametrize("large", ["model.sdf", "model.config"])
def test_a_file_counts_as_often_as_it_is_included(large: str) -> None:
    """What no budget of elements counts takes time as well, each time that it is parsed."""
    for name, text in (("model.sdf", WHEEL), ("model.config", CONFIG)):
        start, closing, end = text.rpartition("</")
        write(f"wheel/{name}", f"{start}{PADDING if name == large else ''}{closing}{end}")
    includes = (f"<uri>wheel</uri><name>w{number}</name>" for number in range(9))
    write("yard.sdf", world("</include>\n<include>".join(includes)))
    assert refusal("yard.sdf") == (
        "yard.sdf:9: more than 100 MB, or 2000000 tags and attributes; counted with all included files; "
        "no real robot is that large"
    )


@pytest.mark.parametrize(
    "uri", ["../outside.sdf", "file://../outside.sdf", "linked.sdf", "model://../outside.sdf", "folder"]
)
def test_includes_stay_within_the_folders_that_may_be_read(uri: str) -> None:
    write("outside.sdf", WHEEL)
    write("models/yard.sdf", world(f"<uri>{uri}</uri>"))
    write("models/folder/model.config", '<model><sdf version="1.9">../../outside.sdf</sdf></model>')
    Path("models/linked.sdf").symlink_to("../outside.sdf")
    assert load_robots("models/yard.sdf") if uri != "model://../outside.sdf" else True
    said = refusal("models/yard.sdf", within=("models",))
    assert said.startswith(f"models/yard.sdf:2: may not include '{uri}'; ")
    assert said.endswith("lies outside of models; move it there, or name its folder in `resource_paths`")


def test_folders_of_models_may_be_read_from_and_what_lies_beside_them_may_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SDF_PATH", str(Path("elsewhere").absolute()))
    write("elsewhere/wheel.sdf", WHEEL)
    write("secret.sdf", WHEEL)
    write("models/yard.sdf", world("<uri>wheel.sdf</uri>"))
    assert load_robot("models/yard.sdf", within=("models",)).name == "wheel"
    write("models/yard.sdf", world("<uri>../secret.sdf</uri>"))
    assert refusal("models/yard.sdf", within=("models",)) == (
        "models/yard.sdf:2: may not include '../secret.sdf'; it lies outside of models; "
        "move it there, or name its folder in `resource_paths`"
    )
