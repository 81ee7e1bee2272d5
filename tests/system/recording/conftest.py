"""A robot whose recordings lie beside its configuration."""

from tests.daemon.recording.conftest import rig

__all__ = ["rig"]
