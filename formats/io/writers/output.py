"""Replacing a file whole or not at all: until all is written, the old one stays."""

from __future__ import annotations

import os
import secrets
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from ...errors import FormatError, Problem
from ..regular_file import refuse_irregular

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a stream whose content replaces a file when the block ends without an error.

    Raises `FormatError` if the file cannot be written, with the system's reason; or if it is no regular file:
    a device, a pipe, a socket or a folder stays what it is.
    """
    refuse_no_file(path)
    # A symbolic link stays; the file that it leads to is replaced.
    target = Path(os.path.realpath(path))
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        with part.open("xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(target)
    except OSError as error:
        raise _unwritten(path, error) from error
    finally:
        remove(part)


def refuse_no_file(path: Path) -> None:
    """Raise `FormatError` if something is there that is no regular file, and so is never replaced."""
    try:
        refuse_irregular(path)
    except OSError as error:
        raise _unwritten(path, error) from error


def _unwritten(path: Path, error: OSError) -> FormatError:
    reason = error.strerror or str(error)
    return FormatError([Problem(str(path), 0, "cannot be written", reason, "check the path")])


def remove(part: Path) -> None:
    """Remove a file that was begun, if it is there.

    A failure is not reported, as on a file system that is read-only: it would hide the one that has led here.
    """
    with suppress(OSError):
        part.unlink()
