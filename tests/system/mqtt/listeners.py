"""Mosquittos that ask for logins and certificates, and that take WebSockets."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.daemon.conftest import mosquitto_program
from tests.waiting import PATIENCE_S

CA = Path(__file__).parents[2] / "files" / "good" / "broker.crt"
WITH_TLS = (f"certfile {CA}", f"keyfile {CA.with_suffix('.key')}")


def passwords(folder: Path, name: str, password: str) -> tuple[str, str]:
    """Return the lines by which a mosquitto lets in one name alone."""
    mosquitto_program()
    file = folder / "passwords"
    file.touch(0o600)
    command = ["mosquitto_passwd", "-b", str(file), name, password]
    subprocess.run(command, timeout=PATIENCE_S, check=True)
    return "allow_anonymous false", f"password_file {file}"
