"""Writes what ships, of an environment and of the page, into a folder: `make_bom.py ENVIRONMENT FOLDER`.

- `motiond.cdx.json`, `motiond-page.cdx.json`: bills of materials in CycloneDX, of both
- `licences.txt`: the licence of each package of the environment, in full

Where a licence is missing, or does not let a package be passed on beside motiond, it says which and fails.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

ROOT = Path(__file__).parents[1]
TOOLS = Path(sys.executable).parent

# What may be passed on unchanged beside an Apache-2.0 program, in the words of the packages.
ALLOWED = frozenset(
    {
        *("0BSD", "BSD License", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "Zlib"),
        *("Apache Software License", "Apache-2.0", "EPL-2.0", "ISC License (ISCL)", "MPL-2.0"),
        *("MIT", "MIT License", "PSF-2.0", "Python Software Foundation License"),
    }
)
# Metadata without a licence, where the licence file has one.
TOLD_BY_FILE = {"pysimdjson": "MIT"}
# What pip-licenses says where it has found nothing.
UNKNOWN = "UNKNOWN"


class LicenceError(Exception):
    """Packages that may not be passed on, or not without a text that is missing."""


def licences(packages: Sequence[Mapping[str, str]], texts: Mapping[str, str]) -> str:
    """Return the licences of all packages as one text.

    Parameters
    ----------
    packages : sequence of mapping
        As pip-licenses lists them in JSON.
    texts : mapping of str to str
        The texts of packages that ship without their own.

    Raises
    ------
    LicenceError
        With a line for each package that cannot be shipped as it is.
    """
    problems: list[str] = []
    parts: list[str] = []
    for package in packages:
        name, version = package["Name"], package["Version"]
        licence = TOLD_BY_FILE.get(name, package["License"])
        named = (
            {licence} if licence in ALLOWED else {*re.split(r" AND | OR |; ", re.sub("[()]", "", licence))}
        )
        refused = sorted(named - ALLOWED)
        if refused:
            hint = "leave the package out, or weigh the licence and add it to scripts/make_bom.py"
            problems.append(
                f"{name} {version}: licence {' and '.join(refused)}; it is not weighed yet; {hint}"
            )
        text = texts.get(name, package["LicenseText"])
        if text == UNKNOWN:
            hint = f"add it from its sources as debian/licences/{name}.txt"
            problems.append(f"{name} {version}: no licence text; the package ships without it; {hint}")
        parts.append(f"{name} {version}\n{licence}\n{package['URL']}\n\n{text.strip()}\n")
    if problems:
        raise LicenceError("\n".join(problems))
    return f"\n{'-' * 80}\n\n".join(parts)


def _output(*command: str | Path, folder: Path = ROOT) -> str:
    return subprocess.run(command, cwd=folder, check=True, text=True, stdout=subprocess.PIPE).stdout  # noqa: S603


def write_all(environment: Path, folder: Path) -> Iterator[Path]:
    """Write the bills and the licences of an environment, and yield each file."""
    bill, page, text = (
        folder / name for name in ("motiond.cdx.json", "motiond-page.cdx.json", "licences.txt")
    )
    describe = (
        "environment",
        "--pyproject",
        "pyproject.toml",
        "--output-reproducible",
        "--output-file",
        bill,
    )
    _output(TOOLS / "cyclonedx-py", *describe, environment)
    yield bill
    listing = ("npm", "sbom", "--sbom-format", "cyclonedx", "--package-lock-only", "--omit", "dev")
    page.write_text(_output(*listing, folder=ROOT / "page"), encoding="utf-8")
    yield page
    wanted = ("--with-system", "--with-urls", "--with-license-file", "--no-license-path", "--format", "json")
    packages: list[dict[str, Any]] = json.loads(
        _output(TOOLS / "pip-licenses", "--python", environment / "bin" / "python", *wanted)
    )
    more = {file.stem: file.read_text(encoding="utf-8") for file in (ROOT / "debian/licences").glob("*.txt")}
    text.write_text(licences(packages, more), encoding="utf-8")
    yield text


if __name__ == "__main__":
    try:
        for written in write_all(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()):
            print(written)
    except LicenceError as error:
        sys.exit(str(error))
