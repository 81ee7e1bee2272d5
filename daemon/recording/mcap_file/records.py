"""Records of MCAP as bytes."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from mcap.data_stream import RecordBuilder
from mcap.opcode import Opcode

if TYPE_CHECKING:
    from array import array
    from collections.abc import Mapping

    from mcap.records import McapRecord

RECORD = struct.Struct("<BQ")
"""What each record begins with: its opcode, and the length of what follows."""
_INDEX = struct.Struct("<BQHI")


def packed(record: McapRecord) -> bytes:
    """Return a record as it is written."""
    builder: Any = RecordBuilder()  # some of its methods have no types
    record.write(builder)
    data: bytes = builder.end()
    return data


def packed_indexes(times: Mapping[int, array[int]]) -> list[bytes]:
    """Return the message index of each channel of a chunk.

    `times`: by channel, when each message was logged and where in the chunk it stands, in turn.
    """
    indexes = []
    for channel, pairs in times.items():
        data = pairs.tobytes()
        indexes.append(_INDEX.pack(Opcode.MESSAGE_INDEX, 6 + len(data), channel, len(data)) + data)
    return indexes
