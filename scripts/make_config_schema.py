"""Writes `config/schema.json` from the settings, so that editors check and complete a configuration."""

from __future__ import annotations

import json
from pathlib import Path

from motiond.daemon.config.settings import json_schema

if __name__ == "__main__":
    target = Path(__file__).parent.parent / "config" / "schema.json"
    target.write_text(json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
