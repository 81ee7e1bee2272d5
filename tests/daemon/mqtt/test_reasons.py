"""What is said of a broker's certificate that is not accepted, by what OpenSSL has against it."""

from __future__ import annotations

import ssl
import subprocess
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from motiond.daemon.config.mqtt import MqttSettings
from motiond.daemon.mqtt.reasons import not_connected
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from pathlib import Path

AUTHORITY = """
[ca]
default_ca = c
[c]
database = index.txt
serial = serial
new_certs_dir = .
default_md = sha256
policy = p
x509_extensions = e
[p]
commonName = supplied
[e]
subjectAltName = DNS:localhost
basicConstraints = CA:FALSE
"""
TODAY = datetime.now(UTC).date()
PAST, NOW, FUTURE = "20200101000000Z", "20250101000000Z", "20900101000000Z"


def openssl(folder: Path, *words: str) -> None:
    subprocess.run(["openssl", *words], check=True, capture_output=True, timeout=PATIENCE_S, cwd=folder)


def make_authority(folder: Path) -> Path:
    folder.mkdir()
    (folder / "ca.cnf").write_text(AUTHORITY)
    (folder / "index.txt").touch()
    (folder / "serial").write_text("01")
    new = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    openssl(
        folder, "req", "-x509", *new, "-keyout", "ca.key", "-out", "ca.crt", "-days", "9", "-subj", "/CN=ca"
    )
    openssl(folder, "req", *new, "-keyout", "s.key", "-out", "s.csr", "-subj", "/CN=localhost")
    return folder


def issue(authority: Path, begins: str, ends: str) -> None:
    by = ("-batch", "-config", "ca.cnf", "-cert", "ca.crt", "-keyfile", "ca.key")
    openssl(authority, "ca", *by, "-in", "s.csr", "-out", "s.crt", "-startdate", begins, "-enddate", ends)


@pytest.fixture
def authority(tmp_path: Path) -> Path:
    return make_authority(tmp_path / "authority")


def met(authority: Path, ca: Path, host: str = "localhost") -> ssl.SSLError:
    """Agree on TLS in memory, and return what the client meets."""
    server_context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_context.load_cert_chain(authority / "s.crt", authority / "s.key")
    client_context = ssl.create_default_context(cafile=str(ca))
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = client_context.wrap_bio(to_client, to_server, server_hostname=host)
    server = server_context.wrap_bio(to_server, to_client, server_side=True)
    for _ in range(10):
        for side in (client, server):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
            except ssl.SSLError as error:
                return error
    raise AssertionError("the certificate was accepted")


def said(error: ssl.SSLError, **settings: Any) -> str:
    return str(not_connected(error, MqttSettings(broker="mqtts://localhost", **settings), "motiond"))


@pytest.mark.parametrize(
    ("begins", "ends", "host", "why"),
    [
        (
            FUTURE,
            "20910101000000Z",
            "localhost",
            (
                f"is not valid yet; set this machine's clock, which is probably behind: it shows {TODAY}; "
                "then it is taken by itself"
            ),
        ),
        (
            PAST,
            "20210101000000Z",
            "localhost",
            f"has expired; renew it, or set this machine's clock, which shows {TODAY}",
        ),
        (NOW, FUTURE, "broker", "is for another host; name the host in mqtt.broker as it is there"),
        (NOW, FUTURE, "127.0.0.1", "is for another host; name the host in mqtt.broker as it is there"),
    ],
)
def test_of_each_certificate_that_is_not_accepted_it_is_said_what_helps(
    authority: Path, begins: str, ends: str, host: str, why: str
) -> None:
    issue(authority, begins, ends)
    error = met(authority, authority / "ca.crt", host)
    assert said(error, ca_file=authority / "ca.crt") == f"the broker's certificate {why}"


def test_where_an_authority_is_named_it_is_said_to_be_another_one(authority: Path, tmp_path: Path) -> None:
    issue(authority, NOW, FUTURE)
    other = make_authority(tmp_path / "other")
    error = met(authority, other / "ca.crt")
    told = said(error, ca_file=other / "ca.crt")
    assert told.startswith("the broker's certificate is not trusted (")
    assert told.endswith("); mqtt.ca_file holds another authority's; name the one that has signed it")
    assert said(error).endswith("); name the certificate of its authority as mqtt.ca_file")


@pytest.mark.parametrize(
    ("code", "why"),
    [
        (23, "is revoked; let the broker show another"),
        (26, "is not made for this (words); issue one for a server"),
        (66, "is too weak for this system (words); renew it with a stronger key"),
        (68, "is too weak for this system (words); renew it with a stronger key"),
        (85, "is not accepted (words); issue it again"),
    ],
)
def test_rarer_reasons_do_not_ask_for_an_authority(code: int, why: str) -> None:
    error = ssl.SSLCertVerificationError(1, "words")
    error.verify_code, error.verify_message = code, "words"
    assert said(error) == f"the broker's certificate {why}"
