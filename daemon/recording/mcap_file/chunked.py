"""A file of MCAP that is written in chunks, whole arrays of messages at once.

The library's own writer takes one message at a time, and more processor time for them than for all the rest.
"""

from __future__ import annotations

import zlib
from array import array
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
import zstandard
from mcap.opcode import Opcode
from mcap.records import Attachment, Channel, Chunk, Header, Metadata, Schema
from mcap.writer import MCAP0_MAGIC

from .index import FileIndex
from .records import packed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from motiond.formats.arrays import Integers

LEVEL = 1
"""Of zstandard: the next ones take twice the time for files that are a twentieth smaller."""
MOST_CHUNK_BYTES = 16 << 20
"""A chunk that holds more is written at once, so that it fits into memory where it is read."""
_HEAD = np.dtype(
    [
        ("opcode", "u1"),
        ("length", "<u8"),
        ("channel", "<u2"),
        ("sequence", "<u4"),
        ("log_time", "<u8"),
        ("publish_time", "<u8"),
    ]
)
_BEFORE_DATA = 22  # of a message, behind its length


class ChunkedFile:
    """Writes one file from its beginning; every method may raise `OSError`.

    - `file`: nothing else is written to it
    - `profile`, `library`: of the file's header

    - `size`: how many bytes are written
    """

    def __init__(self, file: BinaryIO, profile: str, library: str) -> None:
        self._file = file
        self._index = FileIndex()
        self._compressor = zstandard.ZstdCompressor(level=LEVEL)
        self._start_chunk()
        self.size = 0
        self._write(MCAP0_MAGIC + packed(Header(profile, library)))

    def add_attachment(self, name: str, media_type: str, data: bytes, stamp_ns: int) -> None:
        """Write an attachment; `stamp_ns`: when, in Unix ns."""
        attachment = Attachment(stamp_ns, stamp_ns, name, media_type, data)
        data = packed(attachment)
        self._index.add_attachment(self.size, len(data), attachment)
        self._write(data)

    def add_metadata(self, name: str, values: Mapping[str, str]) -> None:
        """Write metadata."""
        metadata = Metadata(name, dict(values))
        data = packed(metadata)
        self._index.add_metadata(self.size, len(data), metadata)
        self._write(data)

    def register_schema(self, name: str, encoding: str, data: bytes) -> int:
        """Return the number of a new schema."""
        number = len(self._index.schemas) + 1
        self._index.schemas[number] = schema = Schema(number, data, encoding, name)
        self._append(packed(schema))
        return number

    def register_channel(self, topic: str, encoding: str, schema: int, metadata: Mapping[str, str]) -> int:
        """Return the number of a new channel; `schema`: that of its messages."""
        number = len(self._index.channels) + 1
        self._index.channels[number] = channel = Channel(number, topic, encoding, dict(metadata), schema)
        self._append(packed(channel))
        return number

    def add_messages(
        self, channel: int, stamps: Integers, messages: NDArray[np.uint8], numbers: Integers | int = 0
    ) -> None:
        """Add messages of one size, and write the chunk if it is too large to grow.

        - `channel`: its number
        - `stamps`: when each is logged and published, in Unix ns, shape (n,)
        - `messages`: their bytes, shape (n, size)
        - `numbers`: of each, in 32 bits
        """
        count, size = messages.shape
        if not count:
            return
        rows = np.empty((count, _HEAD.itemsize + size), np.uint8)
        rows[:, _HEAD.itemsize :] = messages
        heads = np.empty(count, _HEAD)
        heads["opcode"], heads["length"] = Opcode.MESSAGE, _BEFORE_DATA + size
        heads["channel"], heads["sequence"] = channel, numbers
        heads["log_time"] = heads["publish_time"] = stamps
        rows[:, : _HEAD.itemsize] = heads.view(np.uint8).reshape(count, _HEAD.itemsize)
        places = self._chunk_size + np.arange(count) * rows.shape[1]
        pairs = np.stack([stamps, places], axis=1).astype("<u8")
        self._times.setdefault(channel, array("Q")).frombytes(pairs.tobytes())
        self._append(rows.tobytes())
        if self._chunk_size > MOST_CHUNK_BYTES:
            self._write_chunk()

    def cut(self) -> None:
        """Write the chunk in progress, if any, and hand all to the system."""
        self._write_chunk()
        self._file.flush()

    def finish(self) -> None:
        """Write what is left, and the summary."""
        self._write_chunk()
        self._write(self._index.ending(self.size))
        self._file.flush()

    def _write_chunk(self) -> None:
        if not self._times:
            return
        content = b"".join(self._parts)
        stamps = [np.frombuffer(pairs, np.uint64)[::2] for pairs in self._times.values()]
        chunk = Chunk(
            compression="zstd",
            data=self._compressor.compress(content),
            message_start_time=min(int(each.min()) for each in stamps),
            message_end_time=max(int(each.max()) for each in stamps),
            uncompressed_crc=zlib.crc32(content),
            uncompressed_size=len(content),
        )
        data = packed(chunk)
        index = self._index.add_chunk(self.size, len(data), chunk, self._times)
        self._start_chunk()
        self._write(data + index)

    def _start_chunk(self) -> None:
        self._parts: list[bytes] = []
        self._chunk_size = 0
        self._times: dict[int, array[int]] = {}

    def _append(self, data: bytes) -> None:
        self._parts.append(data)
        self._chunk_size += len(data)

    def _write(self, data: bytes) -> None:
        self._file.write(data)
        self.size += len(data)
