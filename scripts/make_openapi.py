"""Writes `daemon/http/openapi.json`, the HTTP interface as an OpenAPI document, from verbs and models."""

from __future__ import annotations

import json
from pathlib import Path

from motiond.daemon.http.openapi import openapi

if __name__ == "__main__":
    target = Path(__file__).parent.parent / "daemon" / "http" / "openapi.json"
    target.write_text(json.dumps(openapi(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
