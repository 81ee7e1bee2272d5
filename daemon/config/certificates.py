"""From when until when certificates are valid, and which of them end soon.

Python's `ssl` reads that of an authority's or a peer's certificate, but of no other file.
"""

from __future__ import annotations

import logging
import re
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Literal

from motiond.formats.io import open_regular

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

log = logging.getLogger(__name__)

SOON = timedelta(days=21)
PEM = re.compile(r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)
MOST_BYTES = 4_000_000
UTC_TIME = 0x17
VALIDITY = re.compile(rb"\x30[\x1e-\x22]" + 2 * rb"(\x17\x0d\d{12}Z|\x18\x0f\d{14}Z)")
"""Two times in a sequence, in the forms of RFC 5280 (4.1.2.5); nothing before it in a certificate is such."""

Kind = Literal["", "soon", "expired", "not yet"]


class NoCertificate(Exception):
    """It cannot be read, or is no certificate."""


@dataclass(frozen=True, slots=True)
class Validity:
    """When a certificate is valid, in UTC."""

    begins: datetime
    ends: datetime

    def kind(self, now: datetime) -> Kind:
        """Return what is to be said of it now; '' where nothing is."""
        if now < self.begins:
            return "not yet"
        if now >= self.ends:
            return "expired"
        return "soon" if self.ends - now <= SOON else ""

    def found(self, now: datetime) -> str:
        """Return it in words."""
        days = (self.ends - now).days
        return {
            "": f"valid until {self.ends:%Y-%m-%d}",
            "soon": f"expires in {days} day{'' if days == 1 else 's'}, on {self.ends:%Y-%m-%d}",
            "expired": f"has expired on {self.ends:%Y-%m-%d}",
            "not yet": f"is not valid before {self.begins:%Y-%m-%d}",
        }[self.kind(now)]

    def hint(self, now: datetime) -> str | None:
        """Return what helps; None where nothing has to."""
        clock = f"set this machine's clock, if {now:%Y-%m-%d} is wrong"
        return {
            "": None,
            "soon": "renew it",
            "expired": f"renew it, or {clock}",
            "not yet": f"{clock}; else issue it again",
        }[self.kind(now)]


def of_chain(file: Path) -> Validity:
    """Return when a certificate is valid together with those that it is sent with. Raises NoCertificate."""
    chain = list(_validities(file))
    return Validity(max(one.begins for one in chain), min(one.ends for one in chain))


def of_authorities(file: Path) -> Validity:
    """Return when any of a file's authorities is valid: bundles hold old ones too. Raises NoCertificate."""
    bundle = list(_validities(file))
    return Validity(min(one.begins for one in bundle), max(one.ends for one in bundle))


def _validities(file: Path) -> Iterator[Validity]:
    try:
        with open_regular(file) as opened:
            text = opened.read(MOST_BYTES).decode("ascii", "replace")
    except OSError as error:
        raise NoCertificate((error.strerror or str(error)).lower()) from error
    certificates = PEM.findall(text)
    if not certificates:
        raise NoCertificate("it holds no certificate")
    for one in certificates:
        try:
            yield of_der(ssl.PEM_cert_to_DER_cert(one))
        except ValueError as error:
            raise NoCertificate("it holds no certificate") from error


def of_der(certificate: bytes) -> Validity:
    """Return when a certificate in DER is valid. Raises NoCertificate."""
    found = VALIDITY.search(certificate)
    try:
        if found is not None:
            return Validity(*map(_time, found.groups()))
    except ValueError:  # no month is the thirteenth
        pass
    raise NoCertificate("it is no certificate")


def _time(der: bytes) -> datetime:
    """Read a time; years of two digits are those from 1950 to 2049 (RFC 5280, 4.1.2.5.1)."""
    text = der[2:].decode("ascii")
    if der[0] == UTC_TIME:
        text = ("19" if text >= "50" else "20") + text
    return datetime.strptime(text, "%Y%m%d%H%M%SZ").replace(tzinfo=UTC)


class CertificateLog:
    """Names certificates that end soon, have ended or are not valid yet, each once until that changes."""

    def __init__(self) -> None:
        self._logged: dict[str, Kind] = {}

    def report(self, name: str, validity: Validity) -> None:
        """Log what is to be said of a certificate, if it is new."""
        now = datetime.now(UTC)
        kind = validity.kind(now)
        if kind and kind != self._logged.get(name, ""):
            log.warning("%s: the certificate %s; %s", name, validity.found(now), validity.hint(now))
        self._logged[name] = kind
