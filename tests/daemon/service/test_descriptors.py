"""Behaviour of the limit of open files."""

from __future__ import annotations

import resource
from typing import TYPE_CHECKING

import pytest

from motiond.daemon.service import daemon as service

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def _limit() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (512, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_the_daemon_may_open_as_many_files_as_the_system_lets_it_up_to_a_bound() -> None:
    service.raise_limit()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert soft == (65_536 if hard == resource.RLIM_INFINITY else min(hard, 65_536))


def test_a_limit_that_cannot_be_raised_is_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    with monkeypatch.context() as refused:
        refused.setattr(resource, "setrlimit", refuse)
        service.raise_limit()
    why = "[Errno 1] Operation not permitted; set LimitNOFILE"
    assert caplog.messages == [f"the limit of open files stays at 512; {why}"]
