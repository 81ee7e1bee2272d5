"""Real brokers; `tests/daemon/conftest.py` starts them where the system is used."""

from __future__ import annotations

from tests.daemon.conftest import (  # noqa: F401 - fixtures
    _ends_the_threads_that_connect,
    _leaves_no_thread,
    broker,
    free_port,
    hub,
    mosquitto,
    mosquitto_of_any_version,
    robots,
)
