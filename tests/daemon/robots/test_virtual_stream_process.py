"""The stream process in memory keeps the contract of a real one."""

from __future__ import annotations

from tests.daemon.robots.stream_contract import StreamProcessContract


class TestVirtualStreamProcess(StreamProcessContract):
    """In memory, on virtual time."""
