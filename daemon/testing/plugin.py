"""The fixtures and hooks that `pytest_motiond` loads when a test first uses a robot."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from .failures import MotiondFailure
from .process import MotiondDaemon
from .robot import MotiondRobot

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator
    from pathlib import Path

_USED = pytest.StashKey[MotiondDaemon]()
"""The daemon that a test uses."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the daemon's log to the report of a failed test, and let no other test use that daemon."""
    report = yield
    daemon = item.stash.get(_USED, None)
    if report.failed and daemon is not None:
        daemon.spent = True
        report.sections.append(("motiond's log", daemon.log or "(empty)"))
    return report


class DaemonPool:
    """The daemons of one test session, one for each configuration; a spent one is replaced.

    Parameters
    ----------
    scratch : callable
        Returns a new empty folder for each daemon.
    """

    def __init__(self, scratch: Callable[[], Path]) -> None:
        self._scratch = scratch
        self._running: dict[Path, MotiondDaemon] = {}

    def take(self, item: pytest.Item, config: Path) -> MotiondDaemon:
        """Return a daemon that is ready for a test."""
        daemon = self._running.get(config)
        if daemon is None:
            daemon = MotiondDaemon(config, self._scratch())
            item.stash[_USED] = daemon
            self._running[config] = daemon.start()
        item.stash[_USED] = daemon
        daemon.begin_test()
        return daemon

    def give_back(self, daemon: MotiondDaemon) -> None:
        """Stop a daemon that can serve no further test."""
        if not daemon.usable():
            del self._running[daemon.config]
            daemon.stop()

    def stop(self) -> None:
        """Stop all daemons."""
        while self._running:
            self._running.popitem()[1].stop()


def daemon_pool(config: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonPool]:
    """Provide the pool of a test session, and register this module's hooks."""
    config.pluginmanager.register(sys.modules[__name__])
    pool = DaemonPool(lambda: tmp_path_factory.mktemp("motiond"))
    try:
        yield pool
    finally:
        pool.stop()


def daemon_of_test(request: pytest.FixtureRequest, pool: DaemonPool) -> Iterator[MotiondDaemon]:
    """Provide a daemon that runs the test's configuration."""
    with _without_traceback():
        daemon = pool.take(request.node, _chosen_config(request))
    try:
        yield daemon
    finally:
        pool.give_back(daemon)


def robot_of_test(request: pytest.FixtureRequest, daemon: MotiondDaemon) -> Iterator[MotiondRobot]:
    """Provide the robot that the marker or the option names, or the only one."""
    with _without_traceback():
        named = _marked(request).get("robot") or request.config.getini("motiond_robot")
        name = robot_named(named, daemon.robots, daemon.config)
    updates = request.config.getoption("motiond_update_golden")
    robot = MotiondRobot(daemon, name, request.path.parent, updates_golden=updates)
    try:
        yield robot
    finally:
        robot.release_control()


@contextmanager
def _without_traceback() -> Iterator[None]:
    """Turn a failure before the test begins, which is in no code of the user's, into one line."""
    try:
        yield
    except MotiondFailure as failure:
        pytest.fail(str(failure), pytrace=False)


def robot_named(name: str, robots: tuple[str, ...], config: Path) -> str:
    """Return `name` if there is such a robot, or the only robot if it is empty.

    Raises
    ------
    MotiondFailure
        If there is no such robot, or several to choose from.
    """
    if not name and len(robots) == 1:
        return robots[0]
    if name in robots:
        return name
    which = f"no robot '{name}'" if name else "no robot is named"
    hint = "name one by the marker `motiond(robot=…)` or the option `motiond_robot`"
    raise MotiondFailure(f"{config}: {which}; there are {', '.join(robots)}; {hint}")


def _marked(request: pytest.FixtureRequest) -> dict[str, str]:
    """Return the arguments of the test's markers; the marker nearest to the test wins."""
    arguments: dict[str, str] = {}
    for marker in request.node.iter_markers("motiond"):
        if marker.args or set(marker.kwargs) - {"config", "robot"}:
            what = f"{request.node.nodeid}: its marker cannot be read; motiond knows config and robot"
            raise MotiondFailure(f'{what}; write motiond(config="arm.yaml")')
        arguments = {**marker.kwargs, **arguments}
    return arguments


def _chosen_config(request: pytest.FixtureRequest) -> Path:
    if marked := _marked(request).get("config"):
        return request.path.parent / marked
    configured: str = request.config.getini("motiond_config")
    if configured:
        ini = request.config.inipath
        return (ini.parent if ini else request.config.rootpath) / configured
    problem = f"{request.node.nodeid}: no configuration of motiond is named"
    hint = "name one by the marker `motiond(config=…)` or the option `motiond_config`"
    raise MotiondFailure(f"{problem}; the test needs a robot; {hint}")
