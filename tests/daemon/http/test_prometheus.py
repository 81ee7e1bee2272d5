"""What stands under `config/` for Prometheus and Grafana, held to the metrics that there are."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

if TYPE_CHECKING:
    from tests.daemon.http.conftest import Site

ROOT = Path(__file__).parents[3]
DASHBOARD = json.loads((ROOT / "config" / "grafana" / "motiond.json").read_text(encoding="utf-8"))
RULES = yaml.safe_load((ROOT / "config" / "prometheus" / "alerts.yaml").read_text(encoding="utf-8"))[
    "groups"
][0]["rules"]
TARGETS = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]


def names_in(expression: str) -> set[str]:
    return set(re.findall(r"\b(?:motiond|process)_[a-z_]+\b", expression))


async def test_each_expression_of_the_dashboard_and_each_alert_names_metrics_that_there_are(
    site: Site,
) -> None:
    async with site.session.get(f"{site.url}/metrics") as response:
        families = re.findall(r"^# TYPE (\w+) \w+$", await response.text(), re.MULTILINE)
    known = {name.removesuffix("_total") for name in families}
    assert len(TARGETS) > 10
    for expression in [*TARGETS, *(rule["expr"] for rule in RULES)]:
        names = {re.sub(r"_(total|bucket|sum|count)$", "", name) for name in names_in(expression)}
        assert names or expression.startswith("up{"), expression
        assert names <= known, expression


def test_each_alert_is_tried_on_what_is_wrong_and_on_what_is_not() -> None:
    file = ROOT / "tests" / "files" / "prometheus" / "alerts_test.yaml"
    cases = yaml.safe_load(file.read_text(encoding="utf-8"))["tests"]
    tried = [(one["alertname"], bool(one["exp_alerts"])) for case in cases for one in case["alert_rule_test"]]
    assert sorted(tried) == sorted((rule["alert"], fires) for rule in RULES for fires in (True, False))


def test_each_alert_has_its_row_on_the_page() -> None:
    page = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8").split("## Alerts")[1]
    told = [name for row in re.findall(r"^\| (`.*?) \|", page, re.MULTILINE) for name in row.split(", ")]
    assert told == [f"`{rule['alert']}`" for rule in RULES]


def test_the_dashboard_is_whole() -> None:
    variables = {variable["name"] for variable in DASHBOARD["templating"]["list"]}
    used = set(re.findall(r"\$\{?(\w+)\}?", json.dumps(DASHBOARD["panels"])))
    assert {name for name in used if not name.startswith("__")} == variables
    places = [(panel["id"], panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in DASHBOARD["panels"]]
    ids, across, down = zip(*places, strict=True)
    assert len(set(ids)) == len(set(zip(across, down, strict=True))) == len(ids)
