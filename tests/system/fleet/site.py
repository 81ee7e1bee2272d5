"""A site's mosquitto and a robot's, bridged as `config/fleet` sets them up, with a link that can be cut."""

from __future__ import annotations

import asyncio
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from motiond.daemon.config.mqtt import MqttSettings
from tests import ports
from tests.daemon.conftest import Mosquitto
from tests.daemon.link import Link
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Callable

CONFIG = Path(__file__).parents[3] / "config"
SITE, ROBOT = CONFIG / "fleet" / "site.conf", CONFIG / "fleet" / "robot.conf"
LOGINS = {"arm": "secret", "operator": "secret", "motiond": "secret"}


class Site:
    """Both brokers and the link.

    Parameters
    ----------
    folder : Path
        For configurations, passwords and what the brokers keep.
    """

    def __init__(self, folder: Path) -> None:
        for name in ("site", "robot"):
            (folder / name).mkdir()
        self._folder = folder
        self.broker = Mosquitto(ports.free_port(), folder / "site")
        self.robot = Mosquitto(ports.free_port(), folder / "robot")
        self.link = Link(self.broker.port)

    def settings(self, name: str = "operator", port: int | None = None) -> MqttSettings:
        """Return the settings of a client of the site's broker."""
        url = f"mqtt://{name}:{LOGINS[name]}@127.0.0.1:{port or self.broker.port}"
        return MqttSettings(broker=url, reconnect_min_s=0.05, reconnect_max_s=0.2)

    async def start(self) -> None:
        passwords, access = self._folder / "passwords", self._folder / "acl"
        passwords.touch(0o600)
        for name, password in LOGINS.items():
            command = ["mosquitto_passwd", "-b", str(passwords), name, password]
            await asyncio.to_thread(subprocess.run, command, timeout=PATIENCE_S, check=True)
        access.write_text(
            (CONFIG / "mosquitto" / "acl").read_text() + (CONFIG / "fleet" / "site.acl").read_text()
        )
        moved = {
            "password_file": passwords,
            "acl_file": access,
            "persistence_location": f"{self._folder}/site/",
        }
        self.broker.configure(*_lines(SITE, lambda key, rest: f"{key} {moved.get(key, rest)}"))
        await self.broker.start()
        await self.link.repair()
        near = {"address": f"127.0.0.1:{self.link.port}", "persistence_location": f"{self._folder}/robot/"}
        self.robot.configure(*_lines(ROBOT, lambda key, rest: f"{key} {near.get(key, rest)}"))
        await self.robot.start()

    async def kill(self) -> None:
        await self.robot.kill()
        await self.broker.kill()
        await self.link.cut()


def _lines(config: Path, moved: Callable[[str, str], str]) -> list[str]:
    """Return the lines of a configuration without listeners, with other ports and folders."""
    said = re.findall(r"^([a-z_]+) (.*)$", config.read_text(encoding="utf-8"), re.MULTILINE)
    return [moved(key, rest) for key, rest in said if key != "listener"]
