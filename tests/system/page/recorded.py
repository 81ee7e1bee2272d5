"""Recordings that were never made: what a daemon would answer of them, put before a page's own daemon."""

from __future__ import annotations

import asyncio
import json
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from playwright.async_api import Page, Route, WebSocketRoute

BEGAN = "2026-11-26T10:{:02}:{:02}Z"
NOT_RECORDING = {
    "recording": False,
    "file": None,
    "why": None,
    "since_utc": None,
    "ticks": 0,
    "gaps": 0,
    "bytes": 0,
    "problem": None,
}


def listed(name: str, number: int = 0, **other: Any) -> dict[str, Any]:
    """Return a recording as it is listed."""
    return {
        "name": name,
        "file": f"{name}.mcap",
        "bytes": 4_200_000 + number,
        "began_utc": BEGAN.format(number // 60 % 60, number % 60),
        "duration_s": 8.0,
        "ticks": 1600,
        "gaps": 0,
        "why": "request",
        "motions": ["wave"],
        "codes": ["SUCCESSFUL"],
        "kept": False,
        "is_written": False,
    } | other


def run_of(joints: Sequence[str], *, rows: int = 1601, late_s: float = 0.02, **about: Any) -> bytes:
    """Return a run of 8 s as the daemon sends it: 1 s of approach, then sines that feedback follows late.

    Rows between the time of a gap and its `until` are left out.
    """
    time = np.linspace(0.0, 8.0, rows)
    for gap in about.get("gaps", ()):
        time = time[(time <= gap["time"]) | (time >= gap["until"])]
    rows = len(time)
    reference, feedback = (_sines(time - late, len(joints)) for late in (0.0, late_s))
    error = reference - feedback
    whole = {
        "name": "run",
        "robot": "arm",
        "began_utc": BEGAN.format(0, 0),
        "duration_s": 8.0,
        "ticks": rows,
        "is_whole": True,
        "joints": list(joints),
        "units": ["rad"] * len(joints),
        "points": rows,
        "every": 1,
        "phases": [
            {"time": 0.0, "state": "approaching", "torque": True, "goal": 1},
            {"time": 1.0, "state": "playing", "torque": True, "goal": 1},
        ],
        "gaps": [],
        "events": [{"time": 3.0, "kind": "marker", "message": "raised"}],
        "results": [{"time": 7.9, "motion": "wave", "code": "SUCCESSFUL", "message": ""}],
        "worst": {
            name: {
                "max": abs(of).max(),
                "rms": float(np.sqrt((of**2).mean())),
                "time": time[abs(of).argmax()],
            }
            for name, of in zip(joints, error.T, strict=True)
        },
        "more": 0,
    } | about
    text = json.dumps(whole).encode()
    text += b" " * (-len(text) % 4)
    arrays = (np.ascontiguousarray(one, dtype="<f4").tobytes() for one in (time, reference, feedback, error))
    return len(text).to_bytes(4, "little") + text + b"".join(arrays)


def _sines(time: NDArray[np.float64], joints: int) -> NDArray[np.float64]:
    """Return joints that move the more, the later they come, once they play: (rows, joints)."""
    share = np.clip(time - 1.0, 0.0, None)[:, None]
    amounts = np.linspace(0.1, 0.1 * joints, joints)
    positions: NDArray[np.float64] = amounts * np.sin(share * np.linspace(0.9, 1.6, joints))
    return positions


class StandIn:
    """Answers what a page asks of recordings, and lets all else pass."""

    def __init__(self, recordings: list[dict[str, Any]], runs: dict[str, bytes]) -> None:
        self.recordings, self.runs = recordings, runs
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.refusals: dict[str, str] = {}
        self.unlisted = 0
        self._is_asked, self._seen = asyncio.Event(), 0
        self._reported = ""
        self._sockets: list[WebSocketRoute] = []

    async def stand_before(self, page: Page) -> None:
        """Take over for a page that is not loaded yet."""
        await page.route_web_socket(re.compile("/api/ws$"), self._connect)
        await page.route("**/api/robots/*/recordings/**", self._serve)

    async def until_asked(self, *asked: tuple[str, dict[str, Any]]) -> None:
        """Wait until these are asked for in a row, after what was waited for before."""
        async with asyncio.timeout(PATIENCE_S):
            while self.asked[self._seen : self._seen + len(asked)] != [*asked]:
                if self._seen + len(asked) < len(self.asked):
                    self._seen += 1
                    continue
                self._is_asked.clear()
                await self._is_asked.wait()
        self._seen += len(asked)

    def report(self, **recording: Any) -> None:
        """Report whether the arm is recorded, also to a page that comes back."""
        message = {"robot": "arm", "subject": "recording", "data": NOT_RECORDING | recording}
        self._reported = json.dumps(message)
        for socket in self._sockets:
            socket.send(self._reported)

    def _connect(self, socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()
        self._sockets.append(socket)

        def of_page(message: str | bytes) -> None:
            asked = json.loads(message)
            verb = asked.get("verb", "")
            if verb == "play" and "source" in asked["body"]:
                self._answer(socket, asked, "play")
            elif verb.startswith("record"):
                self._answer(socket, asked, verb)
            else:
                server.send(message)

        def of_daemon(message: str | bytes) -> None:
            about = json.loads(message) if isinstance(message, str) else {}
            if about.get("subject") != "recording":
                socket.send(message)
            elif about["robot"] == "arm" and self._reported:
                socket.send(self._reported)

        socket.on_message(of_page)
        server.on_message(of_daemon)

    def _answer(self, socket: WebSocketRoute, asked: dict[str, Any], verb: str) -> None:
        body = {
            key: value for key, value in asked["body"].items() if key not in {"transaction", "expires_at"}
        }
        self.asked.append((verb, body))
        self._is_asked.set()
        answer: dict[str, Any] = {"status": "ok", "data": {}}
        if verb in self.refusals:
            answer = {"status": "error", "code": "INTERNAL", "error": self.refusals[verb], "data": {}}
        elif verb == "recordings":
            total = sum(one["bytes"] for one in self.recordings)
            answer["data"] = {
                "recordings": self.recordings,
                "count": len(self.recordings) + self.unlisted,
                "bytes": total,
                "keep_bytes": 10_000_000_000,
            }
        elif verb == "recordings/keep":
            for one in self.recordings:
                one["kept"] = body["keep"] if one["name"] == body["name"] else one["kept"]
        elif verb == "recordings/delete":
            self.recordings = [one for one in self.recordings if one["name"] != body["name"]]
        socket.send(json.dumps({"id": asked["id"], "answer": answer}))

    async def _serve(self, route: Route) -> None:
        found = re.search(r"/recordings/([^/]+)/run$", route.request.url)
        run = self.runs.get(found[1]) if found else None
        if run is None:
            refusal = {"status": "error", "error": "gone: no such recording; it may have been removed"}
            await route.fulfill(status=404, json=refusal)
        else:
            await route.fulfill(body=run, content_type="application/octet-stream")
