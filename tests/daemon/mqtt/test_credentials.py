"""Passwords that systemd gives (`LoadCredential=`), for the broker, its clients and the page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from motiond.daemon.broker import login_of as embedded_login_of
from motiond.daemon.broker.login import LoginError
from motiond.daemon.broker.packets import Connect
from motiond.daemon.config.mqtt import MqttSettings
from motiond.daemon.config.settings import load_settings
from motiond.daemon.http import HttpError
from motiond.daemon.http.security.tokens import Token
from motiond.daemon.mqtt.client import NotConnected
from motiond.daemon.mqtt.client.address import login_of

if TYPE_CHECKING:
    from collections.abc import Callable


SECRET = "s3cret-of-the-broker"  # noqa: S105 - of a broker on the loopback, for a test
REFUSALS = (HttpError, LoginError, NotConnected)
GIVEN, MISSING = Path("%d/broker"), Path("%d/brokr")
WHY = (
    "systemd has given no credentials ($CREDENTIALS_DIRECTORY); "
    "add LoadCredential=broker:FILE to the unit, or name the file itself"
)


def at_a_broker(file: Path) -> bool:
    return login_of(MqttSettings(username="arm", password_file=file)) == ("arm", SECRET)


def at_the_embedded_broker(file: Path) -> bool:
    login = embedded_login_of(MqttSettings(username="arm", password_file=file))
    assert login is not None
    return login.check(Connect(4, username=b"arm", password=SECRET.encode())).name == "ACCEPTED"


def on_the_page(file: Path) -> bool:
    return Token(file, "http.token_file").matches(SECRET)


@pytest.mark.parametrize(
    ("is_let_in", "no_credentials", "missing"),
    [
        (at_a_broker, WHY, "no such file; write the password there"),
        (
            at_the_embedded_broker,
            f"nobody can log in; {WHY}",
            "cannot be read; no such file or directory; nobody can log in; correct mqtt.password_file",
        ),
        (on_the_page, WHY, "cannot be read; no such file or directory; correct http.token_file"),
    ],
)
def test_a_credential_of_systemd_is_the_password_and_one_that_it_has_not_given_one_clear_error(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    is_let_in: Callable[[Path], bool],
    no_credentials: str,
    missing: str,
) -> None:
    (tmp_path / "broker").write_text(f"{SECRET}\n")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    assert is_let_in(GIVEN)
    with pytest.raises(REFUSALS) as not_there:
        is_let_in(MISSING)
    assert str(not_there.value) == f"%d/brokr: {missing}"
    monkeypatch.delenv("CREDENTIALS_DIRECTORY")
    with pytest.raises(REFUSALS) as not_given:
        is_let_in(GIVEN)
    assert str(not_given.value) == f"%d/broker: {no_credentials}"


def test_a_credential_is_not_looked_for_beside_the_configuration(tmp_path: Path) -> None:
    file = tmp_path / "arm.yaml"
    file.write_text(
        "robots: {arm: {driver: {type: sim}, joints: {a: {limits: {lower: -1, upper: 1, velocity: 1}}}}}\n"
        "mqtt: {username: arm, password_file: '%d/broker'}\nhttp: {token_file: token}\n"
    )
    settings = load_settings(file)
    assert settings.mqtt.password_file == GIVEN
    assert settings.http is not None
    assert settings.http.token_file == tmp_path / "token"
