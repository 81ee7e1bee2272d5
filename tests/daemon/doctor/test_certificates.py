"""What is said of certificates that a configuration names."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from motiond.daemon.config.http import HttpSettings
from motiond.daemon.config.mqtt import MqttSettings
from motiond.daemon.doctor.certificates import check_certificates
from motiond.daemon.doctor.report import Check, Verdict
from tests.certificates import Authority, self_signed

if TYPE_CHECKING:
    from pathlib import Path


def test_each_certificate_of_the_configuration_is_judged(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    authority = Authority(tmp_path / "authority")
    cert_file, key_file = authority.issue(now - timedelta(9), now - timedelta(2))
    page, page_key = self_signed(tmp_path, days=10)
    mqtt = MqttSettings(
        broker="mqtts://broker", ca_file=authority.certificate, cert_file=cert_file, key_file=key_file
    )
    found = check_certificates(mqtt, HttpSettings(cert_file=page, key_file=page_key))
    assert [(one.subject, one.verdict, one.found) for one in found] == [
        (
            f"mqtt.ca_file {authority.certificate}",
            "ok",
            f"valid until {datetime.now(UTC) + timedelta(99):%Y-%m-%d}",
        ),
        (f"mqtt.cert_file {cert_file}", "failure", f"has expired on {now - timedelta(2):%Y-%m-%d}"),
        (
            f"http.cert_file {page}",
            "warning",
            f"expires in 9 days, on {datetime.now(UTC) + timedelta(10):%Y-%m-%d}",
        ),
    ]
    assert [one.hint for one in found] == [
        None,
        f"renew it, or set this machine's clock, if {now:%Y-%m-%d} is wrong",
        "renew it",
    ]


def test_without_any_there_is_nothing_to_look_at() -> None:
    assert check_certificates(MqttSettings(), HttpSettings()) == [
        Check(
            check="certificate",
            verdict=Verdict.NOT_APPLICABLE,
            found="the configuration names none",
            means="what is encrypted is vouched for by the system's authorities",
        )
    ]


def test_a_file_that_has_gone_meanwhile_is_a_failure(tmp_path: Path) -> None:
    page, page_key = self_signed(tmp_path)
    http = HttpSettings(cert_file=page, key_file=page_key)
    page.unlink()
    (found,) = check_certificates(None, http)
    assert (found.verdict, found.found) == ("failure", "no such file or directory")
