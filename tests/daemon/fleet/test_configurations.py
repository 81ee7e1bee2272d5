"""The configurations of `config/fleet` name what daemons report, as brokers have it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from motiond.daemon.api import SUBJECTS
from motiond.daemon.config.settings import load_settings
from motiond.daemon.mqtt.bridge import qos_of

ROBOT = Path(__file__).parents[3] / "config" / "fleet" / "robot.conf"


def test_each_subject_has_its_line_in_the_bridge() -> None:
    lines = dict(re.findall(r"^topic motiond/arm/(\w+) out (\d)$", ROBOT.read_text(), re.MULTILINE))
    assert {subject: lines.get(subject) for subject in SUBJECTS} == {
        subject: str(qos_of(subject)) for subject in SUBJECTS
    }


@pytest.mark.parametrize("name", ["bridged", "nats"])
def test_the_daemon_s_configurations_are_valid_and_name_the_robot_as_the_brokers_do(name: str) -> None:
    settings = load_settings(ROBOT.with_name(f"motiond-{name}.yaml"))
    assert (settings.id, [*settings.robots], settings.mqtt.base) == ("arm-pc", ["arm"], "motiond")
