"""A recording as a file of MCAP (https://mcap.dev/spec, version 0), of the records of the library `mcap`.

- `records`: records as bytes
- `index`: what a file is found by: chunks, channels, attachments, metadata, and the summary that lists them
- `chunked`: a file that is written, whole arrays of messages at once
- `salvage`: what is whole in a file that was cut short
"""

from .chunked import ChunkedFile
from .salvage import Salvage

__all__ = ["ChunkedFile", "Salvage"]
