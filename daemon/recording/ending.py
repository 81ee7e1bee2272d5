"""The end of a recording that was cut short: what it says of its end, the index, and the summary."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from mcap.opcode import Opcode
from mcap.records import DataEnd, Footer, Metadata, MetadataIndex, SummaryOffset
from mcap.writer import MCAP0_MAGIC

from .about import END
from .salvage import packed
from .ticks import NS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcap.records import McapRecord

    from .salvage import Salvage

REPAIRED = "it was cut short, as by a crash, and repaired"


def ending(salvage: Salvage) -> bytes:
    """Return what is missing behind a recording's whole records."""
    data = salvage.index
    if not salvage.has_end:
        ended_s = salvage.statistics.message_end_time / NS
        end = packed(Metadata(END, salvage.told.metadata(ended_s, REPAIRED)))
        salvage.metadata.append(MetadataIndex(salvage.end + len(data), len(end), END))
        data += end
    data += packed(DataEnd(0))
    return data + _summary(salvage, salvage.end + len(data))


def _summary(salvage: Salvage, start: int) -> bytes:
    """Return the summary, the footer and the end of a file, as the library writes them; `start`: where."""
    statistics = salvage.statistics
    statistics.schema_count, statistics.channel_count = len(salvage.schemas), len(salvage.channels)
    statistics.attachment_count, statistics.metadata_count = len(salvage.attachments), len(salvage.metadata)
    groups: dict[Opcode, Iterable[McapRecord]] = {
        Opcode.SCHEMA: salvage.schemas.values(),
        Opcode.CHANNEL: salvage.channels.values(),
        Opcode.STATISTICS: [statistics],
        Opcode.CHUNK_INDEX: salvage.chunks,
        Opcode.ATTACHMENT_INDEX: salvage.attachments,
        Opcode.METADATA_INDEX: salvage.metadata,
    }
    summary, offsets = b"", b""
    for opcode, records in groups.items():
        if group := b"".join(map(packed, records)):
            offsets += packed(SummaryOffset(opcode, start + len(summary), len(group)))
            summary += group
    footer = Footer(start, start + len(summary), 0)
    summary += offsets
    footer.summary_crc = zlib.crc32(packed(footer)[:-4], zlib.crc32(summary))
    return summary + packed(footer) + MCAP0_MAGIC
