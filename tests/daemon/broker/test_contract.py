"""The contract of brokers, at those that run in this process."""

from __future__ import annotations

from tests.daemon.broker.contract import ConfigurableBrokerContract


class TestBrokersInMemory(ConfigurableBrokerContract):
    pass
