"""Bad SKEL files are refused with every problem, and oddities warn."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from motiond.formats import FormatError, load_robots, skel
from motiond.formats.io.source import Source

BAD = Path(__file__).parents[2] / "files" / "bad"


def refusal(data: bytes | str) -> str:
    with pytest.raises(FormatError) as caught:
        skel.load(data.encode() if isinstance(data, str) else data, Source(Path("s.skel")))
    return str(caught.value)


def robot(inside: str) -> str:
    """Return a skeleton with bodies a and b, a welded to the world; the text given is on line 4."""
    return f"""<skel version="1.0"><world name="w"><skeleton name="s">
        <body name="a"/><body name="b"/>
        <joint type="weld" name="fixed"><parent>world</parent><child>a</child></joint>
        {inside}
        </skeleton></world></skel>"""


def joint(type_: str, inside: str = "", parent: str = "a", child: str = "b") -> str:
    ends = f"<parent>{parent}</parent><child>{child}</child>"
    return f'<joint type="{type_}" name="j">{ends}{inside}</joint>'


EMPTY = "check that it is the right file, and that it begins with <"
TYPES = "SKEL knows weld, prismatic, revolute, screw, universal, ball, euler, translational, planar, free"
ACTUATORS = "known are torque, force, passive, servo, acceleration, velocity, locked"
AXIS_1 = "has no direction in <translation_axis1>; it is required; write <translation_axis1><xyz>1 0 0</xyz>"
AXIS_2 = AXIS_1.replace("axis1", "axis2")
AXIS = "<axis><xyz>1 0 0</xyz></axis>"
PARALLEL = (
    '<plane type="arbitrary"><translation_axis1><xyz>0 1 0</xyz></translation_axis1>'
    "<translation_axis2><xyz>0 2 0</xyz></translation_axis2></plane>"
)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", f"s.skel:1: this is no well-formed XML; Document is empty; {EMPTY}"),
        (
            b"<skel>\0</skel>",
            (
                "s.skel:1: this is no well-formed XML; Invalid character: Char 0x0 out of allowed range; "
                "remove the character"
            ),
        ),
        (
            b"<skel>\n<world>",
            (
                "s.skel:2: this is no well-formed XML; Premature end of data in tag world line 2; "
                "close the element, or copy the file again if it was cut short"
            ),
        ),
        (
            b'<!DOCTYPE s [<!ENTITY e SYSTEM "file:///etc/passwd">]><skel>&e;</skel>',
            "s.skel:1: a document type is not allowed; it could pull in other files; remove <!DOCTYPE …>",
        ),
        (
            b"<skell/>",
            "s.skel:1: the root element is <skell>; a SKEL file has <skel> as its root; did you mean 'skel'?",
        ),
        (b"<skel/>", "s.skel:1: <skel> has no <world>; it holds the skeletons; add one"),
        (
            b'<skel version="2.0"><world/></skel>',
            "s.skel:1: version is '2.0'; 1.0 is read; save the file in that version",
        ),
    ],
)
def test_a_file_that_is_no_skel_is_refused(data: bytes, message: str) -> None:
    assert refusal(data) == message


@pytest.mark.parametrize(
    "data",
    [
        b"<skel>\xff</skel>",
        b'<?xml version="1.0" encoding="klingon"?><skel/>',
        b"<skel>" * 300,
        b'<!DOCTYPE s [<!ENTITY a "&b;&b;&b;"><!ENTITY b "&a;">]><skel version="&a;"/>',
    ],
)
def test_what_libxml2_refuses_in_words_of_its_own_is_refused(data: bytes) -> None:
    assert re.fullmatch(r"s\.skel:1: this is no well-formed XML; \S[^\n]*\S", refusal(data))


@pytest.mark.parametrize(
    ("inside", "message"),
    [
        ("<body name=''/>", "name of <body> is ''; it is a name; correct it"),
        (
            "<body name='c'><transformation>0 0 0 0 0 1_0</transformation></body>",
            "transformation of <body> is '0 0 0 0 0 1_0'; it is 6 numbers up to 1e+12; correct it",
        ),
        (
            "<body name='c'><inertia><mass>1e999</mass></inertia></body>",
            "mass of <inertia> is '1e999'; it is a number up to 1e+12; correct it",
        ),
        (
            "<body name='c'><inertia><mass>1</mass><mass>2</mass></inertia></body>",
            "<mass> stands twice in <inertia>; it says one thing; remove one",
        ),
        (
            "<body name='c'><inertia/><inertia/></body>",
            "<inertia> stands twice in <body>; it says one thing; remove one",
        ),
        (
            joint("hing", AXIS),
            f"joint 'j' is of unknown type 'hing'; {TYPES}",
        ),
        (
            "<joint name='j'><parent>a</parent><child>b</child></joint>",
            f"joint 'j' is of unknown type ''; {TYPES}",
        ),
        (
            joint("weld", parent="world", child="world"),
            "joint 'j' has child 'world'; no body of the skeleton has that name",
        ),
        (
            joint("weld", child="a"),
            "joint 'j' has child 'a'; joint 'fixed' on line 3 carries it; remove one of them",
        ),
        (
            joint("weld", parent="b"),
            "bodies carry each other in a ring; b -> b; hang one of them on the world",
        ),
        (
            joint("weld").replace('"j"', '"fixed"'),
            "joint 'fixed' stands twice; first on line 3; give each its own name",
        ),
        (
            joint("weld").replace("type", "actuator='speed' type"),
            f"joint 'j' has unknown actuator 'speed'; {ACTUATORS}",
        ),
        (
            joint("revolute"),
            "revolute joint 'j' has no direction in <axis>; it is required; write <axis><xyz>1 0 0</xyz>",
        ),
        (
            joint("universal", AXIS),
            "universal joint 'j' has no direction in <axis2>; it is required; write <axis2><xyz>1 0 0</xyz>",
        ),
        (
            joint("universal", AXIS + "<axis2><limit/></axis2>"),
            "universal joint 'j' has no direction in <axis2>; it is required; write <axis2><xyz>1 0 0</xyz>",
        ),
        (
            joint("revolute", "<axis><xyz>0 0 0</xyz></axis>"),
            "<axis> of revolute joint 'j' is 0 0 0; it points nowhere; give it a direction",
        ),
        (
            joint("euler", "<axis_order>xxy</axis_order>"),
            "axis_order of euler joint 'j' is 'xxy'; it is three of x, y, z; write xyz or zyx",
        ),
        (
            joint("planar", "<plane type='xz'/>"),
            "plane of planar joint 'j' is 'xz'; known are xy, yz, zx, arbitrary; did you mean 'zx'?",
        ),
        (
            joint("planar", PARALLEL),
            "both translation axes of planar joint 'j' point the same way; they span no plane; turn one",
        ),
        (
            joint("planar", "<plane type='arbitrary'/>"),
            (f"planar joint 'j' {AXIS_1}\nplanar joint 'j' {AXIS_2}"),
        ),
        (
            joint("ball", "<init_pos>1 2</init_pos>"),
            "<init_pos> has 2 numbers; joint 'j' has 3 coordinates; give each one",
        ),
        (
            joint("ball", "<dof><position lower='0'/></dof>"),
            "<dof> of joint 'j' has no local_index; the joint has 3, counted from 0; correct it",
        ),
        (
            joint("ball", "<dof local_index='3'/>"),
            "<dof> of joint 'j' has local_index 3; the joint has 3, counted from 0; correct it",
        ),
        (
            joint("ball", "<dof local_index='1'/><dof local_index='1'/>"),
            "<dof> 1 of joint 'j' stands twice; first on line 4; remove one",
        ),
        (
            joint("revolute", AXIS + "<dof><position lower='1' upper='0'/></dof>"),
            "coordinate 'j' has lower limit 1 and upper limit 0; nothing lies between them; swap them",
        ),
        (
            joint("revolute", AXIS + "<dof><position lower='nan'/></dof>"),
            "lower of <position> is 'nan'; it is a number or an infinity; correct it",
        ),
        (
            joint("revolute", AXIS + "<dof><force upper='-1'/></dof>"),
            "coordinate 'j' has a negative effort limit, -1; it could not even rest; write it without sign",
        ),
    ],
)
def test_what_a_skeleton_may_not_say_is_refused(inside: str, message: str) -> None:
    assert refusal(robot(inside)) == "\n".join(f"s.skel:4: {line}" for line in message.splitlines())


def test_all_problems_of_a_file_are_told_at_once() -> None:
    with pytest.raises(FormatError) as caught:
        load_robots(BAD / "many_faults.skel")
    told = (BAD / "many_faults_skel.txt").read_text()
    assert str(caught.value).replace(f"{BAD}/", "") + "\n" == told


@pytest.mark.parametrize("count", [5000, 5001])
def test_more_bodies_and_joints_than_any_robot_has_are_refused(count: int) -> None:
    bodies = "".join(f'<body name="b{number}"/>' for number in range(count - 1))
    joints = "".join(
        f"<joint type='weld' name='j{number}'><parent>world</parent><child>b{number}</child></joint>"
        for number in range(count - 1)
    )
    text = f'<skel><world><skeleton name="s"><body name="a"/>\n{bodies}{joints}\n</skeleton></world></skel>'
    if count == 5000:
        (model,) = skel.load(text.encode(), Source(Path("s.skel")))
        assert len(model.links) == 5000
    else:
        assert refusal(text) == (
            "s.skel:2: more than 10000 skeletons, bodies, joints and shapes; no real robot is that large; "
            "split the file"
        )


def test_of_very_many_problems_the_first_twenty_are_told() -> None:
    lines = refusal(robot("<body name='c' />" * 30)).splitlines()
    assert len(lines) == 21
    assert lines[-1] == "s.skel: 9 more problems"
