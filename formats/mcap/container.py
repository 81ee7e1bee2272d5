"""The messages in an MCAP file (https://mcap.dev/spec, version 0), of the topics that are asked for.

A file is read from its beginning, without its index, so that one cut short gives what is whole; chunk by
chunk, so that none but one need be held.
The library `mcap` does so too, but takes sizes on trust; here each is checked before memory is spent.
"""

from __future__ import annotations

import os
import struct
import zlib
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, TypeAlias

from motiond.text import quoted

from ..errors import BadText, FormatError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ..errors import Problems

MAGIC = b"\x89MCAP0\r\n"
FOOTER, SCHEMA, CHANNEL, MESSAGE, CHUNK, ATTACHMENT, METADATA = 0x02, 0x03, 0x04, 0x05, 0x06, 0x09, 0x0C
# What a file's chunks may unpack to in all, and each of them; and what is kept of it.
FEW_BYTES, MOST_TIMES, MOST_CHUNK_BYTES, MOST_TIMES_KEPT = 32_000_000, 50, 256_000_000, 10
MESSAGE_BYTES = 200  # besides its data
ATTACHMENT_HEAD_BYTES = 1 << 16  # its name and its type stand there
MOST_CHANNELS = 10_000
_COPY = "copy the file again"
_RECORD, _U16, _U32, _U64 = (struct.Struct(f"<{kind}") for kind in ("BQ", "H", "I", "Q"))
_MESSAGE, _CHUNK = struct.Struct("<HIQQ"), struct.Struct("<QQQI")
_DAMAGED = (struct.error, ValueError, IndexError)


class Channel(NamedTuple):
    """What is published under a topic."""

    topic: str
    encoding: str
    schema: str


class Message(NamedTuple):
    """One message; `log_time` in ns; `number` as its writer counts."""

    channel: Channel
    log_time: int
    data: bytes
    number: int = 0


class Attachment(NamedTuple):
    """A file that is attached, without what is in it."""

    name: str
    media_type: str
    size: int


Record: TypeAlias = tuple[int, memoryview]
"""The opcode and the content of a record."""


@dataclass(slots=True)
class Recording:
    """What is read of a file.

    `wanted`: which channels' messages are kept.
    `most_times`: so many times the file's size its chunks may unpack to.
    `counts`: how many messages each channel has.
    `messages`: those that were kept since they were taken.
    """

    wanted: Callable[[Channel], bool]
    size: int
    most_times: int = MOST_TIMES
    schemas: dict[int, str] = field(default_factory=lambda: {0: ""})
    channels: dict[int, Channel] = field(default_factory=dict)
    counts: dict[Channel, int] = field(default_factory=dict)
    messages: list[Message] = field(default_factory=list)
    attachments: list[Attachment] = field(default_factory=list)
    metadata: dict[str, dict[str, str]] = field(default_factory=dict)
    last_time: int = 0
    unpacked: int = 0
    kept: int = 0
    is_whole: bool = False

    def read(self, records: Iterable[Record]) -> Iterator[None]:
        """Read a file's records, to its footer or as far as they go, and pause behind each.

        Raises `BadText` if it is damaged.
        """
        for opcode, content in records:
            if opcode == FOOTER:
                self.is_whole = True
                return
            if opcode == CHUNK:
                chunk = memoryview(self._unpacked(content))
                end = 0
                for inner, part in records_in(chunk):
                    self._take(inner, part)
                    end += _RECORD.size + len(part)
                if end != len(chunk):
                    raise BadText("has a chunk that ends within a record", "it is damaged", _COPY)
            else:
                self._take(opcode, content)
            yield

    def take_messages(self) -> list[Message]:
        """Return the messages that were kept since the last time."""
        taken, self.messages, self.kept = self.messages, [], 0
        return taken

    def _take(self, opcode: int, content: memoryview) -> None:
        if opcode == SCHEMA:
            (number,) = _U16.unpack_from(content)
            self.schemas[number] = _text(content, 2)[0]
        elif opcode == CHANNEL:
            number, schema = struct.unpack_from("<HH", content)
            topic, end = _text(content, 4)
            encoding, _ = _text(content, end)
            self.channels[number] = Channel(topic, encoding, self.schemas.get(schema, ""))
        elif opcode == MESSAGE:
            number, sequence, log_time, _ = _MESSAGE.unpack_from(content)
            self.last_time = max(self.last_time, log_time)
            if number not in self.channels:
                raise BadText(f"has a message of channel {number}", "there is no such channel", _COPY)
            channel = self.channels[number]
            self.counts[channel] = self.counts.get(channel, 0) + 1
            if self.wanted(channel):
                self._keep(Message(channel, log_time, bytes(content[_MESSAGE.size :]), sequence))
        elif opcode == ATTACHMENT:
            name, end = _text(content, 16)
            media_type, end = _text(content, end)
            self.attachments.append(Attachment(name, media_type, *_U64.unpack_from(content, end)))
        elif opcode == METADATA:
            name, end = _text(content, 0)
            self.metadata[name] = _texts(content, end)
        if len(self.schemas) + len(self.counts) + len(self.attachments) + len(self.metadata) > MOST_CHANNELS:
            raise BadText("holds too many topics", f"{MOST_CHANNELS} are read", "filter it: `mcap filter`")

    def _keep(self, message: Message) -> None:
        self.kept += len(message.data) + MESSAGE_BYTES
        most = max(FEW_BYTES, MOST_TIMES_KEPT * self.size)
        if self.kept > most:
            reason = f"a file of {self.size} bytes may hold {most} bytes of them"
            raise BadText("holds too many messages of joints", reason, "split it: `mcap filter`")
        self.messages.append(message)

    def _unpacked(self, content: memoryview) -> bytes | memoryview:
        _, _, size, checksum = _CHUNK.unpack_from(content)
        compression, end = _text(content, _CHUNK.size)
        (length,) = _U64.unpack_from(content, end)
        packed = content[end + 8 :]
        if length > len(packed):
            raise BadText("has a chunk that states more than it holds", "it is damaged", _COPY)
        packed = packed[:length]
        self.unpacked += size
        most = max(FEW_BYTES, self.most_times * self.size)
        if size > MOST_CHUNK_BYTES or self.unpacked > most:
            reason = f"one may have {MOST_CHUNK_BYTES}, and all of this file {most}"
            raise BadText(f"has a chunk of {size} bytes", reason, "compress it: `mcap compress`")
        data = _decompressed(packed, compression, size)
        if len(data) != size or (checksum and zlib.crc32(data) != checksum):
            raise BadText("has a damaged chunk", "its checksum or size is another", _COPY)
        return data


def records_in(data: memoryview) -> Iterator[Record]:
    """Return each record that is whole."""
    start = 0
    while start + _RECORD.size <= len(data):
        opcode, length = _RECORD.unpack_from(data, start)
        end = start + _RECORD.size + length
        if end > len(data):
            return
        yield opcode, data[start + _RECORD.size : end]
        start = end


def records_of(file: BinaryIO) -> Iterator[Record]:
    """Return each record of a file that is whole, one held at a time, without what is attached."""
    size = os.fstat(file.fileno()).st_size
    while len(head := file.read(_RECORD.size)) == _RECORD.size:
        opcode, length = _RECORD.unpack(head)
        if length > size - file.tell():
            return
        if opcode == ATTACHMENT:
            begin = file.tell()
            yield opcode, memoryview(file.read(min(length, ATTACHMENT_HEAD_BYTES)))
            file.seek(begin + length)
        elif length > MOST_CHUNK_BYTES:
            raise BadText(f"has a record of {length} bytes", f"one may have {MOST_CHUNK_BYTES}", _COPY)
        else:
            yield opcode, memoryview(file.read(length))


def _text(content: memoryview, start: int) -> tuple[str, int]:
    """Return a text that stands behind its length, and where it ends."""
    (length,) = _U32.unpack_from(content, start)
    end = start + 4 + length
    if end > len(content):
        raise ValueError("a text is longer than its record")
    return str(content[start + 4 : end], "utf-8"), end


def _texts(content: memoryview, start: int) -> dict[str, str]:
    """Return texts by their names."""
    (length,) = _U32.unpack_from(content, start)
    found, at = {}, start + 4
    while at < start + 4 + length:
        key, at = _text(content, at)
        found[key], at = _text(content, at)
    return found


def _decompressed(packed: memoryview, compression: str, size: int) -> bytes | memoryview:
    if not compression:
        return packed
    if compression == "zstd":
        return _by_zstd(packed, size)
    if compression == "lz4":
        from lz4.frame import LZ4FrameDecompressor  # noqa: PLC0415 - costly, and not every file needs it

        try:
            data: bytes = LZ4FrameDecompressor().decompress(bytes(packed), max_length=size + 1)
        except RuntimeError as error:
            raise BadText("has a chunk that cannot be unpacked", str(error), _COPY) from error
        return data
    reason, hint = "chunks are packed by zstd, lz4 or not at all", "compress it: `mcap compress`"
    raise BadText(f"is packed by {quoted(compression)}", reason, hint)


def _by_zstd(packed: memoryview, size: int) -> bytes:
    import zstandard  # noqa: PLC0415 - as above

    try:
        # What its own header states is allocated, whatever bound is asked for.
        stated = zstandard.frame_content_size(packed)
        if stated not in {-1, size}:
            raise BadText("has a damaged chunk", f"it states {size} bytes, its content {stated}", _COPY)
        return zstandard.ZstdDecompressor().decompress(packed, max_output_size=size) if size else b""
    except zstandard.ZstdError as error:
        raise BadText("has a chunk that cannot be unpacked", str(error), _COPY) from error


def read_recording(data: bytes, wanted: Callable[[Channel], bool], problems: Problems) -> Recording:
    """Read a file. Raises `FormatError` if it is none, or damaged."""
    refuse_others(data, problems)
    recording = Recording(wanted, len(data))
    with refusing_damage(problems):
        for _ in recording.read(records_in(memoryview(data)[len(MAGIC) :])):
            pass
    return recording


def refuse_others(head: bytes, problems: Problems) -> None:
    """Raise `FormatError` for what does not begin as a file of MCAP."""
    if not head.startswith(MAGIC):
        problem = "is no MCAP file" if head else "is empty"
        raise problems.fail(0, problem, "it begins with the bytes 89 'MCAP0'", "check what wrote it")


@contextmanager
def refusing_damage(problems: Problems) -> Iterator[None]:
    """Raise `FormatError` for what is found to be damaged."""
    try:
        yield
    except FormatError:
        raise
    except BadText as bad:
        raise problems.fail(0, bad.problem, bad.reason, bad.hint) from bad
    except _DAMAGED as error:
        raise problems.fail(0, "is damaged", f"a record cannot be read ({error})", _COPY) from error
