"""SDFormat files that are refused or warned of, with the whole message."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from motiond.formats import FormatError, sdf
from motiond.formats.io.source import Source
from tests.tables import table

if TYPE_CHECKING:
    from motiond.formats import RobotModel


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


@table("data, message")
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


@table("link, message")
def test_wrong_link_is_refused(link: str, message: str) -> None:
    assert refusal(model(f'<link name="L">{link}</link>')) == f"arm.sdf:3: {message}"


@table("inertia")
def test_point_masses_and_rounded_plates_are_possible(inertia: str) -> None:
    assert load(model(f'<link name="L"><inertial>{inertia}</inertial></link>'))


@table("text, message")
def test_wrong_model_is_refused(text: str, message: str) -> None:
    assert refusal(text).splitlines()[0] == f"arm.sdf:{message}"


@table("text, warning")
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


def test_only_the_first_unknown_names_warn() -> None:
    robot = load(model('<link name="L"/>' + "<what/>" * 500))[0]
    assert robot.warnings == ("arm.sdf:3: unknown element <what> in <model>; it is not read",)
    robot = load(model('<link name="L"/>' + "".join(f"<what{number}/>" for number in range(500))))[0]
    assert len(robot.warnings) == 100
