"""The contract of brokers, at a real mosquitto and at our own broker on real sockets."""

from __future__ import annotations

from tests.daemon.broker.contract import ConfigurableBrokerContract


class TestBrokersOfTheSystem(ConfigurableBrokerContract):
    pass
