"""What stands under `config/` for Prometheus and Grafana, and the metrics, as promtool reads them."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from motiond.daemon.config.http import HttpSettings
from tests.daemon.conftest import Robots, known_hub
from tests.daemon.http.conftest import serving
from tests.daemon.http.test_metrics import second, tell
from tests.ports import free_port
from tests.waiting import PATIENCE_S

ROOT = Path(__file__).parents[3]
CONFIG = ROOT / "config" / "prometheus"
DASHBOARD = json.loads((ROOT / "config" / "grafana" / "motiond.json").read_text(encoding="utf-8"))
VARIABLES = {"$__rate_interval": "1m", "$__range": "5m", "$robot": ".*"}


def promtool(*arguments: object, text: str | None = None) -> str:
    program = shutil.which("promtool")
    if program is None:
        pytest.skip("prometheus is not installed")
    command = [program, *map(str, arguments)]
    ended = subprocess.run(
        command, input=text, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout + ended.stderr


async def test_the_metrics_are_as_prometheus_wants_them() -> None:
    settings = HttpSettings(listen=f"127.0.0.1:{free_port()}")
    async with serving(settings, Robots(), known_hub()) as site:
        tell(site, "diagnostics", second(8e-6, 0.2, missed=1))
        async with site.session.get(f"{site.url}/metrics") as response:
            assert promtool("check", "metrics", text=await response.text()) == ""


def test_the_files_for_prometheus_are_valid_and_each_alert_fires_on_what_is_wrong_alone() -> None:
    promtool("check", "config", CONFIG / "prometheus.yaml")
    promtool("test", "rules", ROOT / "tests" / "files" / "prometheus" / "alerts_test.yaml")


def test_every_expression_of_the_dashboard_can_be_evaluated(tmp_path: Path) -> None:
    expressions = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
    for variable, value in VARIABLES.items():
        expressions = [expression.replace(variable, value) for expression in expressions]
    rules = [{"record": f"panel_{number}", "expr": one} for number, one in enumerate(expressions)]
    file = tmp_path / "dashboard.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))
    assert f"{len(expressions)} rules found" in promtool("check", "rules", file)
