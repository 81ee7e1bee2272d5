"""The section `mqtt.home_assistant` of the configuration: where Home Assistant finds the robots."""

from __future__ import annotations

import re
from typing import Annotated, Self

from pydantic import Field, model_validator

from motiond.text import echoed

from .section import Section, SettingError
from .types import LEVELS

Topic = Annotated[str, Field(min_length=1, max_length=200)]


class HomeAssistantSettings(Section):
    """Where Home Assistant looks for devices, as it is set there."""

    prefix: Topic = "homeassistant"
    """First part of the topics on which Home Assistant finds devices (its `discovery_prefix`)."""
    status_topic: Topic = "homeassistant/status"
    """Where Home Assistant says that it has started (its birth message)."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        for option in ("prefix", "status_topic"):
            topic = getattr(self, option)
            if not re.fullmatch(LEVELS, topic):
                what = f"'{echoed(topic)}' is no topic on every broker"
                raise SettingError(option, f"{what}; letters, digits, _ and - can, with / between; rename it")
        return self
