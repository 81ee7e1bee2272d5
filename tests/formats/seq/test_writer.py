"""Writing of .seq files, which are read back."""

from __future__ import annotations

import errno
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from motiond.formats import FormatError, Motion, dump_motion, load_motion
from motiond.formats.io.writers.digits import CHUNK_NUMBERS, rounded
from motiond.formats.registry import motion_writers
from tests.tables import table

FILES = Path(__file__).parents[2] / "files"
VERSIONS = (1, 2, 3, 4)
TO_LOSE = "to lose it, name it in drop:"


def wave(**changes: Any) -> Motion:
    """Return two joints over three frames at 10 frames/s."""
    positions = np.array([[0.0, -0.1], [1 / 3, 2e-9], [12345.6789123, 1e-30]])
    return replace(Motion("wave", ("hip", "knee"), 10.0, np.arange(3) / 10.0, positions), **changes)


def refusal(motion: Motion, path: Path, **options: Any) -> str:
    with pytest.raises(FormatError) as caught:
        dump_motion(motion, path, **options)
    return str(caught.value).replace(f"{path.parent}/", "")


def same(first: Any, second: Any) -> bool:
    """Whether two values are equal in every bit, including nested values."""
    if isinstance(first, np.ndarray):
        return isinstance(second, np.ndarray) and first.tobytes() == second.tobytes()
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(same(first[key], second[key]) for key in first)
    return bool(first == second)


def test_version_4_is_laid_out_as_choreonoid_does(tmp_path: Path) -> None:
    poses = np.array([[[0, 0, 0.7, 1, 0, 0, 0]], [[0.1, 0, 0.7, 1, 0, 0, 0]], [[0.2, 0, 0.7, 1, 0, 0, 0]]])
    motion = wave(components={"ZMP": np.zeros((3, 3)), "LinkPosition": poses})
    dump_motion(motion, tmp_path / "wave.seq")
    assert (tmp_path / "wave.seq").read_text() == (FILES / "good" / "written.seq").read_text()


@table("version, keys, contents")
def test_each_version_has_its_own_names(
    version: int, keys: dict[str, Any], contents: set[str], tmp_path: Path
) -> None:
    path = tmp_path / "feet.seq"
    dump_motion(load_motion(FILES / "good" / "two_feet.seq"), path, version=version)
    written = yaml.safe_load(path.read_text())
    assert keys.items() <= written.items()
    assert {one["content"] for one in written["components"]} == contents
    assert load_motion(path).warnings == ()


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ["two_feet", "old_wave"])
def test_an_exact_file_gives_the_same_bits_back_in_any_version(
    name: str, version: int, tmp_path: Path
) -> None:
    before = load_motion(FILES / "good" / f"{name}.seq")
    dump_motion(before, tmp_path / f"{name}.seq", version=version, precision=None)
    after = load_motion(tmp_path / f"{name}.seq")
    assert same(after.positions, before.positions)
    assert same(after.times, before.times)
    assert same(dict(after.components), dict(before.components))
    assert (after.joint_names, after.frame_rate) == (before.joint_names, before.frame_rate)


def test_times_unknown_components_and_unknown_keys_come_back(tmp_path: Path) -> None:
    before = load_motion(FILES / "good" / "logged.seq")
    dump_motion(before, tmp_path / "logged.seq", precision=None)
    after = load_motion(tmp_path / "logged.seq")
    assert same(dict(after.components), dict(before.components))
    assert same(dict(after.metadata), dict(before.metadata))
    assert same(after.times, before.times)


def test_poses_at_times_of_their_own_come_back(tmp_path: Path) -> None:
    poses = np.arange(42.0).reshape(3, 2, 7)
    dump_motion(wave(times=np.array([0, 0.1, 0.4]), components={"LinkPosition": poses}), tmp_path / "w.seq")
    after = load_motion(tmp_path / "w.seq")
    assert same(after.components["LinkPosition"], poses)
    assert after.times.tolist() == [0, 0.1, 0.4]


@settings(max_examples=30)
@given(
    numbers=st.lists(
        st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=2), min_size=1
    ),
    label=st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1),
)
def test_any_numbers_and_any_label_come_back(
    numbers: list[list[float]], label: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("any") / "any.seq"
    before = Motion("any", (label, f"{label}2"), 10.0, np.arange(len(numbers)) / 10.0, np.array(numbers))
    dump_motion(before, path, precision=None)
    after = load_motion(path)
    assert same(after.positions, before.positions)
    assert after.joint_names == before.joint_names


def test_all_digits_are_kept_unless_fewer_are_asked_for(tmp_path: Path) -> None:
    cases: list[tuple[dict[str, Any], float]] = [({}, 1 / 3), ({"precision": 3}, 0.333)]
    for options, third in (*cases, ({"precision": 13}, 1 / 3)):
        dump_motion(wave(), tmp_path / "wave.seq", **options)
        assert load_motion(tmp_path / "wave.seq").positions[1, 0] == third


@pytest.mark.parametrize("digits", [1, 9, 12])
def test_numbers_are_rounded_as_printf_does(digits: int) -> None:
    rng = np.random.default_rng(3)
    sizes = 10.0 ** rng.uniform(-300, 300, 2000)
    plain = np.concatenate([rng.normal(size=2000), sizes, -sizes, 10.0 ** np.arange(-30, 30), [0.0, 99.9995]])
    expected = [float(f"{value:.{digits}g}") for value in plain]
    assert np.mean(rounded(plain, digits) == expected) > 0.9999
    np.testing.assert_allclose(rounded(plain, digits), expected, rtol=1.1 * 10.0 ** (1 - digits))


def test_long_motions_are_written_in_pieces(tmp_path: Path) -> None:
    frames = 3 * CHUNK_NUMBERS
    before = Motion("long", (), 100.0, np.arange(frames) / 100.0, np.sin(np.arange(frames))[:, None])
    dump_motion(before, tmp_path / "long.seq", precision=None)
    assert same(load_motion(tmp_path / "long.seq").positions, before.positions)


LOST: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    (
        {"metadata": {"attributes": {"author": "me"}}}, {},
        f"attributes would be lost; a .seq file has no place for it; {TO_LOSE} 'attributes'",
    ),
    (
        {"components": {"Contacts": "left"}}, {},
        f"Contacts would be lost; no type of .seq holds it; {TO_LOSE} 'Contacts'",
    ),
    (
        {"times": np.array([0, 0.1, 0.4])}, {"version": 1},
        f"times would be lost; version 1 has frames at the frame rate only; {TO_LOSE} 'times'",
    ),
    (
        {}, {"drop": ["JointDisplacement"]},
        "nothing is left to write; a .seq file has one series at least; drop less",
    ),
    (
        {}, {"drop": ["JointDisplacment"]},
        ("there is no 'JointDisplacment' to drop; the motion holds JointDisplacement; "
        "did you mean 'JointDisplacement'?"),
    ),
    (
        {"positions": np.array([[0, 0], [np.nan, np.inf], [0, 0]])}, {},
        "JointDisplacement holds nan in row 1; numbers are finite; fix the motion",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "options", "message"), LOST)
def test_what_cannot_be_written_without_loss_is_refused(
    changes: dict[str, Any], options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    assert refusal(wave(**changes), tmp_path / "w.seq", **options) == f"w.seq: {message}"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("rate_hz", "told"), [(1e-9, "1e-09"), (100_001.0, "100001"), (100_000.1, "100000.1")]
)
def test_a_frame_rate_that_is_not_read_is_not_written(rate_hz: float, told: str, tmp_path: Path) -> None:
    message = f"x.seq: the frame rate is {told}; a frame rate lies between 0.001 and 100000 "
    assert refusal(wave(frame_rate=rate_hz), tmp_path / "x.seq") == f"{message}frames/s; choose another rate"


def test_what_may_go_is_dropped(tmp_path: Path) -> None:
    motion = wave(times=np.array([0, 0.1, 0.4]), components={"Contacts": "left", "ZMP": np.zeros((3, 3))})
    dump_motion(motion, tmp_path / "w.seq", version=1, drop=["Contacts", "ZMP", "times"])
    after = load_motion(tmp_path / "w.seq")
    assert dict(after.components) == {}
    assert after.times.tolist() == [0, 0.1, 0.2]


def test_a_file_that_cannot_be_finished_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "wave.seq"
    path.write_text("old")

    def fsync(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", fsync)
    message = "wave.seq: cannot be written; No space left on device; check the path"
    assert refusal(wave(), path) == message
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_system_that_is_read_only_is_told_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    for step in ("open", "unlink"):
        monkeypatch.setattr(Path, step, refused)
    message = "wave.seq: cannot be written; Read-only file system; check the path"
    assert refusal(wave(), tmp_path / "wave.seq") == message


def test_what_a_link_leads_to_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "link.seq").symlink_to("wave.seq")
    dump_motion(wave(), tmp_path / "link.seq")
    assert (tmp_path / "link.seq").is_symlink()
    assert load_motion(tmp_path / "wave.seq").positions.shape == (3, 2)


@table("name, options, message")
def test_a_place_or_format_that_is_none_is_refused(
    name: str, options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(FormatError) as caught:
        dump_motion(wave(), tmp_path / name, **options)
    written = ", ".join(writer.NAME for writer in motion_writers())
    assert str(caught.value).replace(f"{tmp_path}/", "") == message.format(written=written)


@table("options, message")
def test_an_option_that_makes_no_sense_is_refused(
    options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        dump_motion(wave(), tmp_path / "wave.seq", **options)
    assert str(caught.value) == message


def test_the_format_may_be_named(tmp_path: Path) -> None:
    dump_motion(wave(), tmp_path / "wave", "seq")
    assert load_motion(tmp_path / "wave").joint_names == ("hip", "knee")


def test_small_and_great_numbers_are_written_as_yaml_1_1_has_them(tmp_path: Path) -> None:
    values = [1e-8, -1e-8, 1.5e-9, -1.25e-300, 1e22, 2.5e22, 1.0, -0.0, 5e-324]
    times = np.array([0.0, 1e-7])
    motion = Motion("small", (), 1e5, times, np.array([values, values]), metadata={"unknown": {"tiny": 1e-9}})
    dump_motion(motion, tmp_path / "small.seq", precision=None)
    text = (tmp_path / "small.seq").read_text()
    assert "tiny: 1.0e-9\n" in text
    assert (
        "- [ 1.0e-7, 1.0e-8, -1.0e-8, 1.5e-9, -1.25e-300, 1.0e+22, 2.5e+22, 1.0, -0.0, 5.0e-324 ]\n" in text
    )
    (component,) = yaml.safe_load(text)["components"]
    assert component["frames"] == [[0.0, *values], [1e-7, *values]]
    assert load_motion(tmp_path / "small.seq").positions.tobytes() == motion.positions.tobytes()
