"""Passwords: read from files and from systemd's credentials, and shown to nobody but the broker."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from motiond.daemon.broker.login import LoginError, login_of
from motiond.daemon.broker.packets import Connect
from motiond.daemon.config.mqtt import MqttSettings
from motiond.daemon.config.settings import load_settings
from motiond.daemon.http.security.tokens import Token, TokenError
from motiond.daemon.mqtt.client import MqttConnection, NotConnected
from tests.daemon.conftest import started_broker
from tests.daemon.mqtt.stand_in import StandIn

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


SECRET = "s3cret-of-the-broker"  # noqa: S105 - of a broker on the loopback, for a test
WHY = (
    "systemd has given no credentials ($CREDENTIALS_DIRECTORY); "
    "add LoadCredential=broker:FILE to the unit, or name the file itself"
)


@pytest.fixture
async def guarded(free_port: int, tmp_path: Path) -> AsyncIterator[StandIn]:
    """Run a broker that lets in `arm` with the secret alone."""
    (tmp_path / "passwords").write_text(f"arm:{SECRET}\n")
    broker = StandIn(free_port)
    broker.configure("allow_anonymous false", f"password_file {tmp_path / 'passwords'}")
    async with started_broker(broker):
        yield broker


@pytest.fixture
def credentials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give credentials as systemd does."""
    folder = tmp_path / "credentials"
    folder.mkdir()
    (folder / "broker").write_text(f"{SECRET}\n")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(folder))
    return folder


def settings_of(broker: StandIn, password_file: str) -> MqttSettings:
    url = f"mqtt://127.0.0.1:{broker.port}"
    return MqttSettings(broker=url, username="arm", password_file=Path(password_file))


@pytest.mark.usefixtures("credentials")
async def test_a_credential_of_systemd_is_the_password(guarded: StandIn) -> None:
    async with MqttConnection(settings_of(guarded, "%d/broker")) as client:
        await client.publish("motiond/test", b"{}", qos=1)


@pytest.mark.usefixtures("credentials")
@pytest.mark.parametrize(
    ("name", "by_systemd", "reason"),
    [("broker", False, WHY), ("brokr", True, "no such file; write the password there")],
)
async def test_a_credential_that_systemd_has_not_given_is_one_clear_error(
    guarded: StandIn, monkeypatch: pytest.MonkeyPatch, name: str, reason: str, *, by_systemd: bool
) -> None:
    if not by_systemd:
        monkeypatch.delenv("CREDENTIALS_DIRECTORY")
    with pytest.raises(NotConnected) as caught:
        await MqttConnection(settings_of(guarded, f"%d/{name}")).__aenter__()
    assert str(caught.value) == f"%d/{name}: {reason}"


def test_the_embedded_broker_and_the_page_take_credentials_too(
    credentials: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    login = login_of(MqttSettings(username="arm", password_file=Path("%d/broker")))
    assert login is not None
    connect = Connect(4, username=b"arm", password=SECRET.encode())
    assert login.check(connect).name == "ACCEPTED"
    assert Token(Path("%d/broker"), "http.token_file").matches(SECRET)
    monkeypatch.delenv("CREDENTIALS_DIRECTORY")
    with pytest.raises(LoginError) as refused:
        login.check(connect)
    assert str(refused.value) == f"%d/broker: nobody can log in; {WHY}"
    with pytest.raises(TokenError) as no_token:
        Token(Path("%d/broker"), "http.token_file")
    assert str(no_token.value) == f"%d/broker: {WHY}"
    assert (credentials / "broker").exists()


def test_a_credential_is_not_looked_for_beside_the_configuration(tmp_path: Path) -> None:
    file = tmp_path / "arm.yaml"
    robot = (
        "robots: {arm: {driver: {type: sim}, joints: {a: {limits: {lower: -1, upper: 1, velocity: 1}}}}}\n"
    )
    file.write_text(
        f"{robot}mqtt: {{username: arm, password_file: '%d/broker'}}\nhttp: {{token_file: token}}\n"
    )
    settings = load_settings(file)
    assert settings.mqtt.password_file == Path("%d/broker")
    assert settings.http is not None
    assert settings.http.token_file == tmp_path / "token"
