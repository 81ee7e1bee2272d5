"""What is whole in a recording that was cut short: its records, up to the first that is not as it should be.

It may hold any bytes: no record counts that is not exactly as the library `mcap` writes it, each size is
checked before memory is spent, and nothing that is kept of a file grows with it but a line for each chunk.
"""

from __future__ import annotations

import hashlib
import os
import struct
import zlib
from array import array
from contextlib import suppress
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import orjson
import zstandard
from mcap.data_stream import ReadDataStream, RecordBuilder
from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.records import (
    Attachment,
    AttachmentIndex,
    Channel,
    Chunk,
    ChunkIndex,
    Footer,
    Header,
    Metadata,
    MetadataIndex,
    Schema,
    Statistics,
)
from mcap.writer import MCAP0_MAGIC as MAGIC

from .about import END, RecordingEnd
from .channels import GAP, REFERENCE, RESULT
from .part import NoRecording

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcap.records import McapRecord

MOST_RECORD_BYTES = MOST_CHUNK_BYTES = 32 << 20
MOST_CHANNELS, MOST_CHANNEL_BYTES = 1000, 4 << 20
MOST_CHUNKS, MOST_ASIDE = 100_000, 10_000
_RECORD, _MESSAGE, _INDEX = struct.Struct("<BQ"), struct.Struct("<HIQQ"), struct.Struct("<BQHI")
_FOOTER_BYTES = _RECORD.size + 20
_TEXT_AT = 8  # of a String in CDR: its encoding and its length stand before
_DAMAGE = (McapError, zstandard.ZstdError, struct.error, ValueError, OverflowError)


class _Damaged(ValueError):
    """A record is not as it should be."""


@dataclass(slots=True)
class Salvage:
    """What is whole in a file.

    - `end`: where that ends, in bytes
    - `is_finished`: whether the file is whole
    - `index`: what is to be written at `end`: the index of the last chunk, where that is cut off
    - `schemas`, `channels`, `chunks`, `attachments`, `metadata`: for the summary
    - `statistics`: the same
    - `told`: what the recording says at its end
    """

    end: int = 0
    is_finished: bool = False
    index: bytes = b""
    schemas: dict[int, Schema] = field(default_factory=dict)
    channels: dict[int, Channel] = field(default_factory=dict)
    chunks: list[ChunkIndex] = field(default_factory=list)
    attachments: list[AttachmentIndex] = field(default_factory=list)
    metadata: list[MetadataIndex] = field(default_factory=list)
    statistics: Statistics = field(default_factory=lambda: Statistics(0, 0, {}, 0, 0, 0, 0, 0, 0))
    told: RecordingEnd = field(default_factory=RecordingEnd)
    _channel_bytes: int = 0

    @property
    def has_end(self) -> bool:
        """Whether the recording had come to its end, and lacks its summary alone."""
        return any(one.name == END for one in self.metadata)

    def read(self, file: BinaryIO) -> None:
        """Read a file from its beginning. Raises `NoRecording` if it is of another kind."""
        size = os.fstat(file.fileno()).st_size
        magic = file.read(len(MAGIC))
        if magic != MAGIC[: len(magic)]:
            reason = "it does not begin with the bytes 89 'MCAP0'"
            raise NoRecording(f"{Path(file.name).name}: is no recording; {reason}; remove it")
        with suppress(*_DAMAGE):
            opcode, content = _record(file, size)
            if opcode != Opcode.HEADER:
                return
            _parsed(Header, content)
            self.end = file.tell()
            while self._takes(file, size):
                self.end = file.tell()

    def _takes(self, file: BinaryIO, size: int) -> bool:
        """Read the next record, and the index that belongs to a chunk; whether another may follow.

        Raises one of `_DAMAGE` where there is none that is whole.
        """
        opcode, content = _record(file, size)
        if opcode == Opcode.CHUNK:
            return self._takes_chunk(file, content)
        if opcode == Opcode.ATTACHMENT:
            self._take_attachment(content)
        elif opcode == Opcode.METADATA:
            self._take_metadata(content)
        else:
            self.is_finished = opcode == Opcode.DATA_END and _is_summary(file, size)
            return False
        return True

    def _take_attachment(self, content: bytes) -> None:
        one = _parsed(Attachment, content)
        if len(self.attachments) == MOST_ASIDE:
            raise _Damaged
        self.attachments.append(
            AttachmentIndex(
                offset=self.end,
                length=_RECORD.size + len(content),
                log_time=one.log_time,
                create_time=one.create_time,
                data_size=len(one.data),
                name=one.name,
                media_type=one.media_type,
            )
        )
        self.told.hashes[one.name] = hashlib.sha256(one.data).hexdigest()

    def _take_metadata(self, content: bytes) -> None:
        one = _parsed(Metadata, content)
        if len(self.metadata) == MOST_ASIDE:
            raise _Damaged
        self.metadata.append(MetadataIndex(self.end, _RECORD.size + len(content), one.name))

    def _takes_chunk(self, file: BinaryIO, content: bytes) -> bool:
        """Take a chunk; whether its index follows it, and so something else may."""
        chunk = _parsed(Chunk, content)
        found = _Contents(self.schemas.copy(), self.channels.copy())
        found.read(_unpacked(chunk))
        times = (chunk.message_start_time, chunk.message_end_time)
        if (found.first, found.last) != times or len(self.chunks) == MOST_CHUNKS:
            raise _Damaged
        if len(found.schemas) + len(found.channels) > MOST_CHANNELS:
            raise _Damaged
        self._channel_bytes += found.channel_bytes
        if self._channel_bytes > MOST_CHANNEL_BYTES:
            raise _Damaged
        self._add(chunk, found, _RECORD.size + len(content))
        at = file.tell()
        index = b"".join(found.index())
        if file.read(len(index)) == index:
            return True
        self.end, self.index = at, index
        return False

    def _add(self, chunk: Chunk, found: _Contents, length: int) -> None:
        at, offsets = self.end + length, {}
        for number, record in zip(found.times, found.index(), strict=True):
            offsets[number] = at
            at += len(record)
        self.chunks.append(
            ChunkIndex(
                chunk_length=length,
                chunk_start_offset=self.end,
                compression=chunk.compression,
                compressed_size=len(chunk.data),
                message_end_time=found.last,
                message_index_length=at - self.end - length,
                message_index_offsets=offsets,
                message_start_time=found.first,
                uncompressed_size=chunk.uncompressed_size,
            )
        )
        self.schemas, self.channels = found.schemas, found.channels
        for number, times in found.times.items():
            self._count(number, len(times) // 2)
        for result in found.results:
            self.told.add_result(result)
        statistics = self.statistics
        before = statistics.message_start_time if statistics.chunk_count else found.first
        statistics.message_start_time = min(found.first, before)
        statistics.message_end_time = max(found.last, statistics.message_end_time)
        statistics.chunk_count += 1

    def _count(self, number: int, messages: int) -> None:
        counts = self.statistics.channel_message_counts
        counts[number] = counts.get(number, 0) + messages
        self.statistics.message_count += messages
        topic = self.channels[number].topic
        self.told.ticks += messages if topic == REFERENCE else 0
        self.told.gaps += messages if topic == GAP else 0


@dataclass(slots=True)
class _Contents:
    """What is in one chunk; schemas and channels are those of the chunks before it, too.

    - `times`: of each channel, when each message was logged and where in the chunk it stands, in turn
    """

    schemas: dict[int, Schema]
    channels: dict[int, Channel]
    times: dict[int, array[int]] = field(default_factory=dict)
    results: list[dict[str, Any]] = field(default_factory=list)
    first: int = 0
    last: int = 0
    channel_bytes: int = 0

    def read(self, data: bytes) -> None:
        """Read all records. Raises one of `_DAMAGE` if one is not as it should be, or none is a message."""
        at = 0
        while at < len(data):
            opcode, length = _RECORD.unpack_from(data, at)
            begin, end = at + _RECORD.size, at + _RECORD.size + length
            if end > len(data):
                raise _Damaged
            if opcode == Opcode.MESSAGE:
                self._take_message(data, at, begin, end)
            elif opcode == Opcode.SCHEMA:
                schema = _parsed(Schema, data[begin:end])
                _define(self.schemas, schema)
                self.channel_bytes += length
            elif opcode == Opcode.CHANNEL:
                channel = _parsed(Channel, data[begin:end])
                if channel.schema_id not in self.schemas:
                    raise _Damaged
                _define(self.channels, channel)
                self.channel_bytes += length
            else:
                raise _Damaged
            at = end
        if not self.times:
            raise _Damaged

    def _take_message(self, data: bytes, at: int, begin: int, end: int) -> None:
        number, _, log_time, _ = _MESSAGE.unpack_from(data, begin)
        if end - begin < _MESSAGE.size or number not in self.channels:
            raise _Damaged
        self.first = log_time if not self.times else min(self.first, log_time)
        self.last = max(self.last, log_time)
        self.times.setdefault(number, array("Q")).extend((log_time, at))
        if self.channels[number].topic == RESULT:
            with suppress(ValueError):
                result = orjson.loads(data[begin + _MESSAGE.size + _TEXT_AT : end].rstrip(b"\0"))
                if isinstance(result, dict):
                    self.results.append(result)

    def index(self) -> Iterator[bytes]:
        """Return the message index of each channel, as the library writes it."""
        for number, times in self.times.items():
            data = times.tobytes()
            yield _INDEX.pack(Opcode.MESSAGE_INDEX, 6 + len(data), number, len(data)) + data


def _define(known: dict[int, Any], one: Any) -> None:
    if known.setdefault(one.id, one) != one:
        raise _Damaged


def _record(file: BinaryIO, size: int) -> tuple[int, bytes]:
    """Return the opcode and the content of the next record."""
    opcode, length = _RECORD.unpack(file.read(_RECORD.size))
    if length > min(size - file.tell(), MOST_RECORD_BYTES):
        raise _Damaged
    return opcode, file.read(length)


def _parsed(kind: Any, content: bytes) -> Any:
    """Return a record, which has to be exactly as it would be written."""
    record = kind.read(ReadDataStream(BytesIO(content)))
    if packed(record)[_RECORD.size :] != content:
        raise _Damaged
    return record


def packed(record: McapRecord) -> bytes:
    """Return a record as it is written."""
    builder: Any = RecordBuilder()  # some of its methods have no types
    record.write(builder)
    data: bytes = builder.end()
    return data


def _unpacked(chunk: Chunk) -> bytes:
    size = chunk.uncompressed_size
    # What its own header states is allocated, whatever bound is asked for.
    if chunk.compression != "zstd" or size > MOST_CHUNK_BYTES:
        raise _Damaged
    if zstandard.frame_content_size(chunk.data) != size:
        raise _Damaged
    data = zstandard.ZstdDecompressor().decompress(chunk.data, max_output_size=size)
    if len(data) != size or zlib.crc32(data) != chunk.uncompressed_crc:
        raise _Damaged
    return data


def _is_summary(file: BinaryIO, size: int) -> bool:
    """Return whether a summary and nothing else stands in the rest of a file."""
    start = file.tell()
    length = size - start - _FOOTER_BYTES - len(MAGIC)
    if not 0 <= length <= MOST_RECORD_BYTES:
        return False
    summary = file.read(length)
    _, content = _record(file, size)
    footer = _parsed(Footer, content)
    head = _RECORD.pack(Opcode.FOOTER, len(content)) + content[:-4]
    checksum = zlib.crc32(head, zlib.crc32(summary))
    return (footer.summary_start, footer.summary_crc, file.read()) == (start, checksum, MAGIC)
