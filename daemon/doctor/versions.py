"""What is installed: motiond, Python, and the libraries that motiond needs."""

from __future__ import annotations

import platform
import re
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.resources import files
from pathlib import Path
from subprocess import DEVNULL, PIPE, SubprocessError, run
from typing import TYPE_CHECKING

from .report import Check, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

PATIENCE_S = 10.0
OPTIONAL = ("hebi-py", "pyserial", "matplotlib")


def installed(package: str) -> str | None:
    """Return the version of a package, of motiond what `motiond --version` says; None without the package."""
    try:
        return own_version() if package == "motiond" else version(package)
    except PackageNotFoundError:
        return None


def needed() -> list[str]:
    """Return the packages that motiond cannot do without."""
    stated = [line for line in requires("motiond") or () if "extra ==" not in line]
    return [re.split(r"[^A-Za-z0-9._-]", line, maxsplit=1)[0] for line in stated]


def check_versions(version_of: Callable[[str], str | None] = installed) -> Check:
    """Name what is installed, and what is missing."""
    own = version_of("motiond")
    found = {name: version_of(name) for name in needed()}
    extra = {name: there for name in OPTIONAL if (there := version_of(name))}
    missing = [name for name, there in found.items() if there is None]
    figures: dict[str, float | str | None] = {"motiond": own, "python": platform.python_version()}
    figures |= {**found, **extra}
    there = ", ".join(f"{name} {text}" for name, text in figures.items() if text is not None)
    return Check(
        check="versions",
        verdict=Verdict.FAILURE if missing else Verdict.OK,
        found=f"missing: {', '.join(missing)}; there: {there}" if missing else there,
        means="motiond fails where it needs them" if missing else "name them when you report a defect",
        hint="install motiond again, in the way that it was installed" if missing else None,
        figures=figures,
    )


def own_version() -> str:
    """Return the version of what runs.

    In an editable installation the package's version is that of the commit at which it was installed, and
    does not show what is edited since.
    """
    checkout = Path(str(files("motiond"))).parent
    if (checkout / ".git").exists() and (described := _described(checkout)):
        return f"{described} (checkout in {checkout})"
    return version("motiond")


def _described(checkout: Path) -> str:
    """Return the nearest tag, the commits since, and `-dirty` if files are changed; nothing without git."""
    command = ["git", "-C", str(checkout), "describe", "--tags", "--always", "--dirty", "--match", "v[0-9]*"]
    try:
        described = run(command, stdout=PIPE, stderr=DEVNULL, text=True, timeout=PATIENCE_S, check=True)  # noqa: S603
    except (OSError, SubprocessError):
        return ""
    return described.stdout.strip().removeprefix("v")
