"""Certificates for tests (RFC 5280): self-signed ones, and an authority that issues them for any time."""

from __future__ import annotations

import secrets
import ssl
from base64 import encodebytes
from datetime import UTC, datetime, timedelta
from hashlib import sha1, sha256
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

# NIST P-256 (SEC 2, 2.4.2)
FIELD = 0xFFFFFFFF00000001000000000000000000000000FFFFFFFFFFFFFFFFFFFFFFFF
ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
BASE = (
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
)
Point = tuple[int, int]

INTEGER, BITS, OCTETS, OID, UTF8, UTC_TIME, TIME = 0x02, 0x03, 0x04, 0x06, 0x0C, 0x17, 0x18
SEQUENCE, SET = 0x30, 0x31
EC_KEY = bytes.fromhex("2a8648ce3d0201")
P_256 = bytes.fromhex("2a8648ce3d030107")
ECDSA_WITH_SHA256 = bytes.fromhex("2a8648ce3d040302")
COMMON_NAME = bytes.fromhex("550403")
KEY_ID, NAMES, CONSTRAINTS, AUTHORITY_KEY_ID = (
    bytes.fromhex(f"551d{one}") for one in ("0e", "11", "13", "23")
)
YES = bytes.fromhex("0101ff")
THIS_MACHINE = bytes.fromhex("8209") + b"localhost" + bytes.fromhex("87047f000001")
FIRST_OF_GENERALIZED_TIME = 2050


class Key(NamedTuple):
    """A private key and its public point."""

    secret: int
    public: bytes

    @property
    def identifier(self) -> bytes:
        """What certificates name it by."""
        return sha1(self.public).digest()  # noqa: S324 - as RFC 5280 has it

    @property
    def pem(self) -> str:
        """The key for a file (RFC 5915)."""
        parts = der(INTEGER, b"\1"), der(OCTETS, self.secret.to_bytes(32)), der(0xA0, der(OID, P_256))
        text = encodebytes(der(SEQUENCE, *parts)).decode()
        return f"-----BEGIN EC PRIVATE KEY-----\n{text}-----END EC PRIVATE KEY-----\n"

    def sign(self, data: bytes) -> bytes:
        """Sign by ECDSA."""
        number = secrets.randbelow(ORDER - 1) + 1
        r = _times(number, BASE)[0] % ORDER
        digest = int.from_bytes(sha256(data).digest())
        s = pow(number, -1, ORDER) * (digest + r * self.secret) % ORDER
        return der(SEQUENCE, _integer(r), _integer(s))


def new_key() -> Key:
    """Return a key that nobody else has."""
    secret = secrets.randbelow(ORDER - 1) + 1
    x, y = _times(secret, BASE)
    return Key(secret, b"\4" + x.to_bytes(32) + y.to_bytes(32))


def _times(number: int, point: Point) -> Point:
    total: Point | None = None
    while number:
        if number & 1:
            total = point if total is None else _sum(total, point)
        point, number = _sum(point, point), number >> 1
    assert total is not None
    return total


def _sum(one: Point, other: Point) -> Point:
    (x, y), (u, v) = one, other
    slope = (3 * x * x - 3) * pow(2 * y, -1, FIELD) if one == other else (v - y) * pow(u - x, -1, FIELD)
    new_x = (slope * slope - x - u) % FIELD
    return new_x, (slope * (x - new_x) - y) % FIELD


def der(tag: int, *contents: bytes) -> bytes:
    """Encode by the rules of DER."""
    content = b"".join(contents)
    length = len(content)
    if length < 0x80:
        return bytes([tag, length]) + content
    size = (length.bit_length() + 7) // 8
    return bytes([tag, 0x80 | size]) + length.to_bytes(size) + content


def _integer(number: int) -> bytes:
    return der(INTEGER, number.to_bytes(number.bit_length() // 8 + 1))


def _name(text: str) -> bytes:
    return der(SEQUENCE, der(SET, der(SEQUENCE, der(OID, COMMON_NAME), der(UTF8, text.encode()))))


def _time(moment: datetime) -> bytes:
    if moment.year < FIRST_OF_GENERALIZED_TIME:
        return der(UTC_TIME, f"{moment:%y%m%d%H%M%SZ}".encode())
    return der(TIME, f"{moment:%Y%m%d%H%M%SZ}".encode())


def _extension(kind: bytes, value: bytes, critical: bytes = b"") -> bytes:
    return der(SEQUENCE, der(OID, kind), critical, der(OCTETS, value))


def certificate(
    key: Key, begins: datetime, ends: datetime, *, name: str = "localhost", by: tuple[str, Key] | None = None
) -> str:
    """Return a certificate of a key for this machine, in PEM; without an issuer it is one itself."""
    issuer, signing = by or (name, key)
    algorithm = der(SEQUENCE, der(OID, ECDSA_WITH_SHA256))
    extensions = (
        _extension(CONSTRAINTS, der(SEQUENCE, b"" if by else YES), YES),
        _extension(KEY_ID, der(OCTETS, key.identifier)),
        _extension(AUTHORITY_KEY_ID, der(SEQUENCE, der(0x80, signing.identifier))),
        _extension(NAMES, der(SEQUENCE, THIS_MACHINE)),
    )
    content = der(
        SEQUENCE,
        der(0xA0, der(INTEGER, b"\2")),
        _integer(secrets.randbits(64)),
        algorithm,
        _name(issuer),
        der(SEQUENCE, _time(begins), _time(ends)),
        _name(name),
        der(SEQUENCE, der(SEQUENCE, der(OID, EC_KEY), der(OID, P_256)), der(BITS, b"\0", key.public)),
        der(0xA3, der(SEQUENCE, *extensions)),
    )
    return ssl.DER_cert_to_PEM_cert(
        der(SEQUENCE, content, algorithm, der(BITS, b"\0", signing.sign(content)))
    )


def self_signed(folder: Path, name: str = "page", days: int = 90) -> tuple[Path, Path]:
    """Make a certificate for this machine, and give it with its key."""
    key, now = new_key(), datetime.now(UTC)
    return _written(folder, name, certificate(key, now, now + timedelta(days)), key)


def _written(folder: Path, name: str, text: str, key: Key) -> tuple[Path, Path]:
    files = folder / f"{name}.pem", folder / f"{name}.key"
    files[0].write_text(text)
    files[1].write_text(key.pem)
    return files


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
        self._key, now = new_key(), datetime.now(UTC)
        self.certificate = folder / "ca.pem"
        self.certificate.write_text(certificate(self._key, now, now + timedelta(99), name="ca"))

    def issue(self, begins: datetime, ends: datetime, name: str = "broker") -> tuple[Path, Path]:
        """Issue a certificate for this machine, and give it with its key."""
        key = new_key()
        text = certificate(key, begins, ends, by=("ca", self._key))
        return _written(self._folder, name, text, key)
