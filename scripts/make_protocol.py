"""Writes `page/src/protocol.ts`, what the page exchanges with the daemon, from the verbs and the reports."""

from __future__ import annotations

from pathlib import Path

from motiond.daemon.http.typescript import typescript

if __name__ == "__main__":
    (Path(__file__).parent.parent / "page" / "src" / "protocol.ts").write_text(typescript(), encoding="utf-8")
