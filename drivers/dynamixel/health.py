"""The hardware error status of a servo in words.

The bits are those of the ROBOTIS e-manual, "Hardware Error Status"; bit 1 exists in the P series alone.
"""

from __future__ import annotations

HARDWARE_ERRORS = {
    0x01: "an input voltage error",
    0x02: "a motor hall sensor error",
    0x04: "overheating",
    0x08: "a motor encoder error",
    0x10: "an electrical shock",
    0x20: "overload",
}


def in_words(bits: int) -> str:
    """Return what is wrong, such as `overheating and overload`."""
    named = [words for bit, words in HARDWARE_ERRORS.items() if bits & bit]
    unknown = bits & ~sum(HARDWARE_ERRORS)
    if unknown:
        named.append(f"unknown error bits 0x{unknown:02x}")
    return " and ".join(named)
