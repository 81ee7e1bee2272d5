"""Bad SKEL files are refused with every problem, and oddities warn."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from motiond.formats import FormatError, load_robots, skel
from motiond.formats.io.source import Source
from tests.tables import table

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


@table("data, message")
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


@table("inside, message")
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
            "s.skel:2: more than 10000 elements; counted with all included files; no real robot is that large"
        )


def test_of_very_many_problems_the_first_twenty_are_told() -> None:
    lines = refusal(robot("<joint type='weld'/>\n" * 30)).splitlines()
    assert len(lines) == 21
    assert lines[-1] == "s.skel: 69 more problems"
