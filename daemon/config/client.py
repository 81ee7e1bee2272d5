"""What a client needs of a daemon's configuration: how to reach its broker."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from pydantic import ConfigDict

from motiond.client import Broker

from .mqtt import MqttSettings
from .secrets import secret_file
from .section import Section
from .types import place, reached_at, split_place

if TYPE_CHECKING:
    from pathlib import Path


class _ForClients(Section):
    """A configuration of which only the section `mqtt` is looked at."""

    model_config = ConfigDict(extra="ignore")

    mqtt: MqttSettings = MqttSettings()


def load_mqtt_settings(path: Path) -> MqttSettings:
    """Read how to reach the broker from a daemon's configuration; its other sections are not checked.

    Raises ConfigError with every mistake, each as `file:line: problem; reason; hint`.
    """
    from .yaml_file import load_config  # noqa: PLC0415 - where the broker is named, nothing is read

    return load_config(path, _ForClients).mqtt


def brokers_of(settings: MqttSettings) -> list[Broker]:
    """Return the brokers of a configuration as `motiond.client.connect` takes them."""
    return [_broker_of(one) for one in settings.each()]


def _broker_of(settings: MqttSettings) -> Broker:
    url = settings.url
    if settings.broker == "embedded":
        host, port = split_place(settings.listen)
        url = f"mqtt://{place(reached_at(host), port)}"
    password_file = settings.password_file
    with suppress(OSError):  # the client says that it cannot be read
        password_file = password_file and secret_file(password_file)
    return Broker(
        url,
        settings.base,
        username=settings.username,
        password_file=password_file,
        ca_file=settings.ca_file,
        cert_file=settings.cert_file,
        key_file=settings.key_file,
        protocol="3.1.1" if settings.broker == "embedded" else settings.protocol,
    )
