"""Writes a first configuration once it has passed the checks of the daemon: whole, or not at all."""

from __future__ import annotations

import os
import secrets
from dataclasses import replace
from typing import TYPE_CHECKING

from motiond.formats import FormatError, Problem
from motiond.formats.io import remove
from motiond.text import printable

from ...config.section import ConfigError
from ...config.settings import load_settings
from ..check import check_motions, nothing_to_check

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ..check import Finding


def write_checked(
    target: Path, text: str, *, may_replace: bool, tell: Callable[[str], object]
) -> list[Finding]:
    """Check a configuration as the daemon does, plan all motions, and write it.

    Motions that cannot be played keep it from nothing, as the configuration may be right all the same.

    Parameters
    ----------
    may_replace : bool
        Whether a file that is there goes.
    tell : callable
        Gets what is worth knowing of drivers and robots, a line at a time.

    Returns
    -------
    list of Finding
        Of each motion.

    Raises
    ------
    ConfigError, FormatError, JointMapError, DriverError
        If it cannot be used, or not be written; then nothing has been.
    """
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        with part.open("x", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        findings = _check(part, target, tell)
        _put(part, target, may_replace=may_replace)
    except OSError as error:
        reason = error.strerror or str(error)
        told = Problem(printable(str(target)), 0, "cannot be written", reason, "check the path")
        raise FormatError([told]) from error
    finally:
        remove(part)
    return findings


def _check(part: Path, target: Path, tell: Callable[[str], object]) -> list[Finding]:
    try:
        settings = load_settings(part)
    except ConfigError as error:
        told = [replace(one, file=str(target)) for one in error.problems]
        raise ConfigError(told) from error
    findings = check_motions(settings, (), tell)
    for line in nothing_to_check(settings, findings):
        tell(line)
    return findings


def _put(part: Path, target: Path, *, may_replace: bool) -> None:
    """Put the file in its place; one that has come there meanwhile stays."""
    if may_replace:
        # A symbolic link stays; the file that it leads to is replaced.
        part.replace(os.path.realpath(target))
        return
    try:
        try:
            target.hardlink_to(part)
        except PermissionError:  # a file system without links: its name is taken first, and then filled
            target.touch(exist_ok=False)
            part.replace(target)
    except FileExistsError as error:
        raise already_there(target) from error


def already_there(target: Path) -> FormatError:
    """Return that a file is not replaced unasked."""
    reason, hint = (
        "it would be replaced",
        "name another folder, or --force it; docs/init.md says how to add a robot",
    )
    return FormatError([Problem(printable(str(target)), 0, "exists already", reason, hint)])
