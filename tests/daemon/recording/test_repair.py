"""What a crash leaves of a recording becomes a whole file: all that is whole is kept, and nothing else."""

from __future__ import annotations

import io
import struct
import tracemalloc
import zlib
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from mcap.data_stream import RecordBuilder
from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.reader import make_reader
from mcap.records import Channel, Chunk, Message
from mcap.stream_reader import StreamReader, breakup_chunk
from mcap.writer import MCAP0_MAGIC, CompressionType, Writer
from rosbags.highlevel import AnyReader

from motiond.daemon.recording import NoRecording, RecordingWriter, repair

from .recordings import BEGAN_S, about, read, records

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TICKS, SECONDS = 40, 4
SHARE = st.floats(0.0, 1.0)
NAME = "arm_20261118T110640Z_wave.mcap"


class Whole(bytes):
    """A file, which a report of an example shows by its length."""

    def __repr__(self) -> str:
        return f"<{len(self)} bytes>"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """A recording of four chunks, with files attached, results and a gap."""
    folder = tmp_path_factory.mktemp("whole")
    writer = RecordingWriter(folder / NAME, about(), unix_time=lambda: BEGAN_S)
    writer.attach("motiond.yaml", b"robots: {}", "application/yaml")
    for second in range(SECONDS):
        writer.add(records(TICKS, first=second * (TICKS + 1)))
        writer.add_report("result", {"motion": f"wave{second}", "code": "CANCELED"}, 1)
        writer.cut()
        writer.attach(f"wave{second}.seq", b"1 2 3")
    return Whole(writer.finish("asked to").read_bytes())


def repaired(folder: Path, data: bytes) -> Path | None:
    for left in folder.iterdir():
        left.unlink()
    part = folder / f"{NAME}.part"
    part.write_bytes(data)
    path = repair(part)
    assert not part.exists()
    return path


def whole_messages(data: bytes) -> list[tuple[str, int, bytes]]:
    """Return the messages in whole chunks, as the library's reader of streams finds them."""
    found: list[tuple[str, int, bytes]] = []
    topics: dict[int, str] = {}
    try:
        for record in StreamReader(io.BytesIO(data), emit_chunks=True, validate_crcs=True).records:
            if isinstance(record, Chunk):
                for inner in breakup_chunk(record, validate_crc=True):
                    if isinstance(inner, Message):
                        found.append((topics[inner.channel_id], inner.log_time, inner.data))
                    elif isinstance(inner, Channel):
                        topics[inner.id] = inner.topic
    except (McapError, struct.error, zstandard.ZstdError, ValueError):
        pass
    return found


def messages(path: Path) -> Iterator[tuple[str, int, bytes]]:
    with path.open("rb") as stream:
        for _, channel, message in make_reader(stream, validate_crcs=True).iter_messages(
            log_time_order=False
        ):
            yield channel.topic, message.log_time, message.data


def assert_opens(path: Path, expected: list[tuple[str, int, bytes]]) -> None:
    """Assert that a file has these messages, however it is read, and counts them rightly."""
    data = path.read_bytes()
    assert [*messages(path)] == expected == whole_messages(data)
    with path.open("rb") as stream:
        summary: Any = make_reader(stream).get_summary()
    assert summary.statistics.message_count == len(expected)
    assert summary.statistics.message_start_time == min(stamp for _, stamp, _ in expected)
    assert summary.statistics.message_end_time == max(stamp for _, stamp, _ in expected)
    counts = {summary.channels[key].topic: n for key, n in summary.statistics.channel_message_counts.items()}
    topics = [topic for topic, _, _ in expected]
    assert counts == {topic: topics.count(topic) for topic in topics}
    assert summary.statistics.attachment_count == len(read(path).attachments)
    with AnyReader([path]) as reader:
        assert reader.message_count == len(expected)
        assert sum(1 for _ in reader.messages()) == len(expected)


@pytest.mark.slow
@given(first=SHARE, second=SHARE)
def test_wherever_a_file_is_cut_its_whole_chunks_are_kept(
    whole: bytes, tmp_path_factory: pytest.TempPathFactory, first: float, second: float
) -> None:
    cut = whole[: int(first * len(whole))]
    expected = whole_messages(cut)
    path = repaired(tmp_path_factory.mktemp("cut"), cut)
    if not expected:
        assert path is None
        return
    assert path is not None
    assert path.name == NAME
    assert_opens(path, expected)
    end = read(path).metadata["motiond-end"]
    topics = [topic for topic, _, _ in expected]
    assert (end["ticks"], end["gaps"]) == (str(topics.count("/reference")), str(topics.count("/motiond/gap")))
    again = path.read_bytes()
    cut = again[: int(second * len(again))]  # in the repair, too
    path = repaired(path.parent, cut)
    assert (path is not None) == bool(whole_messages(cut))
    if path is not None:
        assert_opens(path, whole_messages(cut))


@pytest.mark.slow
@given(share=SHARE, instead=st.binary(min_size=1, max_size=9))
def test_whatever_is_damaged_what_stands_before_it_is_kept(
    whole: bytes, tmp_path_factory: pytest.TempPathFactory, share: float, instead: bytes
) -> None:
    damaged = bytearray(whole)
    place = 8 + int(share * (len(whole) - 8))
    damaged[place : place + len(instead)] = instead
    path = repaired(tmp_path_factory.mktemp("damaged"), bytes(damaged))
    originals, before = whole_messages(whole), whole_messages(whole[:place])
    kept = [] if path is None else [*messages(path)]
    assert kept == originals[: len(kept)]
    assert len(kept) >= len(before)
    if path is not None:
        assert_opens(path, kept)


@pytest.mark.slow
@given(share=SHARE, instead=st.binary(min_size=1, max_size=9))
def test_whatever_stands_in_a_chunk_it_is_kept_whole_or_not_at_all(
    whole: bytes, tmp_path_factory: pytest.TempPathFactory, share: float, instead: bytes
) -> None:
    records_before = StreamReader(io.BytesIO(whole), emit_chunks=True).records
    chunk: Any = next(one for one in records_before if isinstance(one, Chunk))
    content = bytearray(zstandard.decompress(chunk.data))
    place = int(share * len(content))
    content[place : place + len(instead)] = instead
    chunk.data = zstandard.compress(bytes(content))
    chunk.uncompressed_size, chunk.uncompressed_crc = len(content), zlib.crc32(content)
    builder: Any = RecordBuilder()
    chunk.write(builder)
    start = whole[: whole.index(b"foxglove") - 13]
    path = repaired(tmp_path_factory.mktemp("chunk"), start + builder.end())
    if path is not None:
        with path.open("rb") as stream:
            summary: Any = make_reader(stream).get_summary()
        assert summary.statistics.message_count == sum(1 for _ in messages(path)) > 0


@given(st.binary(max_size=200))
def test_any_bytes_behind_the_beginning_leave_nothing(
    tmp_path_factory: pytest.TempPathFactory, tail: bytes
) -> None:
    assert repaired(tmp_path_factory.mktemp("any"), MCAP0_MAGIC + tail) is None


@pytest.mark.parametrize("size", [0, 1, 8, 30])
def test_a_file_with_nothing_in_it_is_removed(tmp_path: Path, whole: bytes, size: int) -> None:
    assert repaired(tmp_path, whole[:size]) is None
    assert not [*tmp_path.iterdir()]


def test_a_file_of_another_kind_stays_as_it_is(tmp_path: Path) -> None:
    part = tmp_path / f"{NAME}.part"
    part.write_bytes(b"half of a film")
    with pytest.raises(NoRecording) as caught:
        repair(part)
    assert str(caught.value) == (
        f"{NAME}.part: is no recording; it does not begin with the bytes 89 'MCAP0'; remove it"
    )
    assert part.read_bytes() == b"half of a film"


def test_a_file_that_lacks_its_name_alone_gets_it(tmp_path: Path, whole: bytes) -> None:
    path = repaired(tmp_path, whole)
    assert path == tmp_path / NAME
    assert path.read_bytes() == whole


def test_a_file_that_has_its_name_already_loses_the_other(tmp_path: Path, whole: bytes) -> None:
    (tmp_path / NAME).write_bytes(whole)
    part = tmp_path / f"{NAME}.part"
    part.hardlink_to(tmp_path / NAME)
    assert repair(part) == tmp_path / NAME
    assert [path.name for path in tmp_path.iterdir()] == [NAME]


def test_a_repaired_file_says_so(tmp_path: Path, whole: bytes) -> None:
    end = whole.index(b"motiond-end") - 13
    path = repaired(tmp_path, whole[:end])
    assert path is not None
    expected = read(tmp_path / NAME).metadata["motiond-end"]
    results = [f"wave{second}" for second in range(SECONDS)]
    assert {key: value for key, value in expected.items() if not key.startswith("sha256")} == {
        "ended_utc": "2026-11-18T11:06:40.162Z",
        "ticks": str(TICKS * SECONDS),
        "gaps": str(SECONDS - 1),
        "reason": "it was cut short, as by a crash, and repaired",
        "motions": str(results).replace("'", '"').replace(" ", ""),
        "codes": str(["CANCELED"] * SECONDS).replace("'", '"').replace(" ", ""),
    }
    hashes = {f"sha256 {name}": sha256(data).hexdigest() for name, data in read(path).attachments.items()}
    assert {key: value for key, value in expected.items() if key.startswith("sha256")} == hashes


def test_a_recording_that_had_come_to_its_end_keeps_what_it_says_of_it(tmp_path: Path, whole: bytes) -> None:
    (tmp_path / "whole.mcap").write_bytes(whole)
    expected = read(tmp_path / "whole.mcap").metadata
    path = repaired(tmp_path, whole[:-50])
    assert path is not None
    assert read(path).metadata == expected


def record(opcode: int, content: bytes) -> bytes:
    return struct.pack("<BQ", opcode, len(content)) + content


def chunk(size: int, data: bytes, compression: bytes = b"zstd") -> bytes:
    head = struct.pack("<QQQII", 1, 1, size, 0, len(compression)) + compression
    return record(Opcode.CHUNK, head + struct.pack("<Q", len(data)) + data)


HUGE = 1 << 60
HOSTILE = {
    "a record of an exabyte": struct.pack("<BQ", Opcode.CHUNK, HUGE),
    "a chunk that states an exabyte": chunk(HUGE, b""),
    "a chunk of which zstandard states an exabyte": chunk(
        16, b"\x28\xb5\x2f\xfd\xe0" + struct.pack("<Q", HUGE) + b"\1\0\0"
    ),
    "a chunk that unpacks to more": chunk(100, zstandard.compress(bytes(20_000_000))),
    "a chunk of another compression": chunk(3, b"abc", b"lz4"),
    "an attachment of an exabyte": record(
        Opcode.ATTACHMENT, bytes(16) + struct.pack("<IIQ", 0, 0, HUGE) + bytes(4)
    ),
    "metadata of 4 GB": record(Opcode.METADATA, struct.pack("<II", 0, 0xFFFF_FFFF)),
    "a name of 4 GB": record(Opcode.METADATA, struct.pack("<I", 0xFFFF_FFFF)),
    "a name that is no text": record(Opcode.METADATA, struct.pack("<I", 1) + b"\xff" + bytes(4)),
    "an unknown record": record(0x77, b"abc"),
    "zeros": bytes(5000),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_bytes_cost_no_memory(tmp_path: Path, whole: bytes, name: str) -> None:
    start = whole[: whole.index(b"foxglove") - 13]  # the header
    tracemalloc.start()
    try:
        assert repaired(tmp_path, start + HOSTILE[name]) is None
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_a_chunk_that_contradicts_itself_is_not_kept(tmp_path: Path) -> None:
    """Its messages have no channel, or its channel no schema, or two have one number."""
    stream = io.BytesIO()
    writer: Any = Writer(stream, compression=CompressionType.ZSTD)
    writer.start(profile="ros2")
    writer.add_message(7, 1, b"", 1)
    writer.finish()
    assert repaired(tmp_path, stream.getvalue()) is None
    stream = io.BytesIO()
    writer = Writer(stream, compression=CompressionType.ZSTD)
    writer.start(profile="ros2")
    writer.add_message(writer.register_channel("/a", "cdr", 9), 1, b"", 1)
    writer.finish()
    assert repaired(tmp_path, stream.getvalue()) is None
