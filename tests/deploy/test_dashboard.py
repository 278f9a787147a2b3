"""Grafana's panels and Prometheus' alerts, evaluated by a real Prometheus that scrapes a gateway
under load: each panel shows something, no alert fires.
"""

import json
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from tests.app.gateway import Gateway
from tests.app.images.files import data_url, picture
from tests.deploy.stack import wait_until
from tests.redis_server import RedisServer, free_port

DEPLOY = Path(__file__).parents[2] / "deploy"
PROMETHEUS = shutil.which("prometheus")
#: of HAProxy, of failed workers, refused requests, shadow constraints and fetched images, and
#: of a cache, of ranks, adapters and prefill workers, which the noise worker lacks
UNSEEN = (
    "haproxy_",
    "switchyard_worker_failures",
    "switchyard_worker_ejections",
    "switchyard_worker_retries",
    "switchyard_connections_refused",
    "switchyard_admission_refused",
    "switchyard_shadow_",
    "switchyard_adapter_",
    "switchyard_image_fetch",
    "switchyard_ranks_running",
    "switchyard_prefill_",
    'kind="cached"',
)

pytestmark = [
    pytest.mark.server,
    pytest.mark.skipif(PROMETHEUS is None, reason="Prometheus is not installed"),
]


def panels() -> list[str]:
    described = json.loads((DEPLOY / "grafana" / "dashboards" / "switchyard.json").read_text())
    found = {target["expr"] for panel in described["panels"] for target in panel["targets"]}
    return sorted(expr for expr in found if not any(part in expr for part in UNSEEN))


class Prometheus:
    """Scrapes a gateway each second, with the rules that ship."""

    def __init__(self, folder: Path, gateway: str) -> None:
        described = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text())
        described["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
        described["scrape_configs"] = [
            {"job_name": "gateway", "static_configs": [{"targets": [gateway]}]}
        ]
        described["rule_files"] = [str(DEPLOY / "prometheus" / "alerts.yml")]
        (folder / "prometheus.yml").write_text(yaml.safe_dump(described))
        self._folder, self._port = folder, free_port()

    def __enter__(self) -> "Prometheus":
        self._process = subprocess.Popen(
            [
                str(PROMETHEUS),
                f"--config.file={self._folder}/prometheus.yml",
                f"--storage.tsdb.path={self._folder}/data",
                f"--web.listen-address=127.0.0.1:{self._port}",
            ],
            stderr=subprocess.DEVNULL,
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()

    def get(self, path: str, **parameters: str) -> Any:
        answer = httpx.get(f"http://127.0.0.1:{self._port}/api/v1/{path}", params=parameters)
        assert answer.status_code == 200, answer.text
        return answer.json()["data"]

    def values(self, expr: str) -> list[Any]:
        """Return the series of an expression; Grafana's rates cover several scrapes."""
        return list(self.get("query", query=expr.replace("$__rate_interval", "30s"))["result"])

    def shows(self, expr: str) -> bool:
        """Whether an expression has series now, with numbers; a scrape that took too long leaves a
        gap.
        """
        values = [each["value"][1] for each in self.values(expr)]
        return bool(values) and "NaN" not in values

    def is_ready(self) -> bool:
        try:
            return httpx.get(f"http://127.0.0.1:{self._port}/-/ready").status_code == 200
        except httpx.TransportError:
            return False


def ask(gateway: Gateway) -> None:
    """Send one request of each outcome."""
    message = {"model": "noise", "messages": [{"role": "user", "content": "hi"}]}
    schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": r"(a)\1"}}}
    for strict in (True, False):
        described = {"name": "r", "schema": schema, "strict": strict}
        output = {"response_format": {"type": "json_schema", "json_schema": described}}
        gateway.post({**message, **output, "max_tokens": 20})
    gateway.post({**message, "max_tokens": 20, "stream": True})
    told = [{"role": "user", "content": "hi", "tools": [{}]}]
    gateway.post({**message, "messages": told, "max_tokens": 20})
    image = {"type": "image_url", "image_url": {"url": data_url(picture("PNG"))}}
    shown = [{"role": "user", "content": [image]}]
    gateway.post({**message, "messages": shown, "max_tokens": 20})
    gateway.post(b"{")
    with gateway.raw_request({**message, "max_tokens": 4000, "stream": True}) as connection:
        connection.recv(1)


def ask_until(gateway: Gateway, stopping: threading.Event) -> None:
    while not stopping.wait(0.1):
        ask(gateway)


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    redis = RedisServer()
    redis.start()
    try:
        settings = {"redis_url": redis.url, "cache_key": "a key of these tests", "port": 0}
        with Gateway(**settings) as gateway:
            folder = tmp_path_factory.mktemp("prometheus")
            with Prometheus(folder, gateway.url.removeprefix("http://")) as running:
                wait_until(running.is_ready)
                stopping = threading.Event()
                load = threading.Thread(target=ask_until, args=(gateway, stopping))
                load.start()
                yield running
                stopping.set()
                load.join()
    finally:
        redis.close()


@pytest.mark.parametrize("expr", panels())
def test_every_panel_shows_the_load(prometheus: Prometheus, expr: str) -> None:
    wait_until(lambda: prometheus.shows(expr))


def test_no_alert_fires(prometheus: Prometheus) -> None:
    def rules() -> list[Any]:
        groups = prometheus.get("rules")["groups"]
        return [rule for group in groups for rule in group["rules"]]

    wait_until(lambda: "unknown" not in {rule["health"] for rule in rules()})
    assert len(rules()) >= 5
    assert {rule["name"] for rule in rules() if rule["health"] != "ok"} == set()
    assert {rule["name"]: rule["state"] for rule in rules() if rule["state"] != "inactive"} == {}
