"""Messages of ROS 2 are packed as rosbags packs them, byte for byte, and have the same definitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from motiond.formats.io import (
    JOINT_STATE,
    STRING,
    TF_MESSAGE,
    JointStates,
    Schema,
    Transforms,
    packed_string,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

ROS = get_typestore(Stores.ROS2_HUMBLE)
NS = 1_000_000_000
NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=9)
STAMPS = st.integers(0, (1 << 31) * NS - 1)


def made(kind: str, /, **fields: Any) -> Any:
    return ROS.types[kind](**fields)


def header(stamp: int, frame: str = "") -> Any:
    time = made("builtin_interfaces/msg/Time", sec=stamp // NS, nanosec=stamp % NS)
    return made("std_msgs/msg/Header", stamp=time, frame_id=frame)


def packed(message: Any) -> bytes:
    return bytes(ROS.serialize_cdr(message, message.__msgtype__))


@given(
    names=st.lists(NAMES, min_size=1, max_size=4),
    stamps=st.lists(STAMPS, max_size=3),
    has=st.tuples(st.booleans(), st.booleans(), st.booleans()),
)
def test_joint_states(names: list[str], stamps: list[int], has: tuple[bool, bool, bool]) -> None:
    noise = np.random.default_rng(len(stamps))
    arrays = [noise.normal(size=(len(stamps), len(names))) for is_there in has if is_there]
    found = JointStates(names, has).packed(np.array(stamps, dtype=np.int64), *arrays)
    assert found.dtype == np.uint8
    for row, stamp in enumerate(stamps):
        given_arrays = iter([array[row] for array in arrays])
        values = {
            name: next(given_arrays) if is_there else np.empty(0)
            for name, is_there in zip(("position", "velocity", "effort"), has, strict=True)
        }
        expected = made("sensor_msgs/msg/JointState", header=header(stamp), name=names, **values)
        assert found[row].tobytes() == packed(expected)


@given(frames=st.lists(st.tuples(NAMES, NAMES), max_size=3), stamps=st.lists(STAMPS, max_size=3))
def test_transforms(frames: list[tuple[str, str]], stamps: list[int]) -> None:
    poses = np.random.default_rng(len(stamps)).normal(size=(len(stamps), len(frames), 7))
    found = Transforms(frames).packed(np.array(stamps, dtype=np.int64), poses)
    for row, stamp in enumerate(stamps):
        expected = made("tf2_msgs/msg/TFMessage", transforms=[*transforms(frames, stamp, poses[row])])
        assert found[row].tobytes() == packed(expected)


def transforms(frames: list[tuple[str, str]], stamp: int, poses: Any) -> Iterator[Any]:
    for (parent, child), (x, y, z, *turn) in zip(frames, poses.tolist(), strict=True):
        shift = made("geometry_msgs/msg/Vector3", x=x, y=y, z=z)
        rotation = made("geometry_msgs/msg/Quaternion", **dict(zip("xyzw", turn, strict=True)))
        transform = made("geometry_msgs/msg/Transform", translation=shift, rotation=rotation)
        yield made(
            "geometry_msgs/msg/TransformStamped",
            header=header(stamp, parent),
            child_frame_id=child,
            transform=transform,
        )


@given(NAMES)
def test_a_string(text: str) -> None:
    assert packed_string(text) == packed(made("std_msgs/msg/String", data=text))


@pytest.mark.parametrize("schema", [JOINT_STATE, TF_MESSAGE, STRING], ids=lambda schema: schema.name)
def test_definitions_have_the_hash_that_ros_gives_them(schema: Schema) -> None:
    own = get_typestore(Stores.EMPTY)
    own.register(get_types_from_msg(schema.text, schema.name))
    assert own.hash_rihs01(schema.name) == ROS.hash_rihs01(schema.name)
