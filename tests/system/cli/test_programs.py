"""Real programs beside a real daemon: what the programs of ring 1 stand in for, and what they load."""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
from contextlib import ExitStack, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from motiond.client import NoAnswer
from motiond.daemon.cli.monitor.screen import KEYS
from motiond.daemon.config.client import load_mqtt_settings
from tests.daemon.asking import ask
from tests.daemon.cli import contract
from tests.daemon.cli.program import Ended
from tests.daemon.programs import MOTIOND, all_of, background, motiond
from tests.daemon.rig import Rig
from tests.ports import free_port
from tests.waiting import PATIENCE_S, eventually, lines_until, output_until, started, still_running

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.daemon.cli.contract import Step

DEMO = Path(__file__).parents[3] / "config" / "demo.yaml"
STOPPED = "arm has stopped softly; its process and the broker have ended"
LEAVES_SCREEN, SHOWS_CURSOR, HIDES_CURSOR = "\x1b[?1049l", "\x1b[?25h", "\x1b[?25l"


class Running:
    """A program of its own."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._read: list[str] = []

    def send_signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    async def writes(self, text: str) -> None:
        self._read += await asyncio.to_thread(lines_until, self._process.stderr, text)

    async def end(self) -> Ended:
        out, err = await asyncio.to_thread(self._process.communicate, timeout=PATIENCE_S)
        return Ended(self._process.returncode, out, "".join(f"{line}\n" for line in self._read) + err)


class Daemon:
    """A daemon of its own, and programs beside it."""

    def __init__(self, config: Path) -> None:
        self.config = config
        self.mqtt = load_mqtt_settings(config)
        self.started = ExitStack()

    @property
    def broker(self) -> str:
        return f"mqtt://{self.mqtt.listen}"

    async def cli(self, *words: object) -> Ended:
        done = await asyncio.to_thread(motiond, *words, "-c", self.config)
        return Ended(done.returncode, done.stdout, done.stderr)

    def start(self, *words: object) -> Running:
        return Running(self.started.enter_context(background(*words, "-c", self.config)))

    async def status(self) -> dict[str, Any]:
        with suppress(NoAnswer):
            return await ask(self.mqtt, "arm", "status")
        return {"state": "not there", "goal_id": None}

    async def until(self, state: str) -> dict[str, Any]:
        def holds(told: dict[str, Any]) -> bool:
            return told["state"] == state and (state != "idle" or told["goal_id"] is None)

        async with asyncio.timeout(PATIENCE_S):
            while not holds(told := await self.status()):  # noqa: ASYNC110 - it is asked
                await asyncio.sleep(0.02)
        return told


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    rig = Rig(tmp_path_factory.mktemp("daemon"))
    del rig.driver["trace"], rig.driver["plant"]
    rig.daemon = {"mqtt": {"listen": f"127.0.0.1:{free_port()}"}}
    with background("run", "-c", rig.config) as process:
        lines_until(process.stderr, "arm: online")
        daemon = Daemon(rig.config)
        asyncio.run(daemon.until("idle"))
        yield daemon


@pytest.mark.parametrize("holds", contract.STEPS, ids=lambda step: step.__name__)
async def test_real_programs_behave_as_those_in_one_process(daemon: Daemon, holds: Step) -> None:
    with daemon.started:
        await holds(daemon)


def test_a_robot_whose_commander_is_killed_stops_softly(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.daemon = {"mqtt": {"listen": f"127.0.0.1:{free_port()}"}}
    rig.robot["lease"] = {"required": True, "ttl_s": 3.0}
    with background("run", "-c", rig.config) as process:
        lines_until(process.stderr, "arm: online")
        daemon = Daemon(rig.config)
        asyncio.run(daemon.until("idle"))
        with background("play", "arm", "long", "--loop", "100", "-c", rig.config) as play:
            asyncio.run(daemon.until("playing"))
            play.kill()
        asyncio.run(daemon.until("idle"))
        assert motiond("control", "arm", "-c", rig.config).stdout == "arm: nobody is in control\n"


def test_a_follow_ends_softly_once_its_terminal_is_closed(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.daemon = {"mqtt": {"listen": f"127.0.0.1:{free_port()}"}}
    del rig.driver["trace"], rig.driver["plant"]
    rig.others = {"other": rig.robot}
    with background("run", "-c", rig.config) as process:
        lines_until(process.stderr, "other: online")
        daemon = Daemon(rig.config)
        asyncio.run(daemon.until("idle"))
        while has_stalled(shown_until_closed(daemon, "follow", "arm", "--leader", "other")):
            asyncio.run(daemon.until("idle"))
        asyncio.run(daemon.until("idle"))


def shown_until_closed(daemon: Daemon, *words: str) -> str:
    """Close the terminal of a program once its robot follows; return what was shown by then."""
    master, slave = pty.openpty()
    with started(
        (MOTIOND, *words, "-c", daemon.config),
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "200", "PYTHONUTF8": "1"},
        preexec_fn=take_terminal,
    ) as program:
        os.close(slave)
        shown = output_until(
            master,
            lambda shown: "goes with other" in shown or has_stalled(shown),
            "how far behind it is",
        )
        os.close(master)
        program.wait(PATIENCE_S)
    return shown


PROGRAM = """
import asyncio, sys, motiond.client

async def main():
    async with motiond.client.connect(config=sys.argv[1]) as daemon:
        async with daemon.robot("arm").follow(leader="other"):
            await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.mark.parametrize("way", ["socket", "broker", "python"])
def test_a_follow_ends_softly_once_the_program_that_wants_it_is_killed(tmp_path: Path, way: str) -> None:
    rig = Rig(tmp_path)
    rig.daemon = {"mqtt": {"listen": f"127.0.0.1:{free_port()}"}}
    del rig.driver["trace"], rig.driver["plant"]
    rig.others = {"other": rig.robot}
    with background("run", "-c", rig.config) as process:
        lines_until(process.stderr, "other: online")
        daemon = Daemon(rig.config)
        asyncio.run(daemon.until("idle"))
        where = ("--broker", daemon.broker) if way == "broker" else ("-c", rig.config)
        command = (MOTIOND, "follow", "arm", "--leader", "other", *where)
        program = (sys.executable, "-c", PROGRAM, rig.config)
        code, message = killed(daemon, program if way == "python" else command)
        while has_stalled(message):
            code, message = killed(daemon, program if way == "python" else command)
        assert code == "CANCELED"
        assert message == "no follow/keep_alive came for 2 s; whoever began this may have gone"


def has_stalled(message: str) -> bool:
    """Whether a follow has ended as the machine left the daemon no time; then it is begun once more."""
    return "no target came for" in message or "nothing was measured for" in message


def killed(daemon: Daemon, program: tuple[object, ...]) -> tuple[str, str]:
    """Kill a program while its robot follows; return the code and the message of the robot's result."""
    before = newest(daemon)
    with started(program) as follow:
        eventually(
            "it follows, or has ended",
            lambda: (asyncio.run(daemon.status())["state"], newest(daemon), follow.poll()),
            lambda seen: seen[0] == "following" or seen[1] != before or seen[2] is not None,
        )
        follow.kill()
        follow.wait(PATIENCE_S)
    asyncio.run(daemon.until("idle"))
    goal_id, code, message = newest(daemon)
    assert goal_id != before[0]
    return code, message


def newest(daemon: Daemon) -> tuple[str, str, str]:
    results = asyncio.run(ask(daemon.mqtt, "arm", "history", timeout_s=PATIENCE_S))["results"]
    result = max(results, key=lambda result: result["ended_utc"], default=None)
    return (result["goal_id"], result["code"], result["message"]) if result else ("", "", "")


@contextmanager
def monitor_of(daemon: Daemon) -> Iterator[tuple[subprocess.Popen[str], int, int]]:
    """Run `motiond monitor` on a terminal of its own; yield both of the terminal's ends, too."""
    master, slave = pty.openpty()
    try:
        resize(slave, 100)
        with started(
            (MOTIOND, "monitor", "arm", "-c", daemon.config),
            stdin=slave,
            stdout=slave,
            stderr=subprocess.PIPE,
            text=True,
            env={name: value for name, value in os.environ.items() if name not in {"COLUMNS", "LINES"}}
            | {"TERM": "xterm-256color", "PYTHONUTF8": "1"},
            preexec_fn=take_terminal,
        ) as process:
            output_until(master, lambda shown: "arm: idle" in shown, "the robot")
            yield process, master, slave
    finally:
        for descriptor in (master, slave):
            with suppress(OSError):  # it has hung up
                os.close(descriptor)


def resize(terminal: int, columns: int) -> None:
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))


def take_terminal() -> None:
    """Let Ctrl-C, another size and the terminal's end reach the program, as a shell's terminal does."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def test_the_monitor_leaves_its_terminal_as_it_was(daemon: Daemon) -> None:
    with monitor_of(daemon) as (process, master, slave):
        raw = termios.tcgetattr(slave)
        resize(slave, len(KEYS[0]) - 1)
        output_until(master, lambda shown: KEYS[1] in shown, "the keys in short")
        os.write(master, b"s")
        output_until(master, lambda shown: "arm: stop accepted; nothing plays" in shown, "the answer")
        os.write(master, b"q")
        sent = output_until(master, lambda shown: LEAVES_SCREEN in shown, "end of its screen")
        assert process.wait(PATIENCE_S) == 0
        assert sent.rfind(SHOWS_CURSOR) > sent.rfind(HIDES_CURSOR)
        assert not raw[3] & termios.ICANON
        assert termios.tcgetattr(slave)[3] & termios.ICANON


def test_the_monitor_ends_with_its_terminal(daemon: Daemon) -> None:
    with monitor_of(daemon) as (process, master, slave):
        os.close(slave)
        os.close(master)
        assert process.wait(PATIENCE_S) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""


def kind_of(url: str) -> tuple[int, str] | None:
    with suppress(URLError), urlopen(url, timeout=PATIENCE_S) as page:  # noqa: S310 - http alone
        return page.status, page.headers.get_content_type()
    return None


def test_the_demonstration_has_a_page_and_leaves_no_process_behind() -> None:
    with background("demo") as demo:
        first, *_ = lines_until(demo.stdout, "Ctrl-C")
        lines_until(demo.stdout, "playing")
        url = first.removeprefix("See it: ")
        assert eventually("the page is there", lambda: kind_of(url), bool) == (200, "text/html")
        started = all_of(demo)
        demo.send_signal(signal.SIGINT)
        out, err = demo.communicate(timeout=PATIENCE_S)
    assert (demo.returncode, out.splitlines()[-1], "Traceback" in err) == (0, STOPPED, False)
    assert len(started) >= 2
    assert still_running(started) == []


def test_a_servo_that_answers_is_found_and_a_port_that_is_driven_is_left_alone(tmp_path: Path) -> None:
    emulate = ("emulate", "dynamixel", "--pty", "--id", "1", "--model", "XL430-W250")
    asked = ("--yes", "--actuator", "elbow=1", "--broker", "embedded", "--http", "none")
    with background(*emulate) as emulator:
        port = lines_until(emulator.stdout, "/dev/")[0].strip()
        found = motiond("init", tmp_path, "--port", port, *asked)
        assert found.returncode == 0
        assert f"looking for servos on {port}\nfound servos: 1\n" in found.stdout
        serial = pytest.importorskip("serial")
        with serial.Serial(port, exclusive=True):
            left = motiond("init", tmp_path, "--force", "--port", port, *asked)
    assert (left.returncode, f"{port}: cannot be opened; " in left.stdout) == (2, True)


def test_an_unforeseen_error_is_a_plain_traceback_for_the_journal() -> None:
    unforeseen = (
        "from motiond.daemon.config import settings; settings.load_settings = lambda _: 1 // 0; "
        "from motiond.daemon.cli.main import main; main(['run', '-c', 'arm.yaml'])"
    )
    command = [sys.executable, "-c", unforeseen]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    lines = ended.stderr.splitlines()
    assert (ended.returncode, lines[0]) == (1, "Traceback (most recent call last):")
    assert lines[-1] == "ZeroDivisionError: integer division or modulo by zero"


# -- what a subcommand loads --------------------------------------------------------------------------------

PLANNER = {"motiond.daemon.planning", "ruckig"}
MQTT = {"aiomqtt", "paho", "motiond.daemon.mqtt"}
NAMES_MODULES = """
import sys
from motiond.daemon.cli.main import main

try:
    main(sys.argv[1:])
finally:
    print("modules", *sys.modules)
"""


class Loaded(NamedTuple):
    """How a run of motiond ended: its exit code, what it said, and what was loaded then."""

    code: int
    said: str
    modules: frozenset[str]


def loaded(*arguments: object, **options: Any) -> Loaded:
    """Run motiond to its end; packages are named beside the modules that they hold."""
    command = [sys.executable, "-c", NAMES_MODULES, *map(str, arguments)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False, **options)
    out, _, names = run.stdout.rpartition("modules ")
    assert names, run.stderr
    return Loaded(run.returncode, out + run.stderr, frozenset(names.split()))


def test_what_is_not_to_be_loaded_is_there() -> None:
    named = PLANNER | MQTT
    assert [name for name in sorted(named) if find_spec(name) is None] == []


@pytest.mark.parametrize("words", [("stop", "arm"), ("status",)])
def test_asking_a_daemon_loads_no_planner(daemon: Daemon, words: tuple[str, ...]) -> None:
    run = loaded(*words, "-c", daemon.config)
    assert (run.code, PLANNER & run.modules) == (0, set()), run.said
    assert "arm" in run.said


def test_checking_motions_loads_no_broker_and_no_mqtt_library() -> None:
    run = loaded("check", "-c", DEMO)
    assert (run.code, MQTT & run.modules) == (0, set()), run.said
    assert "arm: nod: ok" in run.said


def test_a_shell_completes_what_an_option_takes() -> None:
    asks = {"_MOTIOND_COMPLETE": "complete_bash", "COMP_WORDS": "motiond init --driver ", "COMP_CWORD": "3"}
    told = subprocess.run([MOTIOND], env=os.environ | asks, capture_output=True, text=True, check=False)
    assert (told.stdout.split(), told.stderr) == (["sim", "hebi", "dynamixel", "feetech"], "")
