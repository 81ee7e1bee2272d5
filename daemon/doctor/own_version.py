"""Which motiond this is: the package's version, or what git says of the checkout that it runs from."""

from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from subprocess import DEVNULL, PIPE, SubprocessError, run

PATIENCE_S = 10.0


def own_version() -> str:
    """Return the version of what runs.

    In an editable installation the package's version is that of the commit at which it was installed, and
    tells nothing of what is edited since.
    """
    checkout = Path(str(files("motiond"))).parent
    if (checkout / ".git").exists() and (described := _described(checkout)):
        return f"{described} (checkout in {checkout})"
    return version("motiond")


def _described(checkout: Path) -> str:
    """Return the nearest tag, the commits since, and `-dirty` if files are changed; nothing without git."""
    command = ["git", "-C", str(checkout), "describe", "--tags", "--always", "--dirty", "--match", "v[0-9]*"]
    try:
        told = run(command, stdout=PIPE, stderr=DEVNULL, text=True, timeout=PATIENCE_S, check=True)  # noqa: S603
    except (OSError, SubprocessError):
        return ""
    return told.stdout.strip().removeprefix("v")
