"""The contract of brokers, at those that run in this process."""

from __future__ import annotations

from tests.daemon.mqtt.broker_contract import ConfigurableBrokerContract


class TestBrokersInMemory(ConfigurableBrokerContract):
    pass
