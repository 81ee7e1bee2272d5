"""A Prometheus scrapes a daemon that runs, and what stands under `config/` for it works there."""

from __future__ import annotations

import json
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
    """A Prometheus that runs beside a daemon."""

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


def test_a_prometheus_scrapes_a_daemon_and_shows_what_stands_in_the_configuration(
    prometheus: Prometheus,
) -> None:
    def targets() -> list[tuple[str, str]]:
        return [(one["health"], one["lastError"]) for one in prometheus.ask("targets")["activeTargets"]]

    # A busy machine may answer one scrape too late, as half a second is all it has, but not each of them.
    eventually("the target is up", targets, lambda seen: seen == [("up", "")])
    # The broker may have been slow, too, before the scrape that was the last one then.
    prometheus.shown("motiond_broker_connected == 1")
    counted = {
        one["metric"]["code"]: one["value"][1]
        for one in prometheus.shown('motiond_results_total{robot="arm"}')
    }
    assert counted.pop("SUCCESSFUL") == "1"
    assert set(counted.values()) == {"0"}
    # The ticks of a second are told by themselves, and may come later than the result.
    prometheus.shown("motiond_stream_ticks_total == on (robot) motiond_stream_lateness_seconds_count > 100")

    for expression in TARGETS:
        if any(name in expression for name in WITHOUT_SAMPLES):
            assert prometheus.query(expression) == [], expression
        elif expression not in PERHAPS_WITHOUT_SAMPLES:
            prometheus.shown(expression)
    assert prometheus.query("rate(motiond_stream_tocks_total[1m])") == [], "a metric that there is none of"

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

    checked = promtool("check", "metrics", text=prometheus.text)
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", ""), "the format has rules"


def test_the_files_for_prometheus_are_valid_and_each_alert_fires_on_what_is_wrong_alone() -> None:
    for kind, file in (("config", "prometheus.yaml"), ("rules", "alerts.yaml")):
        checked = promtool("check", kind, CONFIG / file)
        assert checked.returncode == 0, checked.stderr
        assert f"{len(RULES)} rules found" in checked.stdout
    tested = promtool("test", "rules", ROOT / "tests" / "files" / "prometheus" / "alerts_test.yaml")
    assert tested.returncode == 0, tested.stdout + tested.stderr
