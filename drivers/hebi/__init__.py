"""HEBI modules, by the vendor's library hebi-py."""

from .driver import HebiDriver
from .lookup import LOOKUP_POLL_S, HebiLookup, Module, import_hebi, missing_modules, open_lookup, present
from .options import HebiOptions

__all__ = [
    "LOOKUP_POLL_S",
    "HebiDriver",
    "HebiLookup",
    "HebiOptions",
    "Module",
    "import_hebi",
    "missing_modules",
    "open_lookup",
    "present",
]
