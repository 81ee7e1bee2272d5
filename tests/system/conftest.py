"""What tests of the real thing share with those of ring 1: brokers, and an end for threads that connect."""

from tests.daemon.conftest import (
    _ends_the_threads_that_connect,
    _forks,
    _leaves_no_thread,
    free_port,
    mosquitto,
)

__all__ = ["_ends_the_threads_that_connect", "_forks", "_leaves_no_thread", "free_port", "mosquitto"]
