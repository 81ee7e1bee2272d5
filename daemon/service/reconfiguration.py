"""Takes what has changed in the configuration into the running daemon, of each robot when it may.

A robot that moves is left alone until it rests, and one whose emergency stop is latched until it was reset:
whatever moves its actuators then has to be theirs who reset it.

A configuration that is wrong in anything changes nothing. What belongs to the daemon as a whole, such as its
broker, is taken when it starts the next time.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NoReturn

from motiond.drivers import DriverError, shared_devices
from motiond.formats import FormatError
from motiond.text import listed

from ..api import RequestError
from ..config.section import ConfigError, Section
from ..config.settings import Settings, load_settings
from ..ipc.control import Refused
from ..joints import JointMapError
from ..mqtt.client import address_of
from . import systemd

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from ..api import ReportHub
    from ..mqtt.bridge import MqttBridge
    from ..robots import Assembly, Member, Parts, RobotRegistry

log = logging.getLogger(__name__)

LOOK_PERIOD_S = 0.05
OF_ROBOTS = frozenset({"robots", "realtime", "model_folders"})
"""Options of the configuration that make robots what they are; the others are the daemon's own."""


class Reconfiguration:
    """What the robots are to be by the configuration that was read last, and what they still have to become.

    Parameters
    ----------
    config : Path
    settings : Settings
        As the daemon was started with.
    assembly : Assembly
        Makes robots.
    robots : RobotRegistry
        Those that there are.
    bridge : MqttBridge
        Is told who comes and goes.
    hub : ReportHub
        Forgets who goes.
    renew_certificate : callable
        Has the page served with its certificate's files as they are now.
    """

    def __init__(
        self,
        config: Path,
        settings: Settings,
        *,
        assembly: Assembly,
        robots: RobotRegistry,
        bridge: MqttBridge,
        hub: ReportHub,
        renew_certificate: Callable[[], None],
    ) -> None:
        self._config = config
        self._renew_certificate = renew_certificate
        self._settings = settings
        self._assembly = assembly
        self._robots = robots
        self._bridge = bridge
        self._hub = hub
        self._wanted: dict[str, Parts] = {name: one.parts for name, one in robots.members.items()}
        self._waiting: dict[str, str] = {}
        self._lock = asyncio.Lock()
        self._asked = asyncio.Event()

    def ask(self) -> None:
        """Have the configuration read soon; the log tells how that went."""
        self._asked.set()

    async def run(self) -> NoReturn:
        """Read when asked, and change robots once they rest, until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._keep_settling(), name="reconfiguration.settle")
            while True:
                await self._asked.wait()
                self._asked.clear()
                with suppress(Refused):  # the log has it
                    await self.reload()

    async def reload(self) -> dict[str, Any]:
        """Read the configuration and all motions again, and take what has changed.

        Returns
        -------
        dict
            `added`, `removed` and `changed`: the robots that are so by now; `waiting`: those that will be,
            each with what it waits for; `restart`: the options that are taken at the next start; `motions`:
            by robot, as published; `broker`: the address of the one that the daemon is configured with.

        Raises
        ------
        Refused
            With all that is wrong; then nothing has changed.
        """
        async with self._lock:
            with _told_to_systemd(), self._robots.staying():
                try:
                    return await self._reload()
                except Refused:
                    raise
                except Exception as error:
                    log.exception("%s: the configuration could not be taken", self._config)
                    reason = f"failed inside motiond; {error!r}; the daemon's log says more"
                    raise Refused(f"{self._config}: {reason}") from error

    async def _reload(self) -> dict[str, Any]:
        await asyncio.to_thread(self._renew_certificate)  # whatever else the configuration has
        try:
            settings, restart, wanted = await asyncio.to_thread(self._read)
        except (ConfigError, FormatError, JointMapError, DriverError) as error:
            what = "%s: the configuration is not taken; nothing has changed; correct it and reload\n%s"
            log.error(what, self._config, error)  # noqa: TRY400 - it is the operator's mistake
            raise Refused(str(error)) from error
        self._settings, self._wanted = settings, wanted
        members = self._robots.members
        added = [name for name in wanted if name not in members]
        removed = [name for name in members if name not in wanted]
        changed = [name for name in members if self._has_to_change(name)]
        same = [name for name in members if name not in {*removed, *changed}]
        self._waiting.clear()
        await asyncio.gather(*(self._settle(name) for name in removed))  # others may want its actuators
        await asyncio.gather(*(self._settle(name) for name in changed))
        for name in added:
            await self._become(name)
        stayed = [name for name in self._waiting if name not in added]
        await asyncio.gather(*(self._read_motions(name) for name in (*same, *stayed)))
        told = {
            "added": [name for name in added if name not in self._waiting],
            "removed": [name for name in removed if name not in self._waiting],
            "changed": [name for name in changed if name not in self._waiting],
            "waiting": dict(sorted(self._waiting.items())),
            "restart": restart,
        }
        _log_outcome(told)
        motions = {name: one.robot.library.payload() for name, one in self._robots.members.items()}
        return told | {"motions": motions, "broker": str(address_of(settings.mqtt))}

    def _read(self) -> tuple[Settings, list[str], dict[str, Parts]]:
        """Return the configuration as far as it can be taken, what cannot, and what robots are made of."""
        new, old = load_settings(self._config), self._settings
        kept = {name: getattr(old, name) for name in Settings.model_fields if name not in OF_ROBOTS}
        restart = [*_differences(kept, {name: getattr(new, name) for name in kept})]
        taken = new.model_copy(update=kept)
        return taken, restart, self._assembly.all_parts(taken)

    def _has_to_change(self, name: str) -> bool:
        """Whether a robot that there is has to become another one of its name."""
        members = self._robots.members
        return (
            name in members
            and name in self._wanted
            and not self._wanted[name].makes_the_same(members[name].parts)
        )

    # -- one robot ------------------------------------------------------------------------------------------

    async def _keep_settling(self) -> NoReturn:
        """Let robots that had to wait become what they are to be, as soon as they may."""
        while True:
            await asyncio.sleep(LOOK_PERIOD_S)
            if any(self._waits_for(name) != reason for name, reason in self._waiting.items()):
                async with self._lock:
                    with (
                        self._robots.staying()
                    ):  # one that goes may be the last but for one that waits for it
                        for name in sorted(self._waiting, key=self._turn):
                            if self._waits_for(name) != self._waiting[name]:
                                del self._waiting[name]
                                await self._settle(name)

    def _turn(self, name: str) -> int:
        """Return when a robot's turn is: others may want the actuators of one that goes."""
        return (name in self._wanted) + (name not in self._robots.members)

    async def _settle(self, name: str) -> None:
        """Let a robot be what it is to be; one that may not yet waits, and what fails ends nothing else."""
        try:
            await self._become(name)
        except Exception:
            log.exception("%s: failed inside motiond; its configuration was not taken", name)

    async def _become(self, name: str) -> None:
        if self._has_to_wait(name):
            return
        if name not in self._robots.members:
            await self._add(name)
        elif name not in self._wanted:
            await self._remove(name)
        elif self._has_to_change(name):
            await self._exchange(name)

    # -- what it waits for ----------------------------------------------------------------------------------

    def _has_to_wait(self, name: str) -> bool:
        """Whether a robot may not be what it is to be yet; then the log says why."""
        reason = self._waits_for(name)
        if reason:
            self._waiting[name] = reason
            log.info("%s: %s", name, reason, extra={"robot": name})
        return bool(reason)

    def _waits_for(self, name: str) -> str:
        """Return why a robot may not be what it is to be yet; '' if it may."""
        if name in self._robots.members and (reason := self._stays_for(name)):
            return reason
        return self._kept_out_by(name) if name in self._wanted else ""

    def _stays_for(self, name: str) -> str:
        """Return why a robot that there is has to stay as it is for now; '' if it need not."""
        member, wanted = self._robots.members[name], self._wanted.get(name)
        becomes = "taken out" if wanted is None else "changed as the configuration says"
        if not member.rests:
            return f"moves, and is left alone; it is {becomes} once it rests"
        if member.robot.session.latched and (wanted is None or not wanted.drives_the_same(member.parts)):
            return f"its emergency stop is latched; it is {becomes} once it is reset"
        return ""

    def _kept_out_by(self, name: str) -> str:
        """Return which robot that has to leave its actuators to this one still stays, and '' if none does."""
        members, wanted = self._robots.members, self._wanted[name]
        if name in members and wanted.drives_the_same(members[name].parts):
            return ""  # it has them
        for other, member in members.items():
            shares = shared_devices(wanted.driver, member.parts.driver)
            if (
                other != name
                and (shares or wanted.drives_the_same(member.parts))
                and (other not in self._wanted or self._has_to_change(other))
                and self._stays_for(other)
            ):
                begins = "changed as the configuration says" if name in members else "added"
                return f"{other} still has its actuators; it is {begins} once {other} has left them"
        return ""

    # -- what it becomes ------------------------------------------------------------------------------------

    async def _remove(self, name: str) -> None:
        former = self._robots.members[name]
        await self._robots.remove(name)
        if former.robot.session.latched:  # on its way home
            await self._bring_back(former)
            return
        self._hub.forget(name)
        await self._bridge.let_go(name)
        log.info("%s: taken out, as the configuration does not name it any more", name, extra={"robot": name})

    async def _bring_back(self, former: Member) -> None:
        """Run a robot again as it was, so that its emergency stop stays latched until it is reset."""
        member = self._assembly.member(former.parts)
        member.succeed(former)
        await member.prepare()
        self._robots.add(member)
        self._has_to_wait(member.robot.name)

    async def _exchange(self, name: str) -> None:
        member = self._assembly.member(self._wanted[name])
        await member.prepare()
        if self._has_to_wait(name):  # it has begun to move meanwhile, or was stopped
            return
        await self._robots.exchange(member)
        log.info("%s: changed as the configuration says", name, extra={"robot": name})

    async def _add(self, name: str) -> None:
        await self._bridge.take_in([name])
        member = self._assembly.member(self._wanted[name])
        await member.prepare()
        self._robots.add(member)
        log.info("%s: added, as the configuration names it now", name, extra={"robot": name})

    async def _read_motions(self, name: str) -> None:
        """Read what has changed in a robot's motions; one that leaves meanwhile needs none."""
        with suppress(RequestError):
            await self._robots.members[name].robot.motions.load_again()


@contextmanager
def _told_to_systemd() -> Iterator[None]:
    """Let systemd know that the configuration is being read (sd_notify(3), RELOADING=1)."""
    systemd.notify("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")
    try:
        yield
    finally:
        systemd.notify("READY=1")


def _differences(old: dict[str, Any], new: dict[str, Any], above: str = "") -> Iterable[str]:
    """Yield the options that differ, in sections by their own names."""
    for name, before in old.items():
        after = new[name]
        if isinstance(before, Section) and isinstance(after, Section):
            yield from _differences(dict(before), dict(after), f"{above}{name}.")
        elif before != after:
            yield f"{above}{name}"


def _log_outcome(told: dict[str, Any]) -> None:
    if not any(told.values()):
        log.info("the configuration was read again; nothing in it has changed")
    if told["restart"]:
        what = "the configuration was read again; %s cannot change while the daemon runs; restart it"
        log.warning(what, listed(told["restart"]))
