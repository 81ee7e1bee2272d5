"""The client without asyncio, before it is connected."""

from __future__ import annotations

import pytest

from motiond.client import ClientError, sync


async def test_without_a_connection_requests_are_refused_at_once_and_closing_is_harmless() -> None:
    """It may be made while another event loop runs in the same thread."""
    daemon = sync.connect("mqtt://127.0.0.1:1")
    with pytest.raises(ClientError) as caught:
        daemon.robot("arm").status()
    assert str(caught.value) == "mqtt://127.0.0.1:1: the client is not connected; use it within `with`"
    daemon.close()
    daemon.close()
