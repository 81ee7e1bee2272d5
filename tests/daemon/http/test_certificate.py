"""A certificate that is renewed while the page is served."""

from __future__ import annotations

import asyncio
import logging
import re
from typing import TYPE_CHECKING

import pytest

from motiond.client import NoAnswer, connect
from motiond.daemon.config.certificates import of_chain
from motiond.daemon.config.http import HttpSettings
from motiond.daemon.http.security.certificate import PageCertificate
from tests.certificates import self_signed
from tests.daemon.http.conftest import Site, is_served_at, serving, until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from motiond.daemon.api import ReportHub
    from tests.daemon.conftest import Robots


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    return self_signed(tmp_path, days=1)


@pytest.fixture
async def page(
    files: tuple[Path, Path], free_port: int, robots: Robots, hub: ReportHub
) -> AsyncIterator[Site]:
    cert_file, key_file = files
    settings = HttpSettings(listen=f"127.0.0.1:{free_port}", cert_file=cert_file, key_file=key_file)
    async with serving(settings, robots, hub) as site:
        yield site


async def test_a_renewed_certificate_is_served_to_who_connects_then(
    page: Site, files: tuple[Path, Path], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with page.session.ws_connect(f"{page.url}/api/ws", ssl=False) as before:
        self_signed(tmp_path, days=90)
        assert not await is_served_at(page.port, files[0])
        for _ in range(2):
            page.server.renew()
        assert await is_served_at(page.port, files[0])
        await before.ping()
    renewed = f"http: {files[0]}: renewed; new connections are served with it"
    assert caplog.messages.count(renewed) == 1


def cut(cert_file: Path, _key_file: Path) -> None:
    cert_file.write_text(cert_file.read_text()[:500])


def taken_away(cert_file: Path, _key_file: Path) -> None:
    cert_file.unlink()


def with_a_key_of_nothing(_cert_file: Path, key_file: Path) -> None:
    key_file.write_text("")


def without_its_key(cert_file: Path, _key_file: Path) -> None:
    other, _ = self_signed(cert_file.parent, "other")
    other.replace(cert_file)


@pytest.mark.parametrize("spoil", [cut, taken_away, without_its_key, with_a_key_of_nothing])
async def test_half_a_renewal_keeps_the_old_one_and_is_tried_again(
    page: Site,
    files: tuple[Path, Path],
    tmp_path: Path,
    spoil: Callable[[Path, Path], None],
    caplog: pytest.LogCaptureFixture,
) -> None:
    (tmp_path / "old.pem").write_bytes(files[0].read_bytes())
    spoil(*files)
    for _ in range(2):
        page.server.renew()
    assert await is_served_at(page.port, tmp_path / "old.pem")
    (told,) = caplog.messages
    pattern = r"http: the old certificate is served on; cert_file .*; it is tried again"
    assert re.fullmatch(pattern, told)
    files[0].unlink(missing_ok=True)
    self_signed(tmp_path, days=90)
    page.server.renew()
    assert await is_served_at(page.port, files[0])


async def test_it_looks_by_itself_and_sooner_after_a_failure(
    files: tuple[Path, Path], tmp_path: Path
) -> None:
    shown = PageCertificate(*files)
    before = shown.context
    looking = asyncio.create_task(shown.look_after())
    await asyncio.sleep(3599.0)
    cut(*files)
    await asyncio.sleep(2.0)
    self_signed(tmp_path, days=90)
    await asyncio.sleep(50.0)
    assert shown.context is before
    await until(lambda: shown.context is not before)
    looking.cancel()
    await asyncio.wait((looking,))


def test_one_that_ends_soon_is_named_once(files: tuple[Path, Path], caplog: pytest.LogCaptureFixture) -> None:
    shown, ends = PageCertificate(*files), of_chain(files[0]).ends
    for _ in range(3):
        shown.renew()
    assert caplog.messages == [
        f"http: {files[0]}: the certificate expires in 0 days, on {ends:%Y-%m-%d}; renew it"
    ]


async def test_a_client_is_told_what_is_wrong_with_the_certificate(
    page: Site, files: tuple[Path, Path]
) -> None:
    with pytest.raises(NoAnswer) as caught:
        async with connect(page.url):
            pass
    hint = "name the certificate of its authority as ca_file"
    reason = f"its certificate is not trusted (self-signed certificate); {hint}"
    assert str(caught.value) == f"{page.url}: no connection to the daemon; {reason}"
    async with connect(page.url, ca_file=files[0]) as daemon:
        assert await daemon.robots()
