"""Checks the files that TLS needs before anything starts: that they are there and hold what they should."""

from __future__ import annotations

import os
import ssl
from typing import TYPE_CHECKING

from .section import SettingError

if TYPE_CHECKING:
    from pathlib import Path


def check_tls_files(ca_file: Path | None, cert_file: Path | None, key_file: Path | None) -> None:
    """Refuse files with which no connection can ever be made; None is not given.

    Raises SettingError with the option, what is wrong with its file, and how to fix it.
    """
    if (cert_file is None) != (key_file is None):
        given, other = ("cert_file", "key_file") if cert_file else ("key_file", "cert_file")
        raise SettingError(given, f"'{given}' stands alone; a certificate needs its key; add {other}")
    for option, file in (("ca_file", ca_file), ("cert_file", cert_file), ("key_file", key_file)):
        if file is not None:
            _check_readable(option, file)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if ca_file is not None:
        try:
            context.load_verify_locations(ca_file)
        except (ssl.SSLError, OSError) as error:
            what = f"ca_file {ca_file} holds no certificate"
            raise SettingError("ca_file", f"{what}; it must be PEM; name the right file") from error
    if cert_file is not None and key_file is not None:
        _check_pair(context, cert_file, key_file)


def _check_readable(option: str, file: Path) -> None:
    """Refuse what is no file that can be read; a pipe would hold up the daemon."""
    try:
        if not file.is_file():
            reason = "no such file" if not file.exists() else "it is no file"
            raise SettingError(option, f"{option} {file} cannot be read; {reason}; correct the path")
        with file.open("rb"):
            pass
    except OSError as error:
        reason = os.strerror(error.errno or 0).lower()
        hint = "let motiond's user read it"
        raise SettingError(option, f"{option} {file} cannot be read; {reason}; {hint}") from error


def _check_pair(context: ssl.SSLContext, cert_file: Path, key_file: Path) -> None:
    """Refuse a certificate without its key; a passphrase is not asked for, as nobody could answer."""
    asked: list[bool] = []

    def passphrase() -> str:
        asked.append(True)
        return ""

    try:
        context.load_cert_chain(cert_file, key_file, passphrase)
    except (ssl.SSLError, OSError) as error:
        if asked:
            problem = f"key_file {key_file} is encrypted"
            hint = "store it without a passphrase, and keep it from other users"
            raise SettingError("key_file", f"{problem}; motiond asks for no passphrase; {hint}") from error
        problem = f"cert_file {cert_file} and key_file {key_file} are no pair"
        reason = "one is no PEM, or the key is another certificate's"
        hint = "name a certificate and its own key"
        raise SettingError("cert_file", f"{problem}; {reason}; {hint}") from error
