"""Takes changed motions, certificates and tokens, and names the other changes, which need a restart."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

from pydantic import BaseModel

from motiond.text import listed

from ..api import RequestError
from ..config.section import ConfigError
from ..config.settings import load_settings
from . import systemd

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator
    from pathlib import Path

    from ..config.settings import Settings
    from ..robots import RobotRegistry

log = logging.getLogger(__name__)


class Reload:
    """Compares the configuration with that which the daemon was started with, and reads motions again.

    - `renew_page`: reads the page's certificate and token again
    """

    def __init__(
        self, config: Path, settings: Settings, robots: RobotRegistry, renew_page: Callable[[], None]
    ) -> None:
        self._config = config
        self._settings = settings
        self._robots = robots
        self._renew_page = renew_page
        self._lock = asyncio.Lock()
        self._asked = asyncio.Event()

    def ask(self) -> None:
        """Have the configuration read soon; the log says what came of it."""
        self._asked.set()

    async def run(self) -> NoReturn:
        """Reload when asked, until cancelled."""
        while True:
            await self._asked.wait()
            self._asked.clear()
            with suppress(RequestError):  # the log has it
                await self.reload()

    async def reload(self) -> dict[str, Any]:
        """Read the motions, certificates and tokens again, and compare the configuration.

        Returns `restart`, the keys that have changed, which count from the next start on, and `motions` by
        robot, as published. Raises RequestError with all that is wrong in the configuration; then the motions
        are as they were.
        """
        async with self._lock:
            # sd_notify(3): systemd waits for READY=1
            systemd.notify("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")
            try:
                return await self._reload()
            except RequestError:
                raise
            except Exception as error:
                log.exception("%s: the reload failed", self._config)
                reason = f"failed inside motiond; {error!r}; the daemon's log says more"
                raise RequestError.of("INVALID_REQUEST", f"{self._config}: {reason}") from error
            finally:
                systemd.notify("READY=1")

    async def _reload(self) -> dict[str, Any]:
        await asyncio.to_thread(self._renew_page)  # whatever else the configuration has
        try:
            settings = await asyncio.to_thread(load_settings, self._config)
        except ConfigError as error:
            message = "%s: the configuration is wrong; nothing has changed; correct it and reload\n%s"
            log.error(message, self._config, error)  # noqa: TRY400 - it is the operator's mistake
            raise RequestError.of("INVALID_REQUEST", str(error)) from error
        restart = [*_differences(self._settings, settings)]
        members = self._robots.members
        await asyncio.gather(
            *(_read_motions(member.robot.motions.load_again()) for member in members.values())
        )
        if restart:
            log.warning("the configuration was read again; %s changed; restart the daemon", listed(restart))
        else:
            log.info("the configuration was read again; nothing in it has changed")
        motions = {name: member.robot.library.payload() for name, member in members.items()}
        return {"restart": restart, "motions": motions}


async def _read_motions(reading: Coroutine[Any, Any, None]) -> None:
    """Read a robot's motions; one that shuts down meanwhile needs none."""
    with suppress(RequestError):
        await reading


def _differences(before: Any, after: Any, key: str = "") -> Iterator[str]:
    """Yield the keys below which two configurations differ; one that is there only once is named whole."""
    if type(before) is type(after) and isinstance(before, BaseModel | dict):
        old, new = dict(before), dict(after)
        for name in old | new:
            inner = f"{key}.{name}" if key else str(name)
            if (name in old) != (name in new):
                yield inner
            elif name in old:
                yield from _differences(old[name], new[name], inner)
    elif before != after:
        yield key
