"""How the blocks of README.md are run, as its source has no comments: by the first line of each block."""

from __future__ import annotations

MARKS: dict[str, tuple[tuple[str, str | None, str], ...]] = {
    "python3 -m venv ~/motiond-env": (
        ("not run", None, "it downloads all dependencies; tests/system/package installs the wheel"),
    ),
    "# yaml-language-server: $schema=schema.json": (("base", None, "daemon"),),
    "motiond init": (("not run", None, "it asks; tests/daemon/cli has its tests"),),
    "mqtt: {broker: embedded}                # a broker inside the daemon; or mqtt://HOST for yours": (
        ("file", None, "motiond.yaml"),
    ),
    "motiond check -c motiond.yaml       # plans every motion, moves nothing": (
        (
            "not run",
            "motiond doctor",
            "its exit code depends on the machine; tests/daemon/doctor has its tests",
        ),
        ("run first", None, "kill $(jobs -p); wait"),
    ),
    "motiond monitor arm": (("not run", None, "it needs a terminal and keys; tests/daemon/cli has both"),),
}
