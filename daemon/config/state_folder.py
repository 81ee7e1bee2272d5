"""The folder in which the daemon keeps what outlasts it: results, history, recordings."""

from __future__ import annotations

import os
from pathlib import Path


def state_folder() -> Path | None:
    """Return systemd's StateDirectory, or the user's (XDG) state folder; None where there is no home."""
    if given := os.environ.get("STATE_DIRECTORY", "").partition(":")[0]:
        return Path(given)
    base = Path(os.environ.get("XDG_STATE_HOME", ""))
    if not base.is_absolute():
        try:
            base = Path.home() / ".local" / "state"
        except RuntimeError:  # neither $HOME nor a name of the user, as in a container
            return None
    return base / "motiond"
