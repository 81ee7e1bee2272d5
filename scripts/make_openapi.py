"""Writes `docs/openapi.json`, the HTTP interface as an OpenAPI document, from the verbs and the models."""

from __future__ import annotations

import json
from pathlib import Path

from motiond.daemon.http.openapi import openapi

if __name__ == "__main__":
    target = Path(__file__).parent.parent / "docs" / "openapi.json"
    target.write_text(json.dumps(openapi(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
