"""A site's mosquitto and a robot's, bridged as `config/fleet` sets them up, with a link that can be cut."""

from __future__ import annotations

import asyncio
import re
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from motiond.daemon.config.mqtt import MqttSettings
from tests import ports
from tests.daemon.conftest import Mosquitto
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Callable

CONFIG = Path(__file__).parents[3] / "config"
SITE, ROBOT = CONFIG / "fleet" / "site.conf", CONFIG / "fleet" / "robot.conf"
LOGINS = {"arm": "secret", "operator": "secret", "motiond": "secret"}


class Link:
    """The network between a robot and its site.

    Parameters
    ----------
    port : int
        The site's broker's.
    """

    def __init__(self, port: int) -> None:
        self.port = ports.free_port()
        self._to = port
        self._carriers: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def mend(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port)

    async def cut(self) -> None:
        """Break all connections, and let nobody make another."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for carrier in self._carriers:
            carrier.cancel()
        await asyncio.gather(*self._carriers, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry what a connection says, unless the link was cut while it was made."""
        if self._server is None:
            writer.transport.abort()
            return
        carrier = asyncio.create_task(self._join(reader, writer), name="link")
        self._carriers.add(carrier)
        carrier.add_done_callback(self._carriers.discard)
        carrier.add_done_callback(lambda _: writer.close())  # also where it was cancelled before it began

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry both ways until either side goes."""
        try:
            site_reader, site_writer = await asyncio.open_connection("127.0.0.1", self._to)
        except OSError:
            return  # the site's broker is away
        there = asyncio.create_task(_carry(reader, site_writer), name="link.there")
        back = asyncio.create_task(_carry(site_reader, writer), name="link.back")
        try:
            await asyncio.wait((there, back), return_when=asyncio.FIRST_COMPLETED)
        finally:
            site_writer.close()  # first: what is awaited may be cancelled
            for way in (there, back):
                way.cancel()
            await asyncio.gather(there, back, return_exceptions=True)


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()


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
        await self.link.mend()
        near = {"address": f"127.0.0.1:{self.link.port}", "persistence_location": f"{self._folder}/robot/"}
        self.robot.configure(*_lines(ROBOT, lambda key, rest: f"{key} {near.get(key, rest)}"))
        await self.robot.start()

    async def kill(self) -> None:
        await self.robot.kill()
        await self.broker.kill()
        await self.link.cut()


def _lines(config: Path, moved: Callable[[str, str], str]) -> list[str]:
    """Return what a configuration says but of listeners, moved to other ports and folders."""
    said = re.findall(r"^([a-z_]+) (.*)$", config.read_text(encoding="utf-8"), re.MULTILINE)
    return [moved(key, rest) for key, rest in said if key != "listener"]
