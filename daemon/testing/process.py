"""A daemon that runs as a process of its own, with simulated actuators and an embedded broker."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

import yaml

from motiond.client import NoAnswer, sync

from .failures import DaemonEnded, MotiondFailure, NotInTime
from .reports import LOOK_S, SUBJECTS, Reports
from .simulated import command_log, read_settings, simulated, wrong_configuration
from .traces import count_commands, read_command_log

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from .traces import Floats

HOST = "127.0.0.1"
START_S, STOP_S = 60.0, 10.0
DRY_RUN_S = 120.0
PLAYED_AND_FAILED = 1
START_TRIES = 3
REFUSED_TO_LISTEN, REFUSED_CONFIGURATION = 1, 2
"""Exit codes of `motiond run`."""
LAUNCH = (
    "import ctypes, runpy; ctypes.CDLL(None).prctl(1, 15); "
    "runpy.run_module('motiond.daemon.cli', run_name='__main__')"
)
"""PR_SET_PDEATHSIG with SIGTERM: when a test run is killed, its daemons end too."""


class MotiondDaemon:
    """A daemon with simulated actuators, and a broker of its own on the loopback.

    Parameters
    ----------
    config : Path
        The user's configuration.
    scratch : Path
        An empty folder for the copy of the configuration, the daemon's log and the command logs.

    Attributes
    ----------
    host, port, base : str, int, str
        The address and the `mqtt.base` for MQTT clients of the test's own.
    id : str
        The daemon's `id`.
    robots : tuple of str
        The robots of the configuration.
    spent : bool
        Whether the next test needs another daemon.
    client : motiond.client.sync.Daemon
        The connection to its control socket, once it was started.
    reports : Reports
        What its robots have reported there.
    """

    client: sync.Daemon
    reports: Reports

    def __init__(self, config: Path, scratch: Path) -> None:
        self.config = config
        self.host, self.port = HOST, 0
        self.id = f"pytest-{uuid4().hex[:8]}"
        self.spent = False
        self._scratch = scratch
        self._settings = read_settings(config)
        self.base: str = self._settings.get("mqtt", {}).get("base", "motiond")
        self.robots = tuple(self._settings["robots"])
        self._copy = scratch / config.name
        self._connections = ExitStack()
        self._log = scratch / "motiond.log"
        self._log_offset = 0
        self._process: subprocess.Popen[bytes] | None = None

    # -- start and stop -------------------------------------------------------------------------------------

    def start(self) -> Self:
        """Start the daemon and wait until every robot is on line.

        Raises
        ------
        MotiondFailure
            If the configuration is wrong, or the daemon ends or takes too long.
        """
        for tries_left in reversed(range(START_TRIES)):
            try:
                self._launch()
                self._await_robots()
            except DaemonEnded as error:
                self.stop()
                if error.exit_code == REFUSED_CONFIGURATION:
                    raise wrong_configuration(self.config) from error
                if error.exit_code != REFUSED_TO_LISTEN or not tries_left:
                    raise
            except BaseException:
                self.stop()
                raise
            else:
                return self
        raise AssertionError  # the last try returns or raises

    def _launch(self) -> None:
        self.port = _free_port()
        self._write_copy()
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(  # noqa: S603 - our own program, by our own interpreter
                [sys.executable, "-P", "-c", LAUNCH, "run", "-c", str(self._copy)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def _write_copy(self) -> None:
        """Write the configuration that the daemon runs."""
        copy = simulated(self._settings, self.config.absolute().parent, self._scratch)
        mqtt = {"broker": "embedded", "listen": f"{HOST}:{self.port}", **copy["mqtt"]}
        self._copy.write_text(yaml.safe_dump({**copy, "id": self.id, "mqtt": mqtt}, sort_keys=False))

    def _await_robots(self) -> None:
        deadline_s = time.monotonic() + START_S
        while not self._connect() and time.monotonic() < deadline_s:
            self.check()
            time.sleep(LOOK_S)
        left_s = deadline_s - time.monotonic()
        if left_s <= 0.0 or not self.reports.wait(self._is_ready, left_s, self.check):
            raise NotInTime(f"{self.config}: its robots were not on line in {START_S:g} s; look at its log")

    def _connect(self) -> bool:
        """Connect to the control socket; return whether the daemon serves it yet (its broker comes first)."""
        try:
            self.client = self._connections.enter_context(sync.connect(config=self._copy))
        except NoAnswer:
            return False
        stream = self.client.reports(*SUBJECTS, every=True)
        self.reports = self._connections.enter_context(Reports(stream, self.commands))
        self._connections.enter_context(stream)
        return True

    def _is_ready(self) -> bool | None:
        idle = [state for state in self._latest_states() if state["state"] == "idle"]
        return len(idle) == len(self.robots) or None

    def stop(self) -> None:
        """End the daemon and everything it started, by a signal first; may be called any number of times."""
        if self._process is None:
            return
        self._connections.close()
        with suppress(ProcessLookupError):
            os.kill(self._process.pid, signal.SIGTERM)
        deadline_s = time.monotonic() + STOP_S
        while self._exit_code() is None and time.monotonic() < deadline_s:
            time.sleep(LOOK_S)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(STOP_S)
        self._process = None

    def trace_dry_run(self, robot: str, motion: str, options: Sequence[str], target: Path) -> None:
        """Play a motion without waiting, by the same configuration, and write the trace of it.

        Raises MotiondFailure if there is none, with what the program wrote.
        """
        target.parent.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-P", "-m", "motiond.daemon.cli", "play", robot, motion, *options]
        played = subprocess.run(  # noqa: S603 - our own program, by our own interpreter
            [*command, "--dry-run", "--trace", str(target), "-c", str(self._copy)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=DRY_RUN_S,
            check=False,
        )
        if played.returncode not in {0, PLAYED_AND_FAILED}:
            reason = "`motiond play --dry-run` says"
            raise MotiondFailure(f"{target}: no golden trace can be made; {reason}:\n{played.stderr}")

    # -- watching -------------------------------------------------------------------------------------------

    def _exit_code(self) -> int | None:
        """Return the exit code (negative: the signal), or None while the process runs.

        The process is left unreaped, so that its id names no other process group when `stop` kills it.
        """
        if self._process is None:
            return None
        ended = os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if ended is None:
            return None
        return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status

    @property
    def pid(self) -> int | None:
        """The process id; None once the daemon was stopped."""
        return self._process.pid if self._process else None

    @property
    def log(self) -> str:
        """What the daemon has written to its log since the test began."""
        with self._log.open("rb") as log:
            log.seek(self._log_offset)
            return log.read().decode(errors="backslashreplace")

    def check(self) -> None:
        """Raise `DaemonEnded` if the process has ended."""
        code = self._exit_code() if self._process else 0
        if code is None:
            return
        __tracebackhide__ = True
        self.spent = True
        raise DaemonEnded(self.config, code)

    def _latest_states(self) -> list[dict[str, Any]]:
        """Return the latest state of every robot that has reported one."""
        return [state for robot in self.robots for state in self.reports.of(robot, "state")[-1:]]

    # -- serving several tests ------------------------------------------------------------------------------

    def begin_test(self) -> None:
        """Drop the reports and hide the log of earlier tests."""
        self.reports.forget()
        self._log_offset = self._log.stat().st_size

    def usable(self) -> bool:
        """Return whether another test may use the daemon: nothing went wrong, and every robot is idle."""
        states = self._latest_states()
        at_rest = all(state["state"] == "idle" and not state["goal_id"] for state in states)
        return not self.spent and self._exit_code() is None and at_rest

    def commands(self, robot: str) -> int:
        """Return how many commands a robot's driver has received."""
        return count_commands(command_log(self._scratch, robot))

    def setpoints(self, robot: str) -> tuple[Floats, tuple[str, ...]]:
        """Return all commands to a robot's driver, one a row, and the names of its actuators."""
        description = self.reports.of(robot, "description")[-1]
        return read_command_log(command_log(self._scratch, robot)), tuple(description["actuators"])


def _free_port() -> int:
    """Return a free port; another process may take it first, so a start is tried again."""
    with socket.create_server((HOST, 0)) as probe:
        port: int = probe.getsockname()[1]
        return port
