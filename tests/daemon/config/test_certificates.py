from __future__ import annotations

import logging
import os
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from motiond.daemon.config.certificates import (
    CertificateLog,
    NoCertificate,
    Validity,
    of_authorities,
    of_chain,
)
from tests.certificates import Authority, self_signed
from tests.tables import table

if TYPE_CHECKING:
    from pathlib import Path

NOW = datetime(2026, 1, 10, tzinfo=UTC)


def days(number: float) -> timedelta:
    return timedelta(days=number)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates") / "authority")


@pytest.mark.parametrize(
    ("begins", "ends"),
    [
        (datetime(1999, 12, 31, 23, 59, 58, tzinfo=UTC), datetime(2049, 12, 31, tzinfo=UTC)),
        (datetime(2020, 1, 1, tzinfo=UTC), datetime(2050, 1, 1, tzinfo=UTC)),
        (datetime(2020, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)),
    ],
)
def test_the_validity_is_read_whichever_form_its_times_have(
    authority: Authority, begins: datetime, ends: datetime
) -> None:
    file, _ = authority.issue(begins, ends)
    assert of_chain(file) == Validity(begins, ends)


def test_a_chain_is_as_valid_as_its_weakest_part_and_a_bundle_as_its_strongest(
    authority: Authority, tmp_path: Path
) -> None:
    first, second = Validity(NOW - days(9), NOW + days(3)), Validity(NOW - days(5), NOW + days(70))
    both = tmp_path / "both.pem"
    both.write_text("".join(authority.issue(one.begins, one.ends)[0].read_text() for one in (first, second)))
    assert of_chain(both) == Validity(second.begins, first.ends)
    assert of_authorities(both) == Validity(first.begins, second.ends)


@table("content, reason")
def test_what_is_no_certificate_is_named_as_that(tmp_path: Path, content: bytes | None, reason: str) -> None:
    file = tmp_path / "page.pem"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(NoCertificate) as caught:
        of_chain(file)
    assert str(caught.value) == reason


def test_what_is_no_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "page.pem")
    with pytest.raises(NoCertificate) as caught:
        of_chain(tmp_path / "page.pem")
    assert str(caught.value) == "it is a pipe"


@table("begins, ends, kind, found, hint")
def test_what_ends_soon_has_ended_or_not_begun_is_named(
    begins: float, ends: float, kind: str, found: str, hint: str | None
) -> None:
    validity = Validity(NOW + days(begins), NOW + days(ends))
    assert (validity.kind(NOW), validity.found(NOW), validity.hint(NOW)) == (kind, found, hint)


def test_the_log_names_a_certificate_once_until_it_changes(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    log = CertificateLog()
    soon, long = (of_chain(self_signed(tmp_path, days=number)[0]) for number in (3, 90))
    for validity in (soon, soon, long, soon):
        log.report("page.pem", validity)
    line = f"page.pem: the certificate expires in 2 days, on {soon.ends:%Y-%m-%d}; renew it"
    assert caplog.messages == [line, line]
