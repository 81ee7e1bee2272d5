"""Debian's Prometheus scrapes a daemon that runs, and what stands under `config/` for it works there."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import pytest
import yaml

from tests.daemon.programs import background
from tests.daemon.rig import Rig
from tests.ports import free_port
from tests.waiting import PATIENCE_S, eventually, started

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[3]
CONFIG = ROOT / "config" / "prometheus"
DASHBOARD = json.loads((ROOT / "config" / "grafana" / "motiond.json").read_text(encoding="utf-8"))
RULES = yaml.safe_load((CONFIG / "alerts.yaml").read_text(encoding="utf-8"))["groups"][0]["rules"]
TARGETS = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
TOKEN = "a token for tests"  # noqa: S105 - of nothing
# Simulated actuators have no voltage.
WITHOUT_SAMPLES = ("motiond_joint_voltage_volts",)
# Where the machine's clock is not synchronised, nobody knows its error.
PERHAPS_WITHOUT_SAMPLES = ("motiond_clock_estimated_error_seconds", "motiond_clock_max_error_seconds")


def program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip("prometheus is not installed")
    return found


def promtool(*arguments: object, text: str | None = None) -> subprocess.CompletedProcess[str]:
    command = [program("promtool"), *map(str, arguments)]
    return subprocess.run(
        command, input=text, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )


def get(url: str, token: str = "") -> str:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    with urlopen(Request(url, headers=headers), timeout=PATIENCE_S) as answer:  # noqa: S310 - on loopback
        told: bytes = answer.read()
    return told.decode()


class Prometheus:
    """A Prometheus that runs beside a daemon.

    Attributes
    ----------
    text : str
        What the daemon tells it.
    """

    def __init__(self, port: int, motiond: str) -> None:
        self._url = f"http://127.0.0.1:{port}/api/v1"
        self._motiond = motiond

    @property
    def text(self) -> str:
        return get(f"{self._motiond}/metrics", TOKEN)

    def ask(self, path: str, **values: str) -> Any:
        told = json.loads(get(f"{self._url}/{path}?{urlencode(values)}"))
        assert told["status"] == "success", told
        return told["data"]

    def query(self, expression: str) -> list[dict[str, Any]]:
        """Evaluate an expression, as Grafana would with its variables filled in."""
        filled = (
            expression.replace("$__rate_interval", "1m").replace("$__range", "5m").replace("$robot", ".*")
        )
        result: list[dict[str, Any]] = self.ask("query", query=filled)["result"]
        return result

    def shown(self, expression: str) -> list[dict[str, Any]]:
        """Evaluate until something is shown: what a scrape that came too late tells nothing of is missing."""
        return eventually(f"something of {expression}", lambda: self.query(expression), bool)

    def tries(self, expression: str) -> list[dict[str, Any]]:
        """Evaluate an expression as soon as there is somebody to ask."""
        try:
            return self.query(expression)
        except (URLError, HTTPError, ConnectionError):
            return []


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """Run both, with a token between them, until a motion has been played and two scrapes tell of it."""
    folder = tmp_path_factory.mktemp("prometheus")
    rig = Rig(folder)
    (folder / "token").write_text(f"{TOKEN}\n")
    address = f"127.0.0.1:{free_port()}"
    rig.daemon = {
        "mqtt": {"broker": "embedded", "listen": f"127.0.0.1:{free_port()}"},
        "http": {"listen": address, "token_file": str(folder / "token")},
    }
    port = free_port()
    command = [
        program("prometheus"),
        f"--config.file={configure(folder, address)}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    with background("run", "-c", rig.config, stderr=None), (folder / "log").open("w") as log:
        prometheus = Prometheus(port, f"http://{address}")
        play(f"http://{address}")
        with started(command, stderr=log):
            eventually(
                "a second scrape after the motion",
                lambda: prometheus.tries('rate(motiond_results_total{code="SUCCESSFUL"}[1m])'),
                bool,
            )
            yield prometheus


def configure(folder: Path, address: str) -> Path:
    """Write the example's configuration as a user would change it, in a greater hurry."""
    settings = yaml.safe_load((CONFIG / "prometheus.yaml").read_text(encoding="utf-8"))
    settings["global"] = {"scrape_interval": "500ms", "evaluation_interval": "500ms"}
    settings["rule_files"] = [str(CONFIG / "alerts.yaml")]
    (job,) = settings["scrape_configs"]
    job["static_configs"] = [{"targets": [address]}]
    job["authorization"] = {"credentials_file": str(folder / "token")}
    (folder / "prometheus.yaml").write_text(yaml.safe_dump(settings))
    return folder / "prometheus.yaml"


def play(url: str) -> None:
    """Play a motion to its end."""

    def told(path: str, body: bytes | None = None) -> Any:
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        try:
            with urlopen(Request(url + path, body, headers), timeout=PATIENCE_S) as answer:  # noqa: S310
                return json.loads(answer.read())
        except (URLError, ConnectionError):
            return {}

    state = "/api/robots/arm/state"
    eventually("the robot is on line", lambda: told(state), lambda data: data.get("state") == "idle")
    assert told("/api/robots/arm/play", b'{"motion": "short"}')["status"] == "ok"
    succeeded = 'motiond_results_total{code="SUCCESSFUL",robot="arm"} 1.0'
    eventually("the motion ends", lambda: get(f"{url}/metrics", TOKEN), lambda text: succeeded in text)


def names_in(expression: str) -> set[str]:
    return set(re.findall(r"\b(?:motiond|process)_[a-z_]+\b", expression))


def test_it_scrapes_with_the_token(prometheus: Prometheus) -> None:
    def targets() -> list[tuple[str, str]]:
        return [(one["health"], one["lastError"]) for one in prometheus.ask("targets")["activeTargets"]]

    # A busy machine may answer one scrape too late, as half a second is all it has, but not each of them.
    eventually("the target is up", targets, lambda seen: seen == [("up", "")])
    # The broker may have been slow, too, before the scrape that was the last one then.
    prometheus.shown("motiond_broker_connected == 1")


def test_what_it_is_told_keeps_the_rules_of_the_format(prometheus: Prometheus) -> None:
    checked = promtool("check", "metrics", text=prometheus.text)
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")


def test_what_was_played_has_been_counted(prometheus: Prometheus) -> None:
    counted = {
        one["metric"]["code"]: one["value"][1]
        for one in prometheus.shown('motiond_results_total{robot="arm"}')
    }
    assert counted.pop("SUCCESSFUL") == "1"
    assert set(counted.values()) == {"0"}
    # The ticks of a second are told by themselves, and may come later than the result.
    prometheus.shown("motiond_stream_ticks_total == on (robot) motiond_stream_lateness_seconds_count > 100")


@pytest.mark.parametrize("expression", TARGETS)
def test_each_expression_of_the_dashboard_shows_something(prometheus: Prometheus, expression: str) -> None:
    told = prometheus.ask("metadata")
    names = {re.sub(r"_(total|bucket|sum|count)$", "", name) for name in names_in(expression)}
    known = {re.sub(r"_total$", "", name) for name in told}
    assert names
    assert names <= known
    if any(name in expression for name in WITHOUT_SAMPLES):
        assert prometheus.query(expression) == []
    elif expression not in PERHAPS_WITHOUT_SAMPLES:
        prometheus.shown(expression)


def test_each_alert_is_evaluated_and_names_metrics_that_there_are(prometheus: Prometheus) -> None:
    def groups() -> list[dict[str, Any]]:
        told: list[dict[str, Any]] = prometheus.ask("rules")["groups"]
        return told

    (group,) = eventually(
        "all rules are evaluated",
        groups,
        lambda groups: all(rule["health"] != "unknown" for group in groups for rule in group["rules"]),
    )
    assert [(rule["name"], rule["health"]) for rule in group["rules"]] == [
        (rule["alert"], "ok") for rule in RULES
    ]
    known = {re.sub(r"_total$", "", name) for name in prometheus.ask("metadata")}
    for rule in RULES:
        names = {re.sub(r"_(total|bucket)$", "", name) for name in names_in(rule["expr"])}
        assert names <= known, rule["alert"]


def test_a_metric_that_there_is_none_of_would_be_noticed(prometheus: Prometheus) -> None:
    assert names_in("rate(motiond_stream_tocks_total[1m])") == {"motiond_stream_tocks_total"}
    assert prometheus.query("rate(motiond_stream_tocks_total[1m])") == []
    assert "motiond_stream_tocks" not in {re.sub(r"_total$", "", name) for name in prometheus.ask("metadata")}


def test_the_files_for_prometheus_are_valid() -> None:
    for kind, file in (("config", "prometheus.yaml"), ("rules", "alerts.yaml")):
        checked = promtool("check", kind, CONFIG / file)
        assert checked.returncode == 0, checked.stderr
        assert f"{len(RULES)} rules found" in checked.stdout


def test_each_alert_fires_on_what_is_wrong_and_on_nothing_else() -> None:
    file = ROOT / "tests" / "files" / "prometheus" / "alerts_test.yaml"
    tested = promtool("test", "rules", file)
    assert tested.returncode == 0, tested.stdout + tested.stderr
    cases = yaml.safe_load(file.read_text(encoding="utf-8"))["tests"]
    tried = [(one["alertname"], bool(one["exp_alerts"])) for case in cases for one in case["alert_rule_test"]]
    assert sorted(tried) == sorted((rule["alert"], fires) for rule in RULES for fires in (True, False))


def test_each_alert_has_its_row_on_the_page() -> None:
    page = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8").split("## Alerts")[1]
    told = [name for row in re.findall(r"^\| (`.*?) \|", page, re.MULTILINE) for name in row.split(", ")]
    assert told == [f"`{rule['alert']}`" for rule in RULES]


def test_the_dashboard_is_whole() -> None:
    numbers = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(numbers) == len(set(numbers)) > 10
    variables = {variable["name"] for variable in DASHBOARD["templating"]["list"]}
    used = set(re.findall(r"\$\{?(\w+)\}?", json.dumps(DASHBOARD["panels"])))
    assert {name for name in used if not name.startswith("__")} == variables
    places = [
        (x, y)
        for panel in DASHBOARD["panels"]
        for place in [panel["gridPos"]]
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(places) == len(set(places)), "panels lie over each other"
    assert max(x for x, _ in places) < 24
