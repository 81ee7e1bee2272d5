"""A shell of somebody who follows a page: its lines run in order, in a folder and a network apart."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import yaml

from tests.docs.blocks import CHECKOUT, STAYS, without_comment
from tests.waiting import PATIENCE_S, eventually, output_until

if TYPE_CHECKING:
    from types import TracebackType

APART = Path(__file__).with_name("apart.py")
NAMESPACES = ("--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
HOSTS = "127.0.0.1 localhost broker.local robot.local\n"
# Stands in for mosquitto_pub where that sends a request: it hears the answer as well, and fails with it.
ASK = r"""#!/bin/bash
for word; do
    [[ $word == */request/* ]] && answer=${word/request/response}
done
[ -v answer ] || exec REAL "$@"
told=$(mosquitto_rr -V 311 -W 60 -e "$answer" "$@")
echo "$told" >&2
[[ $told == *'"status":"ok"'* ]]
"""
CURL = "silent\nshow-error\n"
# What lets robots of a page play on where other tests keep the machine busy; what a page sets itself stays.
PATIENT: dict[str, Any] = {
    "on_late": "stretch",
    "max_lateness_s": 10,
    "stream_timeout_s": 30,
    "daemon_timeout_s": 30,
}
PATIENT_DRIVER: dict[str, dict[str, Any]] = {
    "sim": {"command_lifetime_s": None},
    "dynamixel": {"answer_timeout_s": 0.5, "command_lifetime_s": 2.54},
}
NUMBER = r"\d+(?:[.,:]\d+)*(?:e[+-]?\d+)?"
TERMINAL = re.compile(r"/dev/pts/\d+")


@dataclass(frozen=True, slots=True)
class Ran:
    """What came of a command: its exit code, and all that it wrote; of one that stays, up to now."""

    code: int
    output: str


@dataclass(frozen=True, slots=True)
class _Job:
    """A command that stays."""

    line: str
    output: Path
    process: str


@cache
def refusal() -> str | None:
    """Return why this machine grants no namespaces, or None if it does."""
    command = ["unshare", *_as_whom(), *NAMESPACES, "true"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return "unshare is not installed"
    return f"no namespaces here: {done.stderr.strip()}" if done.returncode else None


def _as_whom() -> list[str]:
    return [] if os.geteuid() == 0 else ["--map-root-user"]


def lines_of(text: str) -> list[str]:
    """Return the lines of an output as they are seen: without blanks at their ends, and empty ones around."""
    return [line.rstrip() for line in text.strip("\n ").splitlines()]


def told_as_shown(shown: str, told: str, *, roughly: bool) -> bool:
    """Whether a command wrote what the page shows: the same, or but for numbers and the room they take."""
    if not roughly:
        return lines_of(told) == lines_of(shown)
    words = (
        r"\s+".join(re.sub(NUMBER, lambda _: NUMBER, re.escape(word)) for word in line.split())
        for line in re.sub("─+", "─", shown).splitlines()
    )
    pattern = "\n".join(rf"\s*{line}\s*" for line in words)
    return re.fullmatch(pattern, re.sub("─+", "─", told).rstrip("\n")) is not None


def patient(text: str) -> str:
    """Return a configuration whose robots bear a machine that is busy with other tests."""
    settings = yaml.safe_load(text)
    settings["mqtt"] = {"stop_when_lost_s": 30, **(settings.get("mqtt") or {})}
    for name, robot in settings["robots"].items():
        driver = robot["driver"]
        patience = PATIENT_DRIVER.get(driver["type"], {})
        settings["robots"][name] = {**PATIENT, **robot, "driver": {**patience, **driver}}
    return yaml.safe_dump(settings, sort_keys=False)


def patient_demo(text: str) -> str:
    """Return the example with patience, line by line as it was: pages show lines of it, and edit them."""
    for key, value in PATIENT.items():
        text, count = re.subn(rf"^( +)# {key}: \w+", rf"\1{key}: {value}", text, flags=re.MULTILINE)
        assert count == 1, key
    return text.replace("driver: {type: sim} ", "driver: {type: sim, command_lifetime_s: null} ")


class Shell:
    """A bash, in a folder that has all that a checkout has beside what lines write into it.

    Parameters
    ----------
    folder : Path
        An empty one, for the shell's home, its working folder and what is written.
    """

    def __init__(self, folder: Path) -> None:
        self._home, self._here = folder / "home", folder / "here"
        self._outputs = folder / "outputs"
        self._jobs: list[_Job] = []
        self._renamed: dict[str, str] = {}
        self._count = 0
        for made in (self._home, self._here, self._outputs):
            made.mkdir()
        for entry in CHECKOUT.iterdir():
            if entry.name not in {".venv", ".git"}:
                (self._here / entry.name).symlink_to(entry)
        self._lay_environment(self._here / ".venv")
        self._programs = folder / "programs"
        self._programs.mkdir()
        ask = self._programs / "mosquitto_pub"
        ask.write_text(ASK.replace("REAL", shutil.which("mosquitto_pub") or ""))
        ask.chmod(0o755)
        (self._home / ".curlrc").write_text(CURL)
        self._hosts, self._demo = folder / "hosts", folder / "demo.yaml"
        self._hosts.write_text(HOSTS)
        self._demo.write_text(patient_demo((CHECKOUT / "config" / "demo.yaml").read_text()))

    @staticmethod
    def _lay_environment(folder: Path) -> None:
        """Have the environment that runs the tests stand where `make` would put it."""
        folder.mkdir()
        for entry in Path(sys.prefix).iterdir():
            (folder / entry.name).symlink_to(entry)
        (folder / ".ready").unlink(missing_ok=True)
        (folder / ".ready").touch()

    def __enter__(self) -> Self:
        self._codes, write = os.pipe()
        command = ["unshare", *_as_whom(), *NAMESPACES, sys.executable, "-I", str(APART)]
        self._bash = subprocess.Popen(
            [*command, *map(str, (CHECKOUT, self._hosts, self._demo)), "bash", "--norc"],
            stdin=subprocess.PIPE,
            cwd=self._here,
            env=self._environment(),
            pass_fds=[write],
            text=True,
        )
        os.close(write)
        self._write(f"set -m; exec 9>&{write}")
        return self

    def _environment(self) -> dict[str, str]:
        path = os.pathsep.join(
            (str(self._programs), str(Path(sys.executable).parent), os.environ["PATH"], "/usr/sbin")
        )
        return {"HOME": str(self._home), "PATH": path, "LANG": "C.UTF-8", "USER": "ana"}

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bash.kill()  # unshare, which takes all processes of the namespace along
        assert self._bash.stdin is not None
        self._bash.stdin.close()
        self._bash.wait(PATIENCE_S)
        os.close(self._codes)

    def write(self, name: str, text: str) -> None:
        """Write a file of the working folder, as a reader does with an editor; robots get more patience."""
        text = self._as_here(text)
        if name.endswith(".yaml") and "robots:" in text:
            text = patient(text)
        (Path(self._ask("pwd").output.strip()) / name).write_text(text, encoding="utf-8")

    def run(self, line: str, shown: str = "") -> Ran:
        """Run a line to its end; one that stays, until it is ready or has written what the page shows."""
        line = self._as_here(line)
        command = without_comment(line).rstrip("& ")
        awaited = [text for pattern, text in STAYS.items() if re.match(pattern, command)]
        if not awaited:
            return self._ask(line)
        job = self._start(command)
        texts = self._awaited_of(command) if awaited == ["online"] else awaited
        eventually(
            f"{command}: {', '.join(texts)}",
            lambda: job.output.read_text() + self._ended(job),
            lambda said: all(text in said for text in texts),
        )
        output = job.output.read_text()
        for told, is_ in zip(TERMINAL.findall(shown), TERMINAL.findall(output), strict=False):
            self._renamed[told] = is_
        return Ran(0, output)

    def _awaited_of(self, command: str) -> list[str]:
        """Return what a daemon logs once its robots, its broker and its page are there."""
        folder = Path(self._ask("pwd").output.strip())
        config = yaml.safe_load((folder / command.split(" -c ")[1].split(maxsplit=1)[0]).read_text())
        page = [" at http"] if config.get("http", {}) is not None else []  # there, or that there is none
        return [*(f"{name}: online" for name in config["robots"]), ": connected", *page]

    def end(self) -> dict[str, int]:
        """End what stays, the last first, and return the exit code of each by its line."""
        codes = {}
        for job in reversed(self._jobs):
            codes[job.line] = self._ask(f"kill -TERM -- -{job.process} 2>/dev/null; wait {job.process}").code
        return codes

    def _start(self, line: str) -> _Job:
        output = self._next_output()
        self._write(f"{line} > {output} 2>&1 < /dev/null & echo $! >&9")
        job = _Job(line, output, self._answer().strip())
        self._jobs.append(job)
        return job

    def _ended(self, job: _Job) -> str:
        """Return what tells that a job has ended, or nothing."""
        code = self._ask(f"kill -0 {job.process}").code
        assert code == 0, f"{job.line}: has ended; it wrote:\n{job.output.read_text()}"
        return ""

    def _ask(self, line: str) -> Ran:
        output = self._next_output()
        self._write(f"{{ {line}\n}} > {output} 2>&1 < /dev/null; echo $? >&9")
        return Ran(int(self._answer()), output.read_text(encoding="utf-8"))

    def _as_here(self, text: str) -> str:
        for told, is_ in self._renamed.items():
            text = text.replace(told, is_)
        return text

    def _next_output(self) -> Path:
        self._count += 1
        output = self._outputs / str(self._count)
        output.touch()
        return output

    def _write(self, line: str) -> None:
        assert self._bash.stdin is not None
        self._bash.stdin.write(line + "\n")
        self._bash.stdin.flush()

    def _answer(self) -> str:
        return output_until(self._codes, lambda text: text.endswith("\n"), "end of the line")
