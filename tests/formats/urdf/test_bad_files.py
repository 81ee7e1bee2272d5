"""What a URDF file may not say, each with its line and a way out."""

from __future__ import annotations

from pathlib import Path

import pytest

from motiond.formats import FormatError, urdf
from motiond.formats.io.source import Source
from tests.tables import table

ENDS = '<parent link="a"/><child link="b"/>'


def refusal(text: str) -> list[str]:
    with pytest.raises(FormatError) as caught:
        urdf.load(text.encode(), Source(Path("r.urdf")))
    return str(caught.value).splitlines()


@table("text, message")
def test_a_file_that_is_no_urdf_is_refused(text: str, message: str) -> None:
    assert refusal(text) == [f"r.urdf:{message}"]


@table("inside, message")
def test_what_a_joint_may_not_say_is_refused(inside: str, message: str) -> None:
    text = f'<robot name="r"><link name="a"/><link name="b"/>\n{inside}</robot>'
    assert refusal(text) == [f"r.urdf:2: {message}"]


@table("limit, message")
def test_a_limit_that_would_limit_nothing_is_refused(limit: str, message: str) -> None:
    joint = f'<joint name="j" type="revolute">{ENDS}\n{limit}</joint>'
    assert refusal(f'<robot name="r"><link name="a"/><link name="b"/>{joint}</robot>') == [
        f"r.urdf:2: {message}"
    ]


def joints(*pairs: str) -> str:
    """Return a robot of links a to d with fixed joints, each on its line, from one link to another."""
    links = "".join(f'<link name="{name}"/>' for name in "abcd")
    fixed = (
        f'\n<joint name="{pair}" type="fixed"><parent link="{pair[0]}"/><child link="{pair[1]}"/></joint>'
        for pair in pairs
    )
    return f'<robot name="r">{links}{"".join(fixed)}</robot>'


@table("pairs, messages")
def test_links_that_are_no_tree_are_refused(pairs: str, messages: list[str]) -> None:
    assert refusal(joints(*pairs.split())) == [f"r.urdf:{message}" for message in messages]
