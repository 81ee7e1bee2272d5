"""Behaviour of the limit of open files."""

from __future__ import annotations

import resource
from typing import TYPE_CHECKING

import pytest

from motiond.daemon.service import daemon as service

if TYPE_CHECKING:
    from collections.abc import Iterator

HARD = resource.getrlimit(resource.RLIMIT_NOFILE)[1]


@pytest.fixture(autouse=True)
def _limit() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (512, HARD))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def soft_limit() -> int:
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def test_the_daemon_may_open_as_many_files_as_the_system_lets_it() -> None:
    service.raise_limit()
    assert soft_limit() == (
        min(HARD, service.MOST_DESCRIPTORS) if HARD != resource.RLIM_INFINITY else service.MOST_DESCRIPTORS
    )


def test_a_limit_that_cannot_be_raised_is_told_of(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    with monkeypatch.context() as refused:
        refused.setattr(resource, "setrlimit", refuse)
        service.raise_limit()
    assert caplog.messages == [
        "the limit of open files stays at 512; [Errno 1] Operation not permitted; set LimitNOFILE"
    ]
