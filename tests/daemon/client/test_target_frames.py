"""What the client sends as frames, the daemon reads as what it would have sent as requests."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from motiond.client.messages import HttpTransport, target_frame
from motiond.daemon.http.live.target_frames import read_head

GOAL = "6f1c2d3e4a5b4c6d8e7f901234567890"


@pytest.mark.parametrize(
    "payload",
    [
        {"positions": [0.1, None], "sent_at": 1.8e9},
        {"velocities": [0.1, -0.2]},
        {"twist": [0.1, 0.0, -0.2, 0.3, 0.0, 0.5], "sent_at": 1.8e9},
        {"positions": [[0.1, 0.2], [0.3, 0.4]], "period_s": 0.02, "start_at": 1.8e9, "sent_at": 1.7e9},
        {"positions": [[0.1, 0.2]], "period_s": 0.5},
    ],
)
def test_a_frame_says_what_a_request_would(payload: dict[str, Any]) -> None:
    frame = target_frame({"goal_id": GOAL, **payload})
    assert frame is not None
    read = read_head(frame)
    assert read.verb == ("follow/chunk" if "period_s" in payload else "follow/target")
    assert read.body(2) == {"goal_id": GOAL, **payload}


def test_a_chunk_with_times_needs_a_request() -> None:
    assert target_frame({"goal_id": GOAL, "positions": [[0.1], [0.2]], "times": [0.0, 0.1]}) is None


class Socket:
    """A WebSocket whose requests are answered at once."""

    def __init__(self, transport: HttpTransport) -> None:
        self.transport = transport
        self.sent: list[str | bytes] = []

    async def send_bytes(self, frame: bytes) -> None:
        self.sent.append(frame)

    async def send_str(self, text: str) -> None:
        self.sent.append(text)
        answer = {"id": json.loads(text)["id"], "answer": {"status": "ok", "data": {}}}
        self.transport._take_message(json.dumps(answer))


async def test_a_new_connection_shows_the_lease_before_it_sends_frames() -> None:
    transport = HttpTransport("http://there", lambda _: None)
    socket = transport._socket = Socket(transport)
    for _ in range(2):
        transport._take_message('{"hello": {"robots": ["arm"]}}')
        for _ in range(3):
            transport.post("arm", "follow/target", {"goal_id": GOAL, "positions": [0.1], "lease": "secret"})
            await asyncio.sleep(0.01)
    await transport.close()
    assert [type(one) for one in socket.sent] == [str, bytes, bytes, bytes] * 2
    shown = json.loads(socket.sent[0])
    assert (shown["robot"], shown["verb"], shown["body"]) == ("arm", "lease/renew", {"lease": "secret"})
