"""What a client needs of a daemon's configuration: how to reach its broker."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import ConfigDict

from .mqtt import MqttSettings
from .section import Section
from .yaml_file import load_config

if TYPE_CHECKING:
    from pathlib import Path


class _ForClients(Section):
    """A configuration of which only the section `mqtt` is looked at."""

    model_config = ConfigDict(extra="ignore")

    mqtt: MqttSettings = MqttSettings()


def load_mqtt_settings(path: Path) -> MqttSettings:
    """Read how to reach the broker from a daemon's configuration; its other sections are not checked.

    Raises
    ------
    ConfigError
        With every mistake, each as `file:line: problem; reason; hint`.
    """
    return load_config(path, _ForClients).mqtt
