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

import zstandard
from mcap.data_stream import ReadDataStream
from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.records import Attachment, Channel, Chunk, Footer, Header, Metadata, Schema
from mcap.writer import MCAP0_MAGIC as MAGIC

from ..part import NoRecording
from .index import FileIndex
from .records import RECORD, packed

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_RECORD_BYTES = MOST_CHUNK_BYTES = 32 << 20
MOST_CHANNELS, MOST_CHANNEL_BYTES = 1000, 4 << 20
MOST_CHUNKS, MOST_ASIDE = 100_000, 10_000
MOST_NOTED, MOST_NOTED_BYTES = 1000, 64 << 10
_MESSAGE = struct.Struct("<HIQQ")
_FOOTER_BYTES = RECORD.size + 20
_DAMAGE = (McapError, zstandard.ZstdError, struct.error, ValueError, OverflowError)


class _Damaged(ValueError):
    """A record is not as it should be."""


@dataclass(slots=True)
class Salvage:
    """What is whole in a file.

    - `topic`: whose messages are `noted`

    - `end`: where that ends, in bytes
    - `is_finished`: whether the file is whole
    - `index`: what is to be written at `end`: the index of the last chunk, where that is cut off
    - `found`: what stands in it
    - `hashes`: SHA-256 of each attachment by its name
    - `noted`: the first `MOST_NOTED` messages of the topic, of those that are not too long
    """

    topic: str
    end: int = 0
    is_finished: bool = False
    index: bytes = b""
    found: FileIndex = field(default_factory=FileIndex)
    hashes: dict[str, str] = field(default_factory=dict)
    noted: list[bytes] = field(default_factory=list)
    _channel_bytes: int = 0

    def count(self, topic: str) -> int:
        """Return how many messages a topic has."""
        counts = self.found.statistics.channel_message_counts
        return sum(n for number, n in counts.items() if self.found.channels[number].topic == topic)

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

    def ending(self, name: str, values: Mapping[str, str]) -> bytes:
        """Return what is missing at `end`: index, summary, and the metadata unless there is such a record."""
        data = self.index
        if all(one.name != name for one in self.found.metadata):
            metadata = Metadata(name, dict(values))
            record = packed(metadata)
            self.found.add_metadata(self.end + len(data), len(record), metadata)
            data += record
        return data + self.found.ending(self.end + len(data))

    def _takes(self, file: BinaryIO, size: int) -> bool:
        """Read the next record, and the index that belongs to a chunk; whether another may follow.

        Raises one of `_DAMAGE` where there is none that is whole.
        """
        opcode, content = _record(file, size)
        if opcode == Opcode.CHUNK:
            return self._takes_chunk(file, content)
        if opcode not in {Opcode.ATTACHMENT, Opcode.METADATA}:
            self.is_finished = opcode == Opcode.DATA_END and _is_summary(file, size)
            return False
        _need(len(self.found.attachments) + len(self.found.metadata) < MOST_ASIDE)
        length = RECORD.size + len(content)
        if opcode == Opcode.METADATA:
            self.found.add_metadata(self.end, length, _parsed(Metadata, content))
        else:
            attachment = _parsed(Attachment, content)
            self.found.add_attachment(self.end, length, attachment)
            self.hashes[attachment.name] = hashlib.sha256(attachment.data).hexdigest()
        return True

    def _takes_chunk(self, file: BinaryIO, content: bytes) -> bool:
        """Take a chunk; whether its index follows it, and so something else may."""
        chunk = _parsed(Chunk, content)
        contents = _Contents(self.topic, self.found.schemas.copy(), self.found.channels.copy())
        contents.read(_unpacked(chunk))
        times = (chunk.message_start_time, chunk.message_end_time)
        _need((contents.first, contents.last) == times and len(self.found.chunks) < MOST_CHUNKS)
        _need(len(contents.schemas) + len(contents.channels) <= MOST_CHANNELS)
        self._channel_bytes += contents.channel_bytes
        _need(self._channel_bytes <= MOST_CHANNEL_BYTES)
        self.found.schemas, self.found.channels = contents.schemas, contents.channels
        index = self.found.add_chunk(self.end, RECORD.size + len(content), chunk, contents.times)
        self.noted += contents.noted[: MOST_NOTED - len(self.noted)]
        at = file.tell()
        if file.read(len(index)) == index:
            return True
        self.end, self.index = at, index
        return False


@dataclass(slots=True)
class _Contents:
    """What is in one chunk; schemas and channels are those of the chunks before it, too.

    - `times`: of each channel, when each message was logged and where in the chunk it stands, in turn
    """

    topic: str
    schemas: dict[int, Schema]
    channels: dict[int, Channel]
    times: dict[int, array[int]] = field(default_factory=dict)
    noted: list[bytes] = field(default_factory=list)
    first: int = 0
    last: int = 0
    channel_bytes: int = 0

    def read(self, data: bytes) -> None:
        """Read all records. Raises one of `_DAMAGE` if one is not as it should be, or none is a message."""
        at = 0
        while at < len(data):
            opcode, length = RECORD.unpack_from(data, at)
            begin, end = at + RECORD.size, at + RECORD.size + length
            _need(end <= len(data))
            if opcode == Opcode.MESSAGE:
                self._take_message(data, at, begin, end)
            elif opcode == Opcode.SCHEMA:
                schema = _parsed(Schema, data[begin:end])
                _define(self.schemas, schema)
                self.channel_bytes += length
            elif opcode == Opcode.CHANNEL:
                channel = _parsed(Channel, data[begin:end])
                _need(channel.schema_id in self.schemas)
                _define(self.channels, channel)
                self.channel_bytes += length
            else:
                raise _Damaged
            at = end
        _need(bool(self.times))

    def _take_message(self, data: bytes, at: int, begin: int, end: int) -> None:
        number, _, log_time, _ = _MESSAGE.unpack_from(data, begin)
        _need(end - begin >= _MESSAGE.size and number in self.channels)
        self.first = log_time if not self.times else min(self.first, log_time)
        self.last = max(self.last, log_time)
        self.times.setdefault(number, array("Q")).extend((log_time, at))
        is_noted = self.channels[number].topic == self.topic and end - begin < MOST_NOTED_BYTES
        if is_noted and len(self.noted) < MOST_NOTED:
            self.noted.append(data[begin + _MESSAGE.size : end])


def _need(is_so: bool) -> None:  # noqa: FBT001 - it reads as a sentence
    if not is_so:
        raise _Damaged


def _define(known: dict[int, Any], one: Any) -> None:
    _need(known.setdefault(one.id, one) == one)


def _record(file: BinaryIO, size: int) -> tuple[int, bytes]:
    """Return the opcode and the content of the next record."""
    opcode, length = RECORD.unpack(file.read(RECORD.size))
    _need(length <= min(size - file.tell(), MOST_RECORD_BYTES))
    return opcode, file.read(length)


def _parsed(kind: Any, content: bytes) -> Any:
    """Return a record, which has to be exactly as it would be written."""
    record = kind.read(ReadDataStream(BytesIO(content)))
    _need(packed(record)[RECORD.size :] == content)
    return record


def _unpacked(chunk: Chunk) -> bytes:
    size = chunk.uncompressed_size
    # What its own header states is allocated, whatever bound is asked for.
    _need(chunk.compression == "zstd" and size <= MOST_CHUNK_BYTES)
    _need(zstandard.frame_content_size(chunk.data) == size)
    data = zstandard.ZstdDecompressor().decompress(chunk.data, max_output_size=size)
    _need(len(data) == size and zlib.crc32(data) == chunk.uncompressed_crc)
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
    head = RECORD.pack(Opcode.FOOTER, len(content)) + content[:-4]
    checksum = zlib.crc32(head, zlib.crc32(summary))
    return (footer.summary_start, footer.summary_crc, file.read()) == (start, checksum, MAGIC)
