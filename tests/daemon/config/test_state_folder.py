"""Where the daemon keeps what outlasts it."""

from pathlib import Path

import pytest

from motiond.daemon.config.state_folder import state_folder


@pytest.mark.parametrize(
    ("systemd", "xdg", "folder"),
    [
        ("/var/lib/motiond:/other", "/x", "/var/lib/motiond"),
        ("", "/x", "/x/motiond"),
        ("", "relative", "/home/somebody/.local/state/motiond"),
        ("", "", "/home/somebody/.local/state/motiond"),
    ],
)
def test_the_folder_is_systemd_s_or_the_user_s(
    monkeypatch: pytest.MonkeyPatch, systemd: str, xdg: str, folder: str
) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    monkeypatch.setenv("STATE_DIRECTORY", systemd)
    monkeypatch.setenv("XDG_STATE_HOME", xdg)
    assert state_folder() == Path(folder)


@pytest.mark.usefixtures("nameless")
def test_without_a_home_there_is_no_folder() -> None:
    assert state_folder() is None
