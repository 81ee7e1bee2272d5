"""What `motiond completion` refuses, and what is shown where a subcommand is missing."""

from __future__ import annotations

import pytest

from tests.daemon.programs import run_here


def test_a_shell_that_nobody_has_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    said = (
        "motiond: invalid value for 'shell': 'csh' is not one of 'bash', 'zsh', 'fish'; "
        "see `motiond --help`\n"
    )
    assert run_here(capsys, "completion", "csh") == (2, "", said)


def test_a_missing_shell_is_told_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    said = "motiond: missing argument 'shell'. Choose from: bash, zsh, fish; see `motiond --help`\n"
    assert run_here(capsys, "completion") == (2, "", said)


@pytest.mark.parametrize("words", [(), ("emulate",)])
def test_what_needs_a_subcommand_shows_them_and_no_empty_message(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    code, out, err = run_here(capsys, *words)
    assert (code, err) == (2, "")
    assert "Usage: motiond" in out
