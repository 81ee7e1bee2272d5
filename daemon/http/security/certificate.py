"""The certificate of the page, which is read again when its files have changed, without a restart."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import ssl
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

from motiond.formats.io import open_regular

from ...config.certificates import CertificateLog, NoCertificate, of_chain
from ...config.section import SettingError
from ...config.tls_files import check_tls_files

if TYPE_CHECKING:
    from pathlib import Path

log = logging.getLogger(__name__)

MOST_BYTES = 4_000_000
LOOK_S, AGAIN_S = 3600.0, 60.0
"""How often the files are looked at, and how soon again where they could not be used."""


class PageCertificate:
    """The certificate that new connections are served with."""

    def __init__(self, cert_file: Path, key_file: Path) -> None:
        self._files = cert_file, key_file
        self._name = f"http: {cert_file}"
        self._ends = CertificateLog()
        self._logged = ""
        self._digests = self._read_digests()
        self.context = self._load()

    def renew(self) -> bool:
        """Serve the files as they are now; return whether they can be used."""
        digests = self._read_digests()
        if digests != self._digests:
            try:
                self.context = self._load()
            except SettingError as error:
                if str(error) != self._logged:
                    self._logged = str(error)
                    what = "http: the old certificate is served on; %s; it is tried again"
                    log.warning(what, error)
                return False
            self._digests, self._logged = digests, ""
            log.info("%s: renewed; new connections are served with it", self._name)
        self._report()
        return True

    async def look_after(self) -> NoReturn:
        """Renew it by itself, and name it where it ends soon."""
        self._report()
        is_good = True
        while True:
            await asyncio.sleep(LOOK_S if is_good else AGAIN_S)
            is_good = await asyncio.to_thread(self.renew)

    def _report(self) -> None:
        with suppress(NoCertificate):  # it is being written
            self._ends.report(self._name, of_chain(self._files[0]))

    def _read_digests(self) -> tuple[bytes | None, ...]:
        return tuple(_digest(file) for file in self._files)

    def _load(self) -> ssl.SSLContext:
        check_tls_files(None, *self._files)
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        try:
            context.load_cert_chain(*self._files)
        except OSError as error:  # it has changed since it was checked
            raise SettingError("cert_file", f"{self._files[0]} cannot be used; {error}") from error
        return context


def _digest(file: Path) -> bytes | None:
    """Return a digest of a file's content; None where it cannot be read, or is no file."""
    try:
        with open_regular(file) as opened:
            return hashlib.sha256(opened.read(MOST_BYTES)).digest()
    except OSError:
        return None
