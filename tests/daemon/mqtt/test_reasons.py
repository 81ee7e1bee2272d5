"""Why a broker's certificate is not accepted, by the reason of OpenSSL."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from motiond.client import Broker
from motiond.client.mqtt import reason_of as client_reason_of
from motiond.daemon.config.mqtt import MqttSettings
from motiond.daemon.mqtt.client.reasons import not_connected
from tests.certificates import Authority

if TYPE_CHECKING:
    from pathlib import Path

TODAY = datetime.now(UTC).date()
PAST, RECENT, FUTURE, LATER = (datetime(year, 1, 1, tzinfo=UTC) for year in (2020, 2021, 2090, 2091))


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "authority")


def met(files: tuple[Path, Path], ca: Path, host: str = "localhost") -> ssl.SSLError:
    """Agree on TLS in memory, and return what the client meets."""
    server_context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_context.load_cert_chain(*files)
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


def reason_of(error: ssl.SSLError, **settings: Any) -> str:
    return str(not_connected(error, MqttSettings(broker="mqtts://localhost", **settings), "motiond"))


@pytest.mark.parametrize(
    ("begins", "ends", "host", "reason"),
    [
        (
            FUTURE,
            LATER,
            "localhost",
            (
                f"is not valid yet; set this machine's clock, which is probably behind: it shows {TODAY}; "
                "then it is taken by itself"
            ),
        ),
        (
            PAST,
            RECENT,
            "localhost",
            f"has expired; renew it, or set this machine's clock, which shows {TODAY}",
        ),
        (PAST, FUTURE, "broker", "is for another host; name the host in mqtt.broker as it is there"),
        (PAST, FUTURE, "127.0.0.2", "is for another host; name the host in mqtt.broker as it is there"),
    ],
)
def test_each_certificate_that_is_not_accepted_is_reported_with_what_helps(
    authority: Authority, begins: datetime, ends: datetime, host: str, reason: str
) -> None:
    error = met(authority.issue(begins, ends), authority.certificate, host)
    assert reason_of(error, ca_file=authority.certificate) == f"the broker's certificate {reason}"
    of_client = client_reason_of(error, Broker("mqtts://localhost", ca_file=authority.certificate))
    assert of_client == f"the broker's certificate {reason}".replace("mqtt.broker", "the URL")


def test_where_an_authority_is_named_it_is_named_as_another_one(authority: Authority, tmp_path: Path) -> None:
    other = Authority(tmp_path / "other")
    error = met(authority.issue(PAST, FUTURE), other.certificate)
    line = reason_of(error, ca_file=other.certificate)
    assert line.startswith("the broker's certificate is not trusted (")
    assert line.endswith("); mqtt.ca_file holds another authority's; name the one that has signed it")
    assert reason_of(error).endswith("); name the certificate of its authority as mqtt.ca_file")
    of_client = client_reason_of(error, Broker("mqtts://localhost"))
    assert of_client.endswith("); name the certificate of its authority as ca_file")


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (23, "is revoked; let the server show another"),
        (26, "is not made for this (words); issue one for a server"),
        (66, "is too weak for this system (words); renew it with a stronger key"),
        (68, "is too weak for this system (words); renew it with a stronger key"),
        (85, "is not accepted (words); issue it again"),
    ],
)
def test_rarer_reasons_do_not_ask_for_an_authority(code: int, reason: str) -> None:
    error = ssl.SSLCertVerificationError(1, "words")
    error.verify_code, error.verify_message = code, "words"
    assert reason_of(error) == f"the broker's certificate {reason}"
