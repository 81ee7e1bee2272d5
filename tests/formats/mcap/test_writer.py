"""Recordings that are written come back bit for bit, and the libraries of others read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory
from rosbags.highlevel import AnyReader

from motiond.formats import FormatError, Motion, dump_motion, load_motion
from tests.tables import table

if TYPE_CHECKING:
    from pathlib import Path

ROWS = 5


def motion(**changed: Any) -> Motion:
    noise = np.random.default_rng(1)
    parts: dict[str, Any] = {
        "name": "wave",
        "joint_names": ("hip", "left knee"),
        "frame_rate": 30.0,
        "times": np.arange(ROWS) / 30.0,
        "positions": noise.normal(size=(ROWS, 2)),
        "components": {"JointVelocity": noise.normal(size=(ROWS, 2))},
    }
    return Motion(**(parts | changed))


@pytest.mark.parametrize("names", [("hip", "left knee"), ("a", "bc"), ("abc", "abcd"), ("ü", "abcde")])
def test_a_motion_comes_back_bit_for_bit(tmp_path: Path, names: tuple[str, ...]) -> None:
    written = motion(joint_names=names)
    dump_motion(written, tmp_path / "wave.mcap")
    found = load_motion(tmp_path / "wave.mcap")
    assert (found.joint_names, found.frame_rate, found.warnings) == (names, 30, ())
    assert found.positions.tobytes() == written.positions.tobytes()
    assert found.times.tobytes() == written.times.tobytes()
    assert found.components["JointVelocity"].tobytes() == written.components["JointVelocity"].tobytes()


@pytest.mark.parametrize("names", [("hip", "left knee"), ("a", "bc"), ("abc", "abcd")])
def test_other_libraries_read_what_is_written(tmp_path: Path, names: tuple[str, ...]) -> None:
    written = motion(joint_names=names, metadata={"start_ns": 1_763_800_000_000_000_000})
    path = tmp_path / "wave.mcap"
    dump_motion(written, path)
    with path.open("rb") as stream:
        decoded = make_reader(stream, decoder_factories=[DecoderFactory()]).iter_decoded_messages()
        messages = [message.decoded_message for message in decoded]
    assert [message.position for message in messages] == written.positions.tolist()
    assert [message.velocity for message in messages] == written.components["JointVelocity"].tolist()
    assert (messages[0].name, messages[0].effort) == ([*names], [])
    assert (messages[3].header.stamp.sec, messages[3].header.stamp.nanosec) == (1_763_800_000, 100_000_000)
    with AnyReader([path]) as reader:
        found: list[Any] = [reader.deserialize(raw, one.msgtype) for one, _, raw in reader.messages()]
    assert [message.position.tolist() for message in found] == written.positions.tolist()


@table("changed, message")
def test_what_cannot_be_written_is_refused(tmp_path: Path, changed: dict[str, Any], message: str) -> None:
    arrays = {key: np.array(value) if isinstance(value, list) else value for key, value in changed.items()}
    with pytest.raises(FormatError) as caught:
        dump_motion(motion(**arrays), tmp_path / "wave.mcap")
    assert str(caught.value) == f"{tmp_path}/wave.mcap: {message}"
    assert not list(tmp_path.iterdir())
