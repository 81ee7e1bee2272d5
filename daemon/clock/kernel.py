"""What the kernel knows of its clock: read with adjtimex(2), which changes nothing here.

The machine's NTP client sets it: ntpd, and chrony with `rtcsync`, set both errors;
systemd-timesyncd and others set both to 0, and the kernel lets the greatest error alone grow, by 500 ppm.
"""

from __future__ import annotations

import ctypes
import os
from typing import ClassVar, NamedTuple

STA_UNSYNC = 0x0040
"""Of `timex.status`, from <linux/timex.h>: the clock is not synchronised."""
_MICROSECOND_S = 1e-6
_LIBC = ctypes.CDLL(None, use_errno=True)


class Timex(ctypes.Structure):
    """`struct timex` of <sys/timex.h>, as far as it is read; the kernel fills in all of it.

    `maxerror` and `esterror` are in µs, whatever `status` says of the unit of `offset`.
    """

    _fields_: ClassVar = [
        ("modes", ctypes.c_uint),  # which fields are to be set: none
        ("offset", ctypes.c_long),
        ("freq", ctypes.c_long),
        ("maxerror", ctypes.c_long),
        ("esterror", ctypes.c_long),
        ("status", ctypes.c_int),
        ("_rest", ctypes.c_byte * 256),  # the fields after it take 160 bytes on a machine of 64 bits
    ]


class KernelClock(NamedTuple):
    """What the kernel says of its clock."""

    synchronised: bool  # without STA_UNSYNC in `timex.status`
    estimated_error_s: float | None  # `timex.esterror`; None where it is 0, as nobody has estimated it then
    max_error_s: float  # `timex.maxerror`


def read() -> KernelClock:
    """Ask the kernel; a system call of a microsecond.

    Raises `OSError` if the machine does not let this process ask.
    """
    timex = Timex()
    if _LIBC.adjtimex(ctypes.byref(timex)) < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return decode(timex)


def decode(timex: Timex) -> KernelClock:
    """Return the clock of a filled structure."""
    return KernelClock(
        synchronised=not timex.status & STA_UNSYNC,
        estimated_error_s=timex.esterror * _MICROSECOND_S or None,
        max_error_s=timex.maxerror * _MICROSECOND_S,
    )
