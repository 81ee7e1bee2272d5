"""What a file of MCAP is found by: what stands in it and where, and the summary at its end that lists it."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mcap.opcode import Opcode
from mcap.records import (
    Attachment,
    AttachmentIndex,
    Channel,
    Chunk,
    ChunkIndex,
    DataEnd,
    Footer,
    Metadata,
    MetadataIndex,
    Schema,
    Statistics,
    SummaryOffset,
)
from mcap.writer import MCAP0_MAGIC

from .records import packed, packed_indexes

if TYPE_CHECKING:
    from array import array
    from collections.abc import Iterable, Mapping


@dataclass(slots=True)
class FileIndex:
    """What stands in a file, and where; `statistics` counts it.

    Of `chunks` there is one more each second, so they are kept as the records that they become.
    """

    schemas: dict[int, Schema] = field(default_factory=dict)
    channels: dict[int, Channel] = field(default_factory=dict)
    chunks: list[bytes] = field(default_factory=list)
    attachments: list[AttachmentIndex] = field(default_factory=list)
    metadata: list[MetadataIndex] = field(default_factory=list)
    statistics: Statistics = field(default_factory=lambda: Statistics(0, 0, {}, 0, 0, 0, 0, 0, 0))

    def add_attachment(self, start: int, length: int, attachment: Attachment) -> None:
        """Add an attachment: where its record stands in the file, and how long that is, in bytes."""
        index = AttachmentIndex(
            offset=start,
            length=length,
            log_time=attachment.log_time,
            create_time=attachment.create_time,
            data_size=len(attachment.data),
            name=attachment.name,
            media_type=attachment.media_type,
        )
        self.attachments.append(index)

    def add_metadata(self, start: int, length: int, metadata: Metadata) -> None:
        """Add metadata: where its record stands in the file, and how long that is, in bytes."""
        self.metadata.append(MetadataIndex(start, length, metadata.name))

    def add_chunk(self, start: int, length: int, chunk: Chunk, times: Mapping[int, array[int]]) -> bytes:
        """Add a chunk, and return the message indexes that follow it.

        `start`, `length`: as of an attachment. `times`: as `packed_indexes` wants them.
        """
        indexes = packed_indexes(times)
        at, offsets = start + length, {}
        for channel, messages in zip(times, indexes, strict=True):
            offsets[channel] = at
            at += len(messages)
        statistics, counts = self.statistics, self.statistics.channel_message_counts
        for channel, pairs in times.items():
            counts[channel] = counts.get(channel, 0) + len(pairs) // 2
            statistics.message_count += len(pairs) // 2
        first, last = chunk.message_start_time, chunk.message_end_time
        before = statistics.message_start_time if self.chunks else first
        statistics.message_start_time = min(first, before)
        statistics.message_end_time = max(last, statistics.message_end_time)
        index = ChunkIndex(
            chunk_length=length,
            chunk_start_offset=start,
            compression=chunk.compression,
            compressed_size=len(chunk.data),
            message_end_time=last,
            message_index_length=at - start - length,
            message_index_offsets=offsets,
            message_start_time=first,
            uncompressed_size=chunk.uncompressed_size,
        )
        self.chunks.append(packed(index))
        return b"".join(indexes)

    def ending(self, start: int) -> bytes:
        """Return all that follows the last record of data: the summary and the footer; `start`: where."""
        end = packed(DataEnd(0))
        start += len(end)
        statistics = self.statistics
        statistics.schema_count, statistics.channel_count = len(self.schemas), len(self.channels)
        statistics.attachment_count, statistics.metadata_count = len(self.attachments), len(self.metadata)
        statistics.chunk_count = len(self.chunks)
        groups: dict[Opcode, Iterable[bytes]] = {
            Opcode.SCHEMA: map(packed, self.schemas.values()),
            Opcode.CHANNEL: map(packed, self.channels.values()),
            Opcode.STATISTICS: [packed(statistics)],
            Opcode.CHUNK_INDEX: self.chunks,
            Opcode.ATTACHMENT_INDEX: map(packed, self.attachments),
            Opcode.METADATA_INDEX: map(packed, self.metadata),
        }
        summary, offsets = b"", b""
        for opcode, records in groups.items():
            if group := b"".join(records):
                offsets += packed(SummaryOffset(opcode, start + len(summary), len(group)))
                summary += group
        footer = Footer(start, start + len(summary), 0)
        summary += offsets
        footer.summary_crc = zlib.crc32(packed(footer)[:-4], zlib.crc32(summary))
        return end + summary + packed(footer) + MCAP0_MAGIC
