"""Requests for stream processes go through a packet and come out as they were."""

from __future__ import annotations

import pytest

from motiond.daemon.ipc.forks import REQUEST_BYTES, ForkRequest, LoadRequest, decode


@pytest.mark.parametrize(
    "request_",
    [ForkRequest("arm", "sim"), ForkRequest("a" * 100, "dynamixel"), LoadRequest("sim")],
    ids=repr,
)
def test_a_request_is_read_as_it_was_sent(request_: ForkRequest | LoadRequest) -> None:
    packet = request_.encode()
    assert decode(packet) == request_
    assert len(packet) <= REQUEST_BYTES
