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


def test_a_new_shell_completes_subcommands_and_options(shell: Shell) -> None:
    if shell.name == "fish":  # it has a command of its own for what the tab key asks for
        offered = shell.run("complete -C 'motiond emu'; complete -C 'motiond emulate dynamixel --ret'")
        assert [line.split("\t")[0] for line in offered.splitlines()] == ["emulate", "--return-delay"]
    else:
        shell.type(
            ("motiond emu\t", "emulate "),
            ("dyn\t", "dynamixel "),
            ("--ret\t", "--return-delay "),
            ("x\n", "invalid value for '--return-delay'"),
        )


def test_what_is_offered_has_its_line_of_help_with_apostrophes_where_a_shell_shows_it(shell: Shell) -> None:
    told = "Draw each joint's positions"
    if shell.name == "fish":
        assert told in shell.run("complete -C 'motiond plo'")
    else:
        shell.type(("motiond pl\t\t", told if shell.name == "zsh" else "plot"))


def test_what_is_offered_is_what_an_option_takes(shell: Shell) -> None:
    if shell.name == "fish":
        offered = shell.run("complete -C 'motiond convert --interpolation '")
        kinds = sorted(line.split("\t")[0] for line in offered.splitlines())
        assert kinds == ["cubic", "hold", "linear", "smooth"]
    else:
        shell.type(("motiond convert --interpolation cu\t", "cubic "))


def test_a_file_is_completed_where_one_is_named(shell: Shell) -> None:
    (shell.home / "wave_of_a_hand.seq").write_text("type: Nonsense\n")
    if shell.name == "fish":
        offered = shell.run("complete -C 'motiond inspect wave_'")
        assert offered.splitlines() == ["wave_of_a_hand.seq"]
    else:
        shell.type(("motiond inspect wave_\t", "wave_of_a_hand.seq "))
