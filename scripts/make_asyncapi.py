"""Writes `docs/asyncapi.json`, the MQTT interface as an AsyncAPI document, from the verbs and the reports."""

from __future__ import annotations

import json
from pathlib import Path

from motiond.daemon.mqtt.asyncapi import asyncapi

if __name__ == "__main__":
    target = Path(__file__).parent.parent / "docs" / "asyncapi.json"
    target.write_text(json.dumps(asyncapi(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
