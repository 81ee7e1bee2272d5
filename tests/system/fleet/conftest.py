"""A stand-in for a registry, for the tests of brokers that are bridged."""

from tests.daemon.conftest import hub, robots

__all__ = ["hub", "robots"]
