"""Alerts and the dashboard ask for metrics that exist, in a language that Prometheus understands."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from shoal.roles.up import free_port
from tests.architecture.repository import ROOT
from tests.scenarios.processes import Launched

ALERTS = ROOT / "deploy/prometheus/alerts.yml"
DASHBOARD = ROOT / "deploy/grafana/shoal.json"
NAME = re.compile(r"\b(?:sentinel|node|job|shoal|centrifugo)_[a-z0-9_]+")
OF_CENTRIFUGO = {
    "centrifugo_node_num_clients",
    "centrifugo_proxy_errors",
    "centrifugo_broker_redis_pub_sub_errors",
}
"""Those of version 6; its counters have no ``_total``."""


def promtool(*arguments: str) -> "subprocess.CompletedProcess[str]":
    tool = shutil.which("promtool")
    if tool is None:
        pytest.skip("promtool is not on this machine (Debian's package prometheus)")
    return subprocess.run([tool, *arguments], capture_output=True, text=True, check=False)


def expressions() -> list[str]:
    in_alerts = re.findall(r"expr: (?:>-\n)?((?:.|\n {10})+)", ALERTS.read_text(encoding="utf-8"))
    panels = json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
    return in_alerts + [target["expr"] for panel in panels for target in panel["targets"]]


def asked_for() -> set[str]:
    found = {name for expression in expressions() for name in NAME.findall(expression)}
    return found - {"node_list"}


@pytest.fixture
async def shown(tmp_path: Path, database_url: str, valkey_url: str) -> Any:
    """The names of the metrics that a sentinel shows."""
    port = free_port("127.0.0.1")
    settings = {
        "database_url": database_url,
        "redis_url": valkey_url,
        "vault_url": tmp_path.as_uri(),
        "vault_link_secret": "link secret " * 4,
        "vault_link_url": "http://files.invalid",
        "jwt_secret": "the jwt secret of a test, long enough",
        "centrifugo_token_secret": "the token secret of a test, long enough",
    }
    sentinel = Launched(
        ["sentinel", "--set", f"api_port={port}", "--data-dir", str(tmp_path / "none")],
        log_file=tmp_path / "sentinel.log",
        environment={f"SHOAL_{name.upper()}": value for name, value in settings.items()},
        ready=b"ready",
    )
    await sentinel.start()
    try:
        async with httpx.AsyncClient(trust_env=False) as client:
            text = (await client.get(f"http://127.0.0.1:{port}/metrics")).raise_for_status().text
        yield names_in(text)
    finally:
        await sentinel.stop()


def names_in(text: str) -> set[str]:
    """Families as they are queried: a histogram by its buckets, a counter with ``_total``."""
    found: set[str] = set()
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split()
            found |= {f"{name}_bucket", f"{name}_sum", f"{name}_count"} if kind == "histogram" else {name}
    return found


def wanted() -> Iterator[str]:
    return (name for name in asked_for() if not name.startswith("centrifugo_"))


async def test_every_metric_that_is_asked_for_is_shown(shown: set[str]) -> None:
    assert len(asked_for()) > 10
    assert set(wanted()) <= shown


def test_of_centrifugo_only_what_it_has_is_asked_for() -> None:
    assert {name for name in asked_for() if name.startswith("centrifugo_")} <= OF_CENTRIFUGO


def test_prometheus_takes_the_alerts() -> None:
    checked = promtool("check", "rules", "--lint-fatal", str(ALERTS))
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_a_fleet_that_stands_still_is_told_of_and_one_that_works_is_not(tmp_path: Path) -> None:
    """The rules, with numbers."""
    scene = tmp_path / "scene.yml"
    scene.write_text(SCENE.replace("ALERTS", str(ALERTS)), encoding="utf-8")
    checked = promtool("test", "rules", str(scene))
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_the_dashboard_has_no_panel_over_another() -> None:
    places: set[tuple[int, int]] = set()
    for panel in json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]:
        at = panel["gridPos"]
        mine = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert not places & mine, panel["title"]
        assert at["x"] + at["w"] <= 24
        places |= mine


SCENE = """
rule_files: [ALERTS]
evaluation_interval: 1m
tests:
  - interval: 1m
    name: it works
    input_series:
      - {series: sentinel_active_plans, values: "1x60"}
      - {series: sentinel_active_nodes, values: "50x60"}
      - {series: node_heartbeat_age_max, values: "20x60"}
      - {series: 'sentinel_chunk_completions_total{verdict="OK"}', values: "0+600x60"}
      - {series: 'sentinel_chunk_completions_total{verdict="INVALID"}', values: "0+1x60"}
      - {series: sentinel_chunks_reclaimed_total, values: "0+5x60"}
      - {series: sentinel_redis_errors_total, values: "0x60"}
    alert_rule_test:
      - {eval_time: 50m, alertname: NoNodes}
      - {eval_time: 50m, alertname: NodesLost}
      - {eval_time: 50m, alertname: NodeSilent}
      - {eval_time: 50m, alertname: ChunksStandStill}
      - {eval_time: 50m, alertname: ResultsRefused}
      - {eval_time: 50m, alertname: ChunksTakenBack}
      - {eval_time: 50m, alertname: RedisErrors}
  - interval: 1m
    name: it stands still, with half of the nodes gone and one forgotten
    input_series:
      - {series: sentinel_active_plans, values: "1x60"}
      - {series: sentinel_active_nodes, values: "50x25 20x35"}
      - {series: node_heartbeat_age_max, values: "20x25 300x35"}
      - {series: 'sentinel_chunk_completions_total{verdict="OK"}', values: "0+600x10 6000x50"}
    alert_rule_test:
      - eval_time: 30m
        alertname: NodesLost
        exp_alerts:
          - exp_labels: {severity: warning}
            exp_annotations:
              summary: More than a fifth of the nodes went away within a quarter of an hour.
              description: "20 are left. When all went at once, look at the beacon."
      - eval_time: 40m
        alertname: ChunksStandStill
        exp_alerts:
          - exp_labels: {severity: critical}
            exp_annotations:
              summary: There are plans and nodes, and no chunk was completed for ten minutes.
              description: No node may run what waits (engine, audience), or results are refused.
      - eval_time: 30m
        alertname: NodeSilent
        exp_alerts:
          - exp_labels: {severity: warning}
            exp_annotations:
              summary: A node is silent for 5m 0s and was not given up.
              description: Nodes are given up after 90 s. No sentinel sweeps; look at the log of each.
"""
