"""Motions of `.npz` and `.npy` files as people save them, and the refusals of others."""

from __future__ import annotations

import io
import re
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from motiond.daemon.telemetry import save_trace
from motiond.formats import FormatError, Motion, ReadOptions, load_motion, npz
from motiond.formats.io.source import Source
from tests.tables import table

AS_FAR = "its setpoints are read as far as they go"
POSITIONS = [[0.0, 0.5], [0.1, 0.6], [0.2, 0.7]]
WAVE: dict[str, Any] = {"positions": POSITIONS, "names": ["hip", "knee"], "fps": 50}


def saved(*, compressed: bool = False, **arrays: Any) -> bytes:
    stream = io.BytesIO()
    save = np.savez_compressed if compressed else np.savez
    save(stream, **{name: np.asarray(value) for name, value in arrays.items()})
    return stream.getvalue()


def read(data: bytes, rate_hz: float | None = None) -> Motion:
    (motion,) = npz.load(data, Source(Path("wave.npz"), options=ReadOptions(rate_hz=rate_hz)))
    return motion


def refusal(data: bytes) -> str:
    with pytest.raises(FormatError) as caught:
        read(data)
    return str(caught.value)


def member(header: str, data: bytes = b"", version: int = 1) -> bytes:
    """Return a `.npy` file with any header."""
    length = len(header).to_bytes(2 if version == 1 else 4, "little")
    return b"\x93NUMPY" + bytes([version, 0]) + length + header.encode() + data


def packed(files: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(f"{name}.npy", data)
    return stream.getvalue()


def test_plain_arrays_with_names_and_a_rate_are_a_motion() -> None:
    motion = read(saved(**WAVE))
    assert (motion.name, motion.joint_names, motion.frame_rate) == ("wave", ("hip", "knee"), 50)
    assert motion.positions.tolist() == WAVE["positions"]
    assert motion.times.tolist() == [0, 0.02, 0.04]
    assert (motion.metadata, motion.warnings) == ({"format": "npz"}, ())


@table("names")
def test_arrays_are_known_by_the_names_in_use(names: dict[str, str]) -> None:
    renamed = {names.get(name, name): value for name, value in WAVE.items()}
    motion = read(saved(**renamed))
    assert (motion.joint_names, motion.frame_rate, motion.warnings) == (("hip", "knee"), 50, ())


@pytest.mark.parametrize("dtype", ["<f8", ">f8", "<f4", ">f4", "<f2", "<i4", ">i2", "|u1", "<u8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_numbers_of_any_type_and_order_are_read(dtype: str, order: Any) -> None:
    positions = np.array([[0, 1], [2, 3], [4, 5]], dtype, order=order)
    assert read(saved(**WAVE | {"positions": positions})).positions.tolist() == [[0, 1], [2, 3], [4, 5]]


@pytest.mark.parametrize("names", [np.array(["hip", "knee"]), np.array([b"hip", b"knee"])])
def test_names_are_text_of_any_kind(names: Any) -> None:
    assert read(saved(**WAVE | {"names": names}, compressed=True)).joint_names == ("hip", "knee")


def test_a_period_is_the_inverse_of_a_rate_also_in_single_precision() -> None:
    without = {name: value for name, value in WAVE.items() if name != "fps"}
    assert read(saved(**without, dt=np.float32(0.02))).frame_rate == 50
    assert read(saved(**without, dt=[1 / 29.97])).frame_rate == pytest.approx(29.97)


def test_even_times_have_their_exact_rate_and_stay_as_they_are() -> None:
    times = 1.7e9 + np.arange(3) / 500
    motion = read(saved(positions=[[0.0], [1.0], [2.0]], t=times))
    assert (motion.frame_rate, motion.is_uniform) == (500, True)
    assert motion.times.tolist() == times.tolist()


def test_uneven_times_are_kept() -> None:
    motion = read(saved(positions=[[0.0], [1.0], [2.0]], times=[0.0, 0.5, 2.0]))
    assert (motion.times.tolist(), motion.is_uniform) == ([0, 0.5, 2], False)


def test_times_count_before_a_rate_that_contradicts_them() -> None:
    motion = read(saved(**WAVE, times=[0.0, 1.0, 2.0]))
    assert (motion.times.tolist(), motion.is_uniform) == ([0, 1, 2], False)
    assert motion.warnings == (
        "wave.npz: states 50 rows/s, and 'times' has 1; the times count; correct what is wrong",
    )


def test_units_that_are_stated_are_converted() -> None:
    motion = read(saved(**WAVE, units=["deg", "mm"], velocities=np.ones((3, 2))))
    assert motion.positions[1].tolist() == [0.1 * (np.pi / 180), 0.6 * 0.001]
    assert motion.components["JointVelocity"][0].tolist() == [np.pi / 180, 0.001]
    assert motion.metadata["units"] == {"hip": "deg", "knee": "mm"}


def test_an_array_alone_needs_a_rate_from_who_reads_it() -> None:
    stream = io.BytesIO()
    np.save(stream, np.array(WAVE["positions"]))
    motion = read(stream.getvalue(), rate_hz=50)
    assert (motion.joint_names, motion.times.tolist()) == ((), [0, 0.02, 0.04])
    assert refusal(stream.getvalue()) == (
        "wave.npz: states no rate; neither times (times) nor a rate (rate_hz, frame_rate, fps, rate, dt, "
        "period_s) are in it; save `fps`, or give `--file-rate HZ`, or `rate: HZ` in a motion map"
    )


def test_of_a_trace_the_setpoints_are_played_again(tmp_path: Path) -> None:
    trace: dict[str, Any] = {
        "time_s": np.arange(3) / 100,
        "state": np.array(["approaching", "playing", "idle"]),
        "reference_position": np.array([[0.0], [0.1], [0.2]]),
        "reference_velocity": np.array([[1.0], [2.0], [0.0]]),
        "feedback_position": np.array([[0.0], [0.05], [0.15]]),
        "joints": np.array(["hip"]),
        "units": np.array(["rad"]),
        "rate_hz": np.array(100.0),
        "result": np.array("PREEMPTED"),
    }
    save_trace(tmp_path / "out.npz", trace)
    motion = load_motion(tmp_path / "out.npz")
    assert (motion.joint_names, motion.frame_rate, motion.is_uniform) == (("hip",), 100, True)
    assert motion.positions.tolist() == [[0], [0.1], [0.2]]
    assert motion.components["JointVelocity"].tolist() == [[1], [2], [0]]
    assert motion.metadata["units"] == {"hip": "rad"}
    assert motion.warnings == (
        f"{tmp_path}/out.npz: is the trace of a play that ended with PREEMPTED; {AS_FAR}",
    )


def test_what_no_joint_does_is_skipped_with_a_warning() -> None:
    motion = read(saved(**WAVE, body_pos_w=np.zeros((3, 9, 3)), notes=np.array([{}], dtype=object)))
    assert motion.warnings == (
        "wave.npz: arrays are skipped: body_pos_w, notes; only what joints do is read",
    )


@table("arrays, message")
def test_arrays_that_make_no_motion_are_refused(arrays: dict[str, Any], message: str) -> None:
    changed = {name: value for name, value in (WAVE | arrays).items() if value is not None}
    assert refusal(saved(**changed)).replace("wave.npz: ", "") == message


def test_pickles_are_never_opened_and_refused_with_the_way_out() -> None:
    message = (
        "wave.npz: array 'names' holds Python objects; these are pickled, and a pickle can run any program; "
        "save it as np.array(…, dtype=float), names as dtype=str"
    )
    assert refusal(saved(**WAVE | {"names": np.array(["hip", "knee"], dtype=object)})) == message


@table("header, message")
def test_a_header_that_states_too_much_or_nothing_is_refused(header: str, message: str) -> None:
    tracemalloc.start()
    try:
        assert refusal(packed({"positions": member(header, bytes(48))})) == f"wave.npz: {message}"
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_a_header_of_any_version_is_read() -> None:
    header = "{'shape': (3L, 2L), 'descr': '<f8', 'fortran_order': False}\n"
    for version in (1, 2, 3):
        assert read(member(header, bytes(48), version), rate_hz=50).positions.shape == (3, 2)


def test_a_bomb_is_refused_before_it_is_unpacked() -> None:
    rows = 5_000_000
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({rows}, 1), }}"
    bomb = packed({"positions": member(header, bytes(8 * rows))}, zipfile.ZIP_DEFLATED)
    assert len(bomb) < 50_000
    tracemalloc.start()
    try:
        assert refusal(bomb) == (
            "wave.npz: array 'positions' takes 40000000 bytes of memory; this file may take 32000000 more; "
            "save it uncompressed, by np.savez"
        )
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_a_member_is_not_read_beyond_what_it_states() -> None:
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2), }"
    long = packed({"positions": member(header, bytes(40_000_000))}, zipfile.ZIP_DEFLATED)
    tracemalloc.start()
    try:
        assert read(long, rate_hz=50).positions.shape == (3, 2)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_a_file_that_was_cut_short_or_damaged_is_refused() -> None:
    whole = saved(**WAVE)
    for end in range(0, len(whole), 7):
        assert refusal(whole[:end]).startswith("wave.npz: ")
    place = whole.index(np.float64(0.6).tobytes())
    assert refusal(whole[:place] + b"\1" + whole[place + 1 :]).splitlines()[0] == (
        "wave.npz: array 'positions' cannot be read; Bad CRC-32 for file 'positions.npy'; copy the file again"
    )


def test_archives_that_numpy_does_not_write_are_refused() -> None:
    names = {"names": b"", "positions": b""}
    assert refusal(packed(names, zipfile.ZIP_LZMA)) == (
        "wave.npz: array 'names' is packed in another way; arrays are stored or deflated, and not encrypted; "
        "use np.savez"
    )
    many = packed({f"a{number}": b"" for number in range(1001)})
    assert refusal(many) == "wave.npz: holds too many arrays; 1000 are read; leave some out"


def test_the_example_of_the_page_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Path(__file__).parents[3] / "docs" / "formats" / "npz.md"
    first, second = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(first + second, names)  # noqa: S102 - it is ours
    wave = names["wave"]
    assert (wave.joint_names, wave.positions.shape, wave.frame_rate) == (("shoulder", "elbow"), (100, 2), 50)
    assert wave.warnings == ()
