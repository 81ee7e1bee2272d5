"""Records what the demonstration's arm says and is asked: `python -m bench.record_traffic`.

It plays `wave`. Of each topic the last message while it plays is kept; what is only this machine's is
replaced.
"""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiomqtt
import orjson
import yaml

from bench.machines import GROUP, until_online
from bench.programs import begun
from bench.traffic import RECORDED
from tests.daemon.conftest import Mosquitto
from tests.ports import free_port
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Sequence

EXAMPLE = Path(__file__).parents[1] / "config"
ROBOT, DAEMON, MOTION = "arm", "arm-pc", "wave"
TRANSACTION = "b2f6a3c09a0e4f6f8a3b0f6f1f9b8c11"
ON_CONNECTIONS = "/request/heartbeat"
"""Sent when a daemon connects, and so heard or not, as it happens."""
FOLDER, HOST, VERSION = "/etc/motiond", "vm", "0.1.0"
CLOCK = {
    "synchronised": True,
    "estimated_error_s": 4.1e-05,
    "max_error_s": 0.0031,
    "source": "chrony: 10.0.0.1",
    "machine": "1d58bcc66179e3cc",
}


@dataclass(frozen=True, slots=True)
class Heard:
    """A message."""

    topic: str
    data: Any


async def main() -> None:
    """Record."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        mosquitto = Mosquitto(free_port(), folder)
        await mosquitto.start()
        try:
            daemon = _daemon(folder, mosquitto.settings.url)
            try:
                heard = await _record(mosquitto)
            finally:
                daemon.kill()
                daemon.wait()
        finally:
            await mosquitto.kill()
    told = {topic: _anywhere(data, str(folder)) for topic, data in sorted(_kept(heard).items())}
    RECORDED.write_bytes(orjson.dumps(told, option=orjson.OPT_INDENT_2) + b"\n")


def _daemon(folder: Path, broker: str) -> subprocess.Popen[bytes]:
    """Start the demonstration's daemon, with its arm in a group."""
    config = yaml.safe_load((EXAMPLE / "demo.yaml").read_text(encoding="utf-8"))
    for name in ("motions", "robots"):
        shutil.copytree(EXAMPLE / name, folder / name)
    config |= {"id": DAEMON, "http": None, "mqtt": {"broker": broker}}
    config["robots"][ROBOT]["groups"] = [GROUP]
    (folder / "motiond.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
    return begun("run", "-c", folder / "motiond.yaml", stderr=subprocess.DEVNULL, folder=folder)


async def _record(mosquitto: Mosquitto) -> list[Heard]:
    """Return what is sent while it plays a motion, what is retained included."""
    heard: list[Heard] = []
    async with aiomqtt.Client("127.0.0.1", mosquitto.port) as client, asyncio.timeout(PATIENCE_S):
        played = asyncio.Event()
        hearing = asyncio.create_task(_hear(client, heard, played), name="traffic.hear")
        await client.subscribe("motiond/#", qos=2)
        await until_online(mosquitto.settings, [ROBOT])
        asked = orjson.dumps({"motion": MOTION, "transaction": TRANSACTION})
        await client.publish(f"motiond/{ROBOT}/request/play", asked, qos=1)
        await played.wait()
        hearing.cancel()
        await asyncio.wait((hearing,))
    return heard


async def _hear(client: aiomqtt.Client, heard: list[Heard], played: asyncio.Event) -> None:
    async for message in client.messages:
        topic = message.topic.value
        is_kept = not topic.endswith(ON_CONNECTIONS)
        if is_kept and isinstance(message.payload, bytes) and message.payload:
            heard.append(Heard(topic, orjson.loads(message.payload)))
        if topic.endswith("/result"):
            played.set()


def _kept(heard: Sequence[Heard]) -> dict[str, Any]:
    """Return the last of each topic while the robot played, or the last of all where there was none."""
    kept: dict[str, Any] = {}
    in_motion: set[str] = set()
    is_playing = False
    for one in heard:
        if one.topic.endswith("/state"):
            is_playing = one.data["state"] == "playing"
        if is_playing or one.topic not in in_motion:
            kept[one.topic] = one.data
        if is_playing:
            in_motion.add(one.topic)
    return kept


def _anywhere(data: Any, folder: str) -> Any:
    """Return it as it would be on another machine."""
    if isinstance(data, dict):
        own = {"host": HOST, "version": VERSION, "clock": CLOCK}
        return {key: own.get(key) or _anywhere(value, folder) for key, value in data.items()}
    if isinstance(data, list):
        return [_anywhere(one, folder) for one in data]
    return data.replace(folder, FOLDER) if isinstance(data, str) else data


if __name__ == "__main__":
    asyncio.run(main())
