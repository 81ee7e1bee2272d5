"""Completion as docs/cli.md says: installed from each shell, and asked for with the tab key."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import PATIENCE_S, output_until, started

MOTIOND = Path(sys.executable).with_name("motiond")
PAGE = Path(__file__).parents[3] / "docs" / "cli.md"
PROMPT = "ready> "


class Shell:
    """A shell of somebody who has installed the completion: its program, and the environment of the home."""

    def __init__(self, name: str, home: Path) -> None:
        program = shutil.which(name)
        if program is None:
            pytest.skip(f"{name} is not installed")
        self.name, self.home = name, home
        self.program = program
        path = os.pathsep.join((str(MOTIOND.parent), os.environ["PATH"]))
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("XDG_", "ZDOTDIR"))}
        self.environment = {**kept, "HOME": str(home), "PATH": path, "TERM": "dumb"}

    def run(self, line: str) -> str:
        """Run a line; what comes after it keeps the shell from giving way to the program."""
        done = subprocess.run(
            [self.program, "-c", f"{line}\ntrue"],
            env=self.environment,
            cwd=self.home,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    def type(self, *steps: tuple[str, str]) -> None:
        """Type into an interactive shell; each keys once what the step before waits for is shown."""
        master, slave = pty.openpty()
        try:
            with started(
                [self.program, "-i"],
                env=self.environment,
                cwd=self.home,
                stdin=slave,
                stdout=slave,
                stderr=slave,
                start_new_session=True,
            ) as shell:
                os.close(slave)
                try:
                    _shown(master, PROMPT)
                    for keys, shown in steps:
                        os.write(master, keys.encode())
                        _shown(master, shown)
                finally:
                    shell.kill()
        finally:
            os.close(master)


def _shown(terminal: int, text: str) -> None:
    output_until(terminal, lambda shown: text in shown, f"'{text}'")


@pytest.fixture(scope="module", params=["bash", "zsh", "fish"])
def shell(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Shell:
    home = tmp_path_factory.mktemp(request.param)
    shell = Shell(request.param, home)
    section = PAGE.read_text(encoding="utf-8").split("\n## Completion\n")[1].split("\n## ")[0]
    documented = section.split(f"\nIn {shell.name}:\n")[1].split("```sh\n")[1].split("```\n")[0]
    assert shell.run(documented) == ""
    for settings in (".bashrc", ".zshrc"):
        with (home / settings).open("a") as file:
            file.write(f"PS1='{PROMPT}'\n")
    return shell


KILL_LINE = "\x15"


def test_a_new_shell_completes_subcommands_options_what_they_take_and_files(shell: Shell) -> None:
    (shell.home / "wave_of_a_hand.seq").write_text("type: Nonsense\n")
    help_of_check = "Plan motions without moving"
    if shell.name == "fish":  # it has a command of its own for what the tab key asks for
        lines = (
            "motiond emu", "motiond emulate dynamixel --ret", "motiond chec",
            "motiond convert --interpolation ", "motiond inspect wave_",
        )  # fmt: skip
        offered = shell.run("; ".join(f"complete -C '{line}'" for line in lines)).splitlines()
        words = [line.split("\t")[0] for line in offered]
        assert words[:3] == ["emulate", "--return-delay", "check"]
        assert sorted(words[3:-1]) == ["cubic", "hold", "linear", "smooth"]
        assert words[-1] == "wave_of_a_hand.seq"
        assert help_of_check in offered[2]
        return
    shell.type(
        ("motiond emu\t", "emulate "),
        ("dyn\t", "dynamixel "),
        ("--ret\t", "--return-delay "),
        ("x\n", "invalid value for '--return-delay'"),
        ("motiond c\t\t", help_of_check if shell.name == "zsh" else "check"),
        (f"{KILL_LINE}motiond convert --interpolation cu\t", "cubic "),
        (f"{KILL_LINE}motiond inspect wave_\t", "wave_of_a_hand.seq "),
    )
