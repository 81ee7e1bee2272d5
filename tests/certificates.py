"""Certificates for tests, by openssl: self-signed ones, and an authority that issues them for any time."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

AUTHORITY = """
[ca]
default_ca = c
[c]
database = index.txt
serial = serial
unique_subject = no
new_certs_dir = .
default_md = sha256
policy = p
x509_extensions = e
[p]
commonName = supplied
[e]
subjectAltName = DNS:localhost,IP:127.0.0.1
basicConstraints = CA:FALSE
"""
NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


def openssl(folder: Path, *words: str) -> None:
    subprocess.run(["openssl", *words], check=True, capture_output=True, timeout=PATIENCE_S, cwd=folder)


def self_signed(folder: Path, name: str = "page", days: int = 90) -> tuple[Path, Path]:
    """Make a certificate for this machine, and give it with its key."""
    names = ("-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1")
    files = ("-keyout", f"{name}.key", "-out", f"{name}.pem", "-days", str(days))
    openssl(folder, "req", "-x509", *NEW_KEY, *files, *names)
    return folder / f"{name}.pem", folder / f"{name}.key"


class Authority:
    """An authority, and the certificates that it has issued.

    Attributes
    ----------
    certificate : Path
        Its own.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._folder = folder
        self.certificate = folder / "ca.pem"
        (folder / "ca.cnf").write_text(AUTHORITY)
        (folder / "index.txt").touch()
        (folder / "serial").write_text("01")
        openssl(
            folder,
            "req",
            "-x509",
            *NEW_KEY,
            "-keyout",
            "ca.key",
            "-out",
            "ca.pem",
            "-days",
            "99",
            "-subj",
            "/CN=ca",
        )

    def issue(self, begins: datetime, ends: datetime, name: str = "broker") -> tuple[Path, Path]:
        """Issue a certificate for this machine, and give it with its key."""
        openssl(
            self._folder,
            "req",
            *NEW_KEY,
            "-keyout",
            f"{name}.key",
            "-out",
            "new.csr",
            "-subj",
            "/CN=localhost",
        )
        by = ("-batch", "-config", "ca.cnf", "-cert", "ca.pem", "-keyfile", "ca.key", "-notext")
        valid = ("-startdate", f"{begins:%Y%m%d%H%M%SZ}", "-enddate", f"{ends:%Y%m%d%H%M%SZ}")
        openssl(self._folder, "ca", *by, *valid, "-in", "new.csr", "-out", f"{name}.pem")
        return self._folder / f"{name}.pem", self._folder / f"{name}.key"
