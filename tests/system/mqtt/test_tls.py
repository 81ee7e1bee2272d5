"""TLS and logins at a real mosquitto: what is agreed on, and what is logged of each trouble."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from motiond.daemon.config.mqtt import MqttSettings
from motiond.daemon.mqtt.client import MqttConnection, NotConnected
from tests import ports
from tests.certificates import self_signed
from tests.daemon.conftest import Mosquitto, started_broker
from tests.daemon.mqtt.tries import logged_while_failing
from tests.system.mqtt.listeners import CA, WITH_TLS, passwords

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


async def says_something(settings: MqttSettings) -> None:
    async with MqttConnection(settings) as client:
        await client.publish("motiond/test", b"{}", qos=1)


@pytest.mark.parametrize("protocol", ["5", "3.1.1"])
async def test_over_tls_a_login_is_by_url_or_file_and_what_is_wrong_is_refused(
    free_port: int, tmp_path: Path, protocol: Any
) -> None:
    password = tmp_path / "password"
    password.write_text("s3 cret/\n")
    broker = Mosquitto(free_port, tmp_path, protocol)
    broker.configure(*passwords(tmp_path, "arm", "s3 cret/"), *WITH_TLS)
    right = MqttSettings(
        broker=f"mqtts://arm:s3%20cret%2F@localhost:{free_port}", ca_file=CA, protocol=protocol
    )
    by_file = {"broker": f"mqtts://127.0.0.1:{free_port}", "username": "arm", "password_file": password}
    wrong = {"broker": f"mqtts://arm:wrong@localhost:{free_port}"}
    async with started_broker(broker):
        await says_something(right)
        await says_something(right.model_copy(update=by_file))
        with pytest.raises(NotConnected, match="the broker refuses the login;"):
            await says_something(right.model_copy(update=wrong))
        with pytest.raises(NotConnected, match="the broker's certificate is not trusted"):
            await says_something(right.model_copy(update={"ca_file": None}))


class Trouble(NamedTuple):
    """How a listener is reached, and what is logged.

    TLS 1.3 has agreed on a connection before the broker looks at our certificate; its reset may then overtake
    the alert that says why (`may_hang_up`).
    """

    url: str
    reason: str
    files: tuple[str, ...] = ()
    may_hang_up: bool = False


HUNG_UP = (
    "the broker hung up before it answered; "
    "it may want TLS on this port, then write mqtts://; else see its log"
)
NO_WEB_SOCKET = (
    "nobody speaks WebSocket there, or not on this path; correct port and path in mqtt.broker, or write"
)
TROUBLES = {
    "TLS to a plain port": Trouble(
        "mqtts://localhost:{plain}",
        "there is no TLS on this port; write mqtt://, or name the port for TLS",
        ("ca_file",),
    ),
    "no TLS to a port for it": Trouble("mqtt://localhost:{tls}", HUNG_UP),
    "no client certificate": Trouble(
        "mqtts://localhost:{strict}",
        "the broker asks for a client certificate; set mqtt.cert_file and mqtt.key_file",
        ("ca_file",),
        may_hang_up=True,
    ),
    "a client certificate that nobody vouches for": Trouble(
        "mqtts://localhost:{strict}",
        "the broker refuses our certificate (unknown ca); check mqtt.cert_file",
        ("ca_file", "cert_file", "key_file"),
        may_hang_up=True,
    ),
    "a broker that nobody vouches for": Trouble(
        "mqtts://localhost:{tls}",
        "the broker's certificate is not trusted (self-signed certificate); "
        "name the certificate of its authority as mqtt.ca_file",
    ),
    "a WebSocket with TLS to a port for MQTT with TLS": Trouble(
        "wss://localhost:{tls}/mqtt", f"{NO_WEB_SOCKET} mqtts://", ("ca_file",)
    ),
    "a WebSocket with TLS to a port without": Trouble(
        "wss://localhost:{web}/mqtt",
        "there is no TLS on this port; write ws://, or name the port for TLS",
        ("ca_file",),
    ),
    "MQTT to a port for WebSockets": Trouble("mqtt://localhost:{web}", HUNG_UP),
}


@pytest.fixture
async def listeners(tmp_path: Path) -> AsyncIterator[dict[str, int]]:
    """Run a mosquitto that listens in several ways; give the port of each."""
    names = ("plain", "tls", "strict", "web", "plain too")  # release 2.0.11 wants one after WebSockets
    of = {name: ports.free_port() for name in names}
    broker = Mosquitto(of["plain"], tmp_path)
    broker.configure(
        "allow_anonymous true",
        f"listener {of['tls']} 127.0.0.1",
        *WITH_TLS,
        f"listener {of['strict']} 127.0.0.1",
        *WITH_TLS,
        f"cafile {CA}",
        "require_certificate true",
        f"listener {of['web']} 127.0.0.1",
        "protocol websockets",
        "socket_domain ipv4",
        f"listener {of['plain too']} 127.0.0.1",
    )
    async with started_broker(broker):
        yield of


@pytest.mark.parametrize("protocol", ["5", "3.1.1"])
async def test_each_trouble_has_a_message_of_its_own_which_comes_once(
    listeners: dict[str, int], protocol: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    certificate, key = self_signed(tmp_path, "client")
    files = {"ca_file": CA, "cert_file": certificate, "key_file": key}
    for name, trouble in TROUBLES.items():
        caplog.clear()
        url = trouble.url.format(**listeners)
        settings = MqttSettings(
            broker=url,
            protocol=protocol,
            reconnect_min_s=0.05,
            reconnect_max_s=0.1,
            **{option: files[option] for option in trouble.files},  # type: ignore[arg-type] # files all of them
        )
        lines = await logged_while_failing(settings, caplog, tries=2)
        if trouble.may_hang_up:
            lines = [line for line in lines if "; the broker hung up before it answered; " not in line]
        assert lines == [f"{url}: not connected; {trouble.reason}"], name
