"""The section `mqtt`: what is refused before anything starts, and that no message contains a password."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from motiond.daemon.config.mqtt import MqttSettings
from motiond.daemon.config.secrets import without_password
from motiond.daemon.config.section import ConfigError
from motiond.daemon.config.settings import load_settings
from motiond.text import echoed
from tests.certificates import self_signed
from tests.daemon.programs import run_here
from tests.tables import table

CERTIFICATE = Path(__file__).parents[2] / "files" / "good" / "broker.crt"
KEY = CERTIFICATE.with_suffix(".key")
ROBOT = {"driver": {"type": "sim"}, "joints": {"a": {"limits": {"lower": -1, "upper": 1, "velocity": 1}}}}
ARM = "robots: {arm: {driver: {type: sim}, joints: {a: {limits: {lower: -1, upper: 1, velocity: 1}}}}}\n"


def refusals(folder: Path, mqtt: str) -> list[str]:
    file = folder / "arm.yaml"
    file.write_text(f"{ARM}mqtt: {mqtt}\n", encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_settings(file)
    return str(caught.value).replace(f"{folder}/", "").splitlines()


# -- what is left out ----------------------------------------------------------------------------------------


@table("text, shown")
def test_what_may_be_a_login_is_left_out(text: str, shown: str) -> None:
    assert without_password(text) == shown


FORMS = "it must be embedded, mqtt://…, mqtts://…, ws://… or wss://…; correct it"
PORTS = "ports are 1 to 65535; correct it"


@table(
    "mqtt, message", (f"{{broker: 'mqtt://u:{'secret' * 1000}@host'}}", "mqtt.broker is 'mqtt://…@host'; ")
)
def test_no_message_of_a_configuration_tells_a_password(tmp_path: Path, mqtt: str, message: str) -> None:
    lines = refusals(tmp_path, mqtt)
    assert lines[0].startswith(f"arm.yaml:2: {message}")
    assert not [line for line in lines if "secret" in line or "ret@" in line]


def test_a_wrong_broker_of_the_environment_is_told_by_its_variable(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOTIOND_BROKER", "host:1883")
    lines = f"motiond: invalid value for $MOTIOND_BROKER: 'host:1883' is no broker; {FORMS}; "
    assert run_here(capsys, "status") == (2, "", lines + "see `motiond --help`\n")


def test_what_pydantic_says_tells_no_password() -> None:
    with pytest.raises(ValidationError) as caught:
        MqttSettings(broker="mqtt://u:secret@host", keepalive_s=0, protokoll="mqtt://u:secret@host")  # type: ignore[call-arg]
    assert "secret" not in str(caught.value)
    assert "secret" not in repr(MqttSettings(broker="mqtt://u:secret@host"))


# -- brokers ------------------------------------------------------------------------------------------------


def test_a_list_of_brokers_is_kept_in_its_order() -> None:
    urls = ["mqtt://a", "wss://me:secret@b/x", "mqtts://c:1"]
    settings = MqttSettings(broker=urls, protocol="3.1.1")
    assert [each.broker for each in settings.each()] == urls
    assert [each.protocol for each in settings.each()] == ["3.1.1"] * 3
    assert [each.broker for each in MqttSettings(broker="mqtt://a").each()] == ["mqtt://a"]


@table("mqtt, message")
def test_options_that_make_no_sense_together_are_refused(tmp_path: Path, mqtt: str, message: str) -> None:
    written = mqtt.replace("CERTIFICATE", str(CERTIFICATE))
    assert refusals(tmp_path, written) == [f"arm.yaml:2: {message}"]


# -- names --------------------------------------------------------------------------------------------------

NO_PARTS = ("a.b", "a b", "a/b", "a+b", "a#b", "a\tb", "a\nb", "a\x7fb", "ä", "$a", "a\u200bb", "")


def escaped(text: str) -> str:
    return re.sub(r"[\x00-\x1f\x7f]", lambda match: f"\\x{ord(match[0]):02x}", text)


def refusal_of(folder: Path, configuration: dict[str, Any]) -> str:
    file = folder / "arm.yaml"
    file.write_text(json.dumps({"robots": {"arm": ROBOT}} | configuration), encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_settings(file)
    return str(caught.value).removeprefix(f"{file}:1: ")


@pytest.mark.parametrize("name", NO_PARTS)
def test_a_name_that_some_broker_cannot_carry_is_refused(tmp_path: Path, name: str) -> None:
    reason = "cannot be a part of a topic; letters, digits, _ and - can; rename it"
    for named in ({"id": name}, {"robots": {name: ROBOT}}):
        assert refusal_of(tmp_path, named) == f"'{escaped(name)}' {reason}"


@pytest.mark.parametrize(
    "base", [*(name for name in NO_PARTS if name not in {"a/b", ""}), "/a", "a/", "a//b"]
)
def test_a_base_that_some_broker_cannot_carry_is_refused(tmp_path: Path, base: str) -> None:
    reason = "cannot begin a topic on every broker; letters, digits, _ and - can, with / between; rename it"
    assert refusal_of(tmp_path, {"mqtt": {"base": base}}) == f"'{escaped(base)}' {reason}"


def test_a_name_that_is_too_long_for_a_topic_is_refused(tmp_path: Path) -> None:
    reason = "has 101 characters; a part of a topic has at most 100; shorten it"
    assert refusal_of(tmp_path, {"id": "a" * 101}) == f"'{echoed('a' * 101)}' {reason}"
    (tmp_path / "arm.yaml").write_text(json.dumps({"robots": {"a" * 100: ROBOT}}))
    assert load_settings(tmp_path / "arm.yaml").robots.keys() == {"a" * 100}


# -- listen -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["mqtt: {listen: {}}", "http: {listen: {}}"])
@pytest.mark.parametrize(
    "place",
    ["127.0.0.1", ":1883", "localhost:x", "127.0.0.1:123456", "::1:1883", "[::1:1883", "[::1]", "[x]:1"],
)
def test_what_is_no_place_to_listen_at_is_told_in_words(tmp_path: Path, option: str, place: str) -> None:
    file = tmp_path / "arm.yaml"
    file.write_text(f"{ARM}{option.replace('{}', repr(place))}\n")
    with pytest.raises(ConfigError) as caught:
        load_settings(file)
    reason = "it is not HOST:PORT or [IPv6]:PORT"
    assert str(caught.value) == f"{file}:2: '{place}' cannot be listened to; {reason}; correct it"


@pytest.mark.parametrize("host", ["[::1]", "[::]", "[2001:db8::1]", "[fe80::1%eth0]", "localhost"])
@pytest.mark.parametrize("option", ["mqtt: {listen: {}}", "http: {listen: {}, token_file: token}"])
def test_an_address_of_ipv6_stands_in_brackets(tmp_path: Path, option: str, host: str) -> None:
    file = tmp_path / "arm.yaml"
    file.write_text(f"{ARM}{option.replace('{}', repr(f'{host}:1884'))}\n")
    settings = load_settings(file)
    assert settings.http is not None
    assert f"{host}:1884" in {settings.mqtt.listen, settings.http.listen}


# -- certificates -------------------------------------------------------------------------------------------


# openssl genpkey -algorithm ED25519 -aes256 -pass pass:secret
ENCRYPTED = """\
-----BEGIN ENCRYPTED PRIVATE KEY-----
MIGbMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAiCRHRHNjJvNgICCAAw
DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEEsjP2Wrst8O8fcEnwWU/NsEQCX0
iyMGjNJzB8l81Rv1sVHiUqia1KHdyKafNmjUA+hSVsGOZbSrFsr36x3QIvLIp+Y1
Iw4zC+NB7dHik7VwAzQ=
-----END ENCRYPTED PRIVATE KEY-----
"""


@table("option, file, message")
def test_a_file_of_tls_that_cannot_be_used_is_told_at_the_start(
    tmp_path: Path, option: str, file: str, message: str
) -> None:
    (tmp_path / "encrypted.key").write_text(ENCRYPTED)
    (tmp_path / "text.pem").write_text("no certificate\n")
    self_signed(tmp_path, "other")
    files = {"ca_file": CERTIFICATE, "cert_file": CERTIFICATE, "key_file": KEY, option: tmp_path / file}
    mqtt = json.dumps({"broker": "mqtts://host", **{key: str(path) for key, path in files.items()}})
    told = (
        message.replace("FOLDER", str(tmp_path))
        .replace("CERTIFICATE", str(CERTIFICATE))
        .replace("KEY", str(KEY))
    )
    assert refusals(tmp_path, mqtt) == [f"arm.yaml:2: {told}"]


# -- bounds -------------------------------------------------------------------------------------------------
