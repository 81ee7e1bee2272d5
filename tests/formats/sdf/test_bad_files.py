"""SDFormat files that are refused or warned of, with the whole message."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from motiond.formats import FormatError, sdf
from motiond.formats.io.source import Source

if TYPE_CHECKING:
    from motiond.formats import RobotModel

BAD = Path(__file__).parents[2] / "files" / "bad" / "sdf"


def load(data: str | bytes, path: Path = Path("arm.sdf")) -> list[RobotModel]:
    return sdf.load(data if isinstance(data, bytes) else data.encode(), Source(path))


def refusal(data: str | bytes, path: Path = Path("arm.sdf")) -> str:
    with pytest.raises(FormatError) as refused:
        load(data, path)
    return str(refused.value)


def model(body: str, version: str = "1.9") -> str:
    return f'<sdf version="{version}">\n<model name="m">\n{body}\n</model>\n</sdf>'


def joint(inside: str, type_: str = "revolute") -> str:
    ends = "<parent>P</parent><child>C</child>"
    return model(f'<link name="P"/><link name="C"/><joint name="J" type="{type_}">{ends}\n{inside}</joint>')


NOT_XML = "this is no well-formed XML"
EMPTY = "check that it is the right file, and that it begins with <"
ENCODING = 'save the file as UTF-8, or name its encoding in <?xml version="1.0" encoding="…"?>'
VERSIONS = '1.4 to 1.12 are read; write <sdf version="1.9">'


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", f"1: {NOT_XML}; Document is empty; {EMPTY}"),
        (b"\x00\x01\x02", f"1: {NOT_XML}; Document is empty; {EMPTY}"),
        (
            b"<sdf>\n\x00</sdf>",
            f"2: {NOT_XML}; Invalid character: Char 0x0 out of allowed range; remove the character",
        ),
        ("<sdf version='1.9'>\n<model name='ä'/></sdf>".encode("latin-1"), f"2: {NOT_XML}; {{}}"),
        (
            b'<?xml version="1.0" encoding="klingon"?><sdf/>',
            f"1: {NOT_XML}; Unsupported encoding: klingon; {ENCODING}",
        ),
        (
            b"<sdf>\n<model>\n</sdf>",
            (
                f"3: {NOT_XML}; Opening and ending tag mismatch: model line 2 and sdf; "
                "close each element by its own name, the inner ones first"
            ),
        ),
        (b"<sdf>&e;</sdf>", f"1: {NOT_XML}; Entity 'e' not defined; write & as &amp; and < as &lt;"),
        (
            b'<!DOCTYPE sdf [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]><sdf>&b;</sdf>',
            "1: a document type is not allowed; it could pull in other files; remove <!DOCTYPE …>",
        ),
        (
            b'<!DOCTYPE sdf SYSTEM "file:///etc/passwd"><sdf version="1.9"/>',
            "1: a document type is not allowed; it could pull in other files; remove <!DOCTYPE …>",
        ),
        (
            b"\n<robot/>",
            "2: the root element is <robot>; an SDFormat file has <sdf> as its root",
        ),
        (
            b"<sfd/>",
            "1: the root element is <sfd>; an SDFormat file has <sdf> as its root; did you mean 'sdf'?",
        ),
        (b"<sdf/>", f"1: <sdf> has no 'version'; {VERSIONS}"),
        (b'<sdf version="1.3"/>', f"1: unknown version '1.3'; {VERSIONS}"),
        (b'<sdf version="1.13"/>', f"1: unknown version '1.13'; {VERSIONS}"),
        (b'<sdf version="latest"/>', f"1: unknown version 'latest'; {VERSIONS}"),
    ],
)
def test_file_that_is_no_sdf_is_refused(data: bytes, message: str) -> None:
    said = refusal(data)
    if "{}" in message:
        # libxml2's words for bytes that are no UTF-8 differ between its versions.
        assert said.startswith("arm.sdf:" + message.format(""))
    else:
        assert said == f"arm.sdf:{message}"


def test_names_of_nested_models_are_bounded_when_joined() -> None:
    """Each element in them has the joined name in front of its own."""
    name = "q" * 400
    nested = f'<model name="{name}">\n' * 3 + '<link name="L"/>' + "</model>" * 3
    assert refusal(f'<sdf version="1.9">{nested}</sdf>') == (
        f"arm.sdf:3: the full name of model '{'q' * 59}…' has 1204 characters; it has at most 1000; "
        "shorten the names that it is made of"
    )


def test_deep_nesting_ends_in_a_message() -> None:
    assert refusal(b"<sdf>" * 5000).startswith(f"arm.sdf:1: {NOT_XML}; Excessive depth in document: 256")
    deep = '<model name="m">' * 100 + '<link name="L"/>' + "</model>" * 100
    assert refusal(f'<sdf version="1.9">{deep}</sdf>') == (
        "arm.sdf:1: models and includes nest deeper than 60; counted with all included files; "
        "no real robot is that large"
    )


def test_huge_counts_end_in_a_message() -> None:
    links = "".join(f'<link name="l{number}"/>' for number in range(10_001))
    assert refusal(model(links)) == (
        "arm.sdf:3: more than 10000 elements; counted with all included files; no real robot is that large"
    )


def test_truncated_file_is_refused() -> None:
    path = BAD / "truncated.sdf"
    assert refusal(path.read_bytes(), path).startswith(f"{path}:5: {NOT_XML}; ")


NUMBER = "a number is written as 3.24, -.5 or 32e-4"
SIX = "a pose is six numbers, x y z roll pitch yaw"
INERTIA = (
    "3: link 'L' has an inertia that no body has; moments are not negative, and none is more than the other "
    "two together; check units and signs"
)


@pytest.mark.parametrize(
    ("link", "message"),
    [
        ("<pose>1 2 3</pose>", f"<pose> '1 2 3' has 3 numbers; {SIX}"),
        ("<pose>1,2,3,0,0,0</pose>", f"<pose> '1,2,3,0,0,0' has 1 number; {SIX}"),
        ("<pose>bad 0 0 0 0 0</pose>", f"<pose> 'bad' is no number; {NUMBER}"),
        ("<pose>nan 0 0 0 0 0</pose>", f"<pose> 'nan' is no number; {NUMBER}"),
        ("<pose>inf 0 0 0 0 0</pose>", f"<pose> 'inf' is no number; {NUMBER}"),
        ("<pose>1_0 0 0 0 0 0</pose>", f"<pose> '1_0' is no number; {NUMBER}"),
        ("<pose>1e999 0 0 0 0 0</pose>", "<pose> '1e999' is too large; it overflows a floating-point number"),
        ("<pose>1e99 0 0 0 0 0</pose>", "<pose> '1e99 0 0 0 0 0' is too large; no robot reaches that far"),
        (
            '<pose rotation_format="quat_xyzw">1 2 3 0 0 0</pose>',
            "<pose> '1 2 3 0 0 0' has 6 numbers; with quat_xyzw a pose is x y z qx qy qz qw",
        ),
        (
            '<pose rotation_format="quat_xyzw">1 2 3 0 0 2 0</pose>',
            (
                "<pose> the quaternion of '1 2 3 0 0 2 0' has length 2; "
                "a rotation is a quaternion of length 1, in the order x y z w; divide it by its length"
            ),
        ),
        (
            '<pose rotation_format="quat_xyzw" degrees="true">1 2 3 0 0 0 1</pose>',
            "<pose> 'degrees' of a quaternion; it has no angles; remove 'degrees'",
        ),
        (
            '<pose rotation_format="rpy"/>',
            "<pose> unknown rotation_format 'rpy'; SDFormat knows euler_rpy and quat_xyzw",
        ),
        (
            '<pose degrees="yes"/>',
            "<pose> 'yes' is neither true nor false; write true, false, 1 or 0",
        ),
        ("<visual name='v'><pose>1</pose></visual>", f"<pose> '1' has 1 number; {SIX}"),
        ("<visual/>", "<visual> has no 'name'; it is required; write name=\"…\""),
        (
            "<sensor name='a'/><sensor name='a'/>",
            "sensor name 'a' is taken; another sensor of this link has it",
        ),
        ("<inertial><mass>heavy</mass></inertial>", f"<mass> 'heavy' is no number; {NUMBER}"),
        (
            "<inertial><mass>-1</mass></inertial>",
            "link 'L' has a mass of -1 kg; no body weighs less than nothing; correct it",
        ),
    ],
)
def test_wrong_link_is_refused(link: str, message: str) -> None:
    assert refusal(model(f'<link name="L">{link}</link>')) == f"arm.sdf:3: {message}"


@pytest.mark.parametrize(
    "inertia",
    [
        "<mass>0</mass><inertia><ixx>0</ixx><iyy>0</iyy><izz>0</izz></inertia>",
        "<inertia><ixx>0.010001</ixx><iyy>0.01</iyy><izz>0.02000101</izz></inertia>",
    ],
)
def test_point_masses_and_rounded_plates_are_possible(inertia: str) -> None:
    assert load(model(f'<link name="L"><inertial>{inertia}</inertial></link>'))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            joint("", "hinge"),
            (
                "3: unknown joint type 'hinge'; SDFormat knows fixed, ball, revolute, continuous, prismatic, "
                "screw, universal, revolute2, gearbox"
            ),
        ),
        (
            joint("<axis><xyz>0 0 0</xyz></axis>"),
            "4: <xyz> has no length; an axis is a direction; write a vector such as 0 0 1",
        ),
        (joint("<axis><xyz/></axis>"), "4: <xyz> '' has 0 numbers; a vector is three numbers, x y z"),
        (
            joint("<axis><xyz>1 0 0 5</xyz></axis>"),
            "4: <xyz> '1 0 0 5' has 4 numbers; a vector is three numbers, x y z",
        ),
        (
            joint("<axis><xyz>1 0 0</xyz><limit><upper>nan</upper></limit></axis>"),
            f"4: <upper> 'nan' is no number; {NUMBER}",
        ),
        (
            joint("<axis><xyz>1 0 0</xyz></axis><thread_pitch>0</thread_pitch>", "screw"),
            "3: <thread_pitch> is 0; the screw would move infinitely far in one turn",
        ),
        (
            joint('<axis><xyz>1 0 0</xyz><mimic joint="J"/></axis>'),
            (
                "4: joint 'J' mimics 'J'; both must be joints of this model with one axis, and not the same; "
                "name another joint"
            ),
        ),
        (
            joint("<axis><xyz>1 0 0</xyz><mimic/></axis>"),
            "4: <mimic> has no 'joint'; it is required; write joint=\"…\"",
        ),
        (
            model('<link name="L"/><joint name="J" type="fixed"><child>L</child></joint>'),
            "3: joint 'J' has no <parent>; a joint joins two links; write <parent>…</parent>",
        ),
        (
            model('<link name="L"/><joint name="J" type="fixed"><parent>L</parent></joint>'),
            "3: joint 'J' has no <child>; a joint joins two links; write <child>…</child>",
        ),
        (
            model(
                '<link name="L"/><joint name="J" type="fixed"><parent>L</parent><child>world</child></joint>'
            ),
            "3: joint 'J' has the world as its child; the world is fixed; swap the two",
        ),
        (
            model('<link name="L"/><joint name="J" type="fixed"><parent>L</parent><child>K</child></joint>'),
            "3: joint 'J' has the child 'K'; there is no such frame in model 'm'",
        ),
        (
            model(
                '<link name="L"/>'
                '<joint name="J" type="fixed"><parent>__model__</parent><child>L</child></joint>'
            ),
            "3: joint 'J' has the parent '__model__'; a joint joins links or frames; name the link",
        ),
        (
            model(
                '<link name="L"/><model name="n"><static>1</static></model>'
                '<joint name="J" type="fixed"><parent>n</parent><child>L</child></joint>'
            ),
            (
                "3: joint 'J' has the parent 'n'; it is part of a static model, which no joint holds; "
                "name a link, or world as the parent"
            ),
        ),
        (
            (
                '<sdf version="1.9"><model name="a"><link name="l"/></model>\n'
                '<model name="b"><link name="l"/></model></sdf>'
            ),
            "2: a second <model> at the top of the file; there is one; put both in a <world>",
        ),
        (
            '<sdf version="1.6"><world name="w"/>\n<world name="w"/></sdf>',
            "2: world name 'w' is taken; the world at arm.sdf:1 has it; choose another",
        ),
        (
            '<sdf version="1.6"><world/></sdf>',
            "1: <world> has no 'name'; it is required; write name=\"…\"",
        ),
        (
            model('<static>perhaps</static><link name="L"/>'),
            "3: <static> 'perhaps' is neither true nor false; write true, false, 1 or 0",
        ),
    ],
)
def test_wrong_model_is_refused(text: str, message: str) -> None:
    assert refusal(text).splitlines()[0] == f"arm.sdf:{message}"


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        (
            model('<link name="L"/><lnik name="K"/>'),
            "3: unknown element <lnik> in <model>; it is not read; did you mean 'link'?",
        ),
        (
            model('<link name="L" colour="red"/>'),
            "3: unknown attribute 'colour' of <link>; it is not read",
        ),
        (
            model('<pose>1 0 0 0 0 0</pose>\n<pose>2 0 0 0 0 0</pose><link name="L"/>'),
            "4: a second <pose> in <model>; there is one; the first is read",
        ),
        (
            model('<link name="L"><inertial><pose relative_to="X"/></inertial></link>'),
            (
                "3: the <pose> of an <inertial> is relative_to 'X'; it is always in the link's frame; "
                "remove 'relative_to'"
            ),
        ),
        (
            model('<link name="L"><inertial auto="true"/></link>', "1.11"),
            (
                "3: the inertia of link 'L' is not computed; auto='true' asks for it from shapes and "
                "their densities; write <mass> and <inertia>"
            ),
        ),
        (model('<link name="L"><inertial><inertia><ixx>5</ixx></inertia></inertial></link>'), INERTIA),
        (model('<link name="L"><inertial><inertia><ixx>-1</ixx></inertia></inertial></link>'), INERTIA),
        (model('<link name="L"><inertial><inertia><ixy>2</ixy></inertia></inertial></link>'), INERTIA),
        (
            model('<link name="L"/><joint name="J" type="fixed"><parent>L</parent><child>L</child></joint>'),
            "3: joint 'J' joins 'L' to 'L'; both are part of link 'L'; its coordinates move no link",
        ),
        (
            model(
                '<link name="L"/><frame name="F" attached_to="L"/>'
                '<joint name="J" type="fixed"><parent>L</parent><child>F</child></joint>'
            ),
            "3: joint 'J' joins 'L' to 'F'; both are part of link 'L'; its coordinates move no link",
        ),
        *(
            (
                model(
                    f'<link name="L"/><link name="K">\n<{tag} name="x"><pose relative_to="Q"/></{tag}></link>'
                ),
                (
                    f"4: the <pose> of {tag} 'x' is relative_to 'Q'; there is no such frame in model 'm', "
                    "so that it is left out; name a frame, or remove 'relative_to'"
                ),
            )
            for tag in ("visual", "collision", "sensor", "light")
        ),
        (
            model('<link name="elbow">\n<visual name="x"><pose relative_to="elbov"/></visual></link>'),
            (
                "4: the <pose> of visual 'x' is relative_to 'elbov'; there is no such frame in model 'm', "
                "so that it is left out; did you mean 'elbow'?"
            ),
        ),
        (
            joint('<axis/><sensor name="x"><pose relative_to="Q"/></sensor>'),
            (
                "4: the <pose> of sensor 'x' is relative_to 'Q'; there is no such frame in model 'm', "
                "so that it is left out; name a frame, or remove 'relative_to'"
            ),
        ),
        (joint(""), "3: revolute joint 'J' has no <axis>; it is taken to be 0 0 1 in the joint's frame"),
        (
            joint("<axis/><axis2/>"),
            "3: revolute joint 'J' has an <axis2>; it has one axis; it is not read",
        ),
        (
            joint("<axis><limit><lower>1</lower><upper>-1</upper></limit></axis>"),
            "4: <lower> 1 is above <upper> -1; nothing lies between them",
        ),
        (
            joint("<axis/>", "screw"),
            "3: screw joint 'J' has no <screw_thread_pitch>; it is taken to move 1 m in one turn",
        ),
        (
            joint("<axis><use_parent_model_frame>1</use_parent_model_frame></axis>"),
            (
                "4: <use_parent_model_frame> is not read; SDFormat 1.7 removed it; "
                'write <xyz expressed_in="…">'
            ),
        ),
        (
            (
                '<sdf version="1.10"><world name="w"><model name="m"><link name="L"/></model>\n'
                '<joint name="J"/></world></sdf>'
            ),
            "2: a <joint> of a world is not read; each model of a world is a robot of its own",
        ),
    ],
)
def test_oddities_warn_and_are_read(text: str, warning: str) -> None:
    assert load(text)[0].warnings == (f"arm.sdf:{warning}",)


def test_what_is_mounted_may_be_placed_by_any_frame_of_the_model() -> None:
    names = ("L", "K", "J", "F", "n::L", "__model__")
    mounted = "".join(
        f'<visual name="v{number}"><pose relative_to="{name}"/></visual>' for number, name in enumerate(names)
    )
    robot = load(
        model(
            f'<link name="L">{mounted}</link><link name="K"/><frame name="F"/>'
            '<model name="n"><link name="L"/></model>'
            '<joint name="J" type="fixed"><parent>L</parent><child>K</child>'
            '<sensor name="s"><pose relative_to="F"/></sensor></joint>',
            "1.7",
        )
    )[0]
    assert robot.warnings == ()


def test_joint_within_one_link_moves_nothing() -> None:
    (robot,) = load(
        model(
            '<link name="L"/><link name="K"/><joint name="J" type="revolute"><parent>L</parent>'
            "<child>K</child><axis/></joint>"
            '<joint name="I" type="revolute"><parent>K</parent><child>K</child><axis/></joint>'
        )
    )
    assert [(one.name, one.closes_loop) for one in robot.joints] == [("J", False), ("I", True)]
    turned, still = robot.forward_kinematics([[0.5, 0], [0, 0.5]])["K"]
    assert turned[0, 1] == pytest.approx(-np.sin(0.5))
    assert still.tolist() == np.eye(4).tolist()


def test_all_problems_of_a_file_are_told_at_once() -> None:
    path = BAD / "many_faults.sdf"
    expected = [line for line in (BAD / "many_faults.txt").read_text().splitlines() if line]
    assert refusal(path.read_bytes(), path).replace(str(BAD), "bad").splitlines() == expected


def test_at_most_twenty_problems_are_shown() -> None:
    lines = refusal(model("".join("<link/>\n" for _ in range(30)))).splitlines()
    assert lines[0] == "arm.sdf:2: model 'm' has no link; only a static model may have none; write a <link>"
    assert lines[1] == "arm.sdf:3: <link> has no 'name'; it is required; write name=\"…\""
    assert lines[20:] == ["arm.sdf: 11 more problems"]


def test_only_the_first_unknown_names_warn() -> None:
    robot = load(model('<link name="L"/>' + "<what/>" * 500))[0]
    assert robot.warnings == ("arm.sdf:3: unknown element <what> in <model>; it is not read",)
    robot = load(model('<link name="L"/>' + "".join(f"<what{number}/>" for number in range(500))))[0]
    assert len(robot.warnings) == 100


WORDS = st.sampled_from(
    [
        *(
            "<model name='m'>",
            "</model>",
            "<link name='L'/>",
            "<link name='K'>",
            "</link>",
            "<frame name='F'",
        ),
        *(" attached_to='F'", " attached_to='L'>", "/>", "</frame>", "<pose relative_to='F'>", "</pose>"),
        *("<joint name='J' type='revolute'>", "<parent>L</parent>", "<child>K</child>", "</joint>", "0 0 1"),
        *("<axis><xyz>", "</xyz></axis>", "<include>", "<uri>a.sdf</uri>", "</include>", "<world name='w'>"),
        *("</world>", "<!--", "-->", "<![CDATA[", "\x00", "&amp;", "&x;", "ä", "1e400", "<static>1</static>"),
    ]
)


def files_of_refusal(data: bytes) -> set[str]:
    """Load any text; move its robots if it can be read, else return the files that its problems name."""
    try:
        robots = load(data)
    except FormatError as error:
        return {problem.file for problem in error.problems}
    for robot in robots:
        robot.forward_kinematics(np.zeros(robot.dof))
    return {"arm.sdf"}


@given(st.lists(WORDS, max_size=40))
@settings(max_examples=300)
def test_any_text_is_read_or_refused(words: list[str]) -> None:
    assert files_of_refusal(f'<sdf version="1.9">{"".join(words)}</sdf>'.encode()) == {"arm.sdf"}


@given(st.binary(max_size=200), st.integers(0, 200))
@settings(max_examples=200)
def test_damaged_files_are_read_or_refused(noise: bytes, place: int) -> None:
    whole = joint("<axis><xyz>0 0 1</xyz></axis>").encode()
    assert files_of_refusal(whole[:place] + noise + whole[place + len(noise) :]) == {"arm.sdf"}
