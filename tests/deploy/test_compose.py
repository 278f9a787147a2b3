"""The deployment's files agree with the sources: settings, metrics, documents."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.metrics import MetricWrapperBase

from adapters.workers import Chunk
from app.observability.metrics import Metrics
from app.observability.request_record import Attempt, RequestRecord
from app.observability.trace_context import TraceContext
from app.settings import PREFIX, GatewaySettings, ModelSettings
from app.settings.error import variable_of

ROOT = Path(__file__).parents[2]
COMPOSE_FILE = ROOT / "docker-compose.yml"
SERVICES = yaml.safe_load(COMPOSE_FILE.read_text())["services"]
#: the service ``cache-key`` writes it to CACHE_KEY_FILE
WRITTEN_TO_A_FILE = {f"{PREFIX}CACHE_KEY"}
DASHBOARD = ROOT / "deploy" / "grafana" / "dashboards" / "switchyard.json"
ALERTS = ROOT / "deploy" / "prometheus" / "alerts.yml"
#: metrics of ``Metrics.watch``, by name and what the composition calls them with
WATCHED = {
    name
    for file in (ROOT / "app").rglob("*.py")
    for name in re.findall(r'\bwatch\(\s*"(\w+)"', file.read_text())
}
KNOWN = {f"{PREFIX}{name.upper()}" for name in GatewaySettings.model_fields}
KNOWN |= {variable_of(name) for name in ModelSettings.model_fields}


def variables_of(service: str) -> dict[str, Any]:
    found: dict[str, Any] = SERVICES[service]["environment"]
    return {name: value for name, value in found.items() if name.startswith(PREFIX)}


def test_every_setting_reaches_the_gateway() -> None:
    """A setting in .env that docker-compose.yml does not name would be ignored in silence."""
    missing = sorted(KNOWN - WRITTEN_TO_A_FILE - set(variables_of("gateway")))
    assert missing == [], f"add to x-settings in {COMPOSE_FILE.name}: {', '.join(missing)}"


def test_the_gateway_gets_no_unknown_setting() -> None:
    """The gateway refuses to start with one."""
    assert sorted(set(variables_of("gateway")) - KNOWN) == []


def test_every_setting_of_the_plug_in_reaches_the_worker() -> None:
    """docs/workers.md lists them."""
    text = (ROOT / "docs" / "workers.md").read_text()
    section = text.split("## Worker settings")[1].split("\n## ")[0]
    documented = set(re.findall(rf"`({PREFIX}\w+)`", section)) - WRITTEN_TO_A_FILE
    assert sorted(documented - set(variables_of("sglang"))) == []


def test_no_key_of_clients_or_operators_reaches_a_worker() -> None:
    assert not {f"{PREFIX}API_KEYS", f"{PREFIX}ADMIN_KEYS"} & set(variables_of("sglang"))


@pytest.mark.parametrize(
    "variable", sorted(set(re.findall(r"(?<!\$)\$\{(\w+)", COMPOSE_FILE.read_text())))
)
def test_every_variable_of_compose_is_documented(variable: str) -> None:
    documents = "".join((ROOT / "docs" / f"{name}.md").read_text() for name in DOCUMENTS)
    assert f"`{variable}`" in documents


DOCUMENTS = ("deployment", "running")


def expressions() -> list[str]:
    panels = json.loads(DASHBOARD.read_text())["panels"]
    shown = [target["expr"] for panel in panels for target in panel["targets"]]
    groups = yaml.safe_load(ALERTS.read_text())["groups"]
    return shown + [rule["expr"] for group in groups for rule in group["rules"]]


def known_metrics() -> set[str]:
    metrics = Metrics()
    metrics.describe("m", version="0")
    families = list(metrics.registry.collect())
    known = {f"switchyard_{name}" for name in WATCHED}
    for family in families:
        known |= {family.name, f"{family.name}_total", f"{family.name}_bucket"}
        known |= {f"{family.name}_info", f"{family.name}_count", f"{family.name}_sum"}
    return known


def test_the_dashboard_and_the_alerts_use_metrics_that_exist() -> None:
    used = set(re.findall(r"\bswitchyard_\w+", " ".join(expressions())))
    assert len(used) > 10
    assert sorted(used - known_metrics()) == []


def exported() -> dict[str, set[str]]:
    """All metrics by name, with their labels; those of ``Metrics.watch`` have ``what``."""
    metrics = Metrics()
    facts = {"version": "0", "format": "f", "vocabulary": "v", "artifact": "1"}
    metrics.describe("m", **facts)
    suffixes = {"counter": "_total", "info": "_info"}
    found = {f"switchyard_{name}": {"what"} for name in WATCHED}
    for each in [*vars(metrics).values()]:
        if isinstance(each, MetricWrapperBase):
            labels = {*each._labelnames} | (facts.keys() if each._type == "info" else set())
            found[each._name + suffixes.get(each._type, "")] = labels
    return found


def test_the_page_for_operators_lists_every_metric_with_its_labels() -> None:
    text = (ROOT / "docs" / "operations.md").read_text()
    table = text.partition("These are all of them")[2].partition("\n### ")[0]
    listed = {
        name: set(filter(None, labels[1:-1].split(", ")))
        for name, labels in re.findall(r"`(switchyard_\w+)(\{[^}`]*\})?`", table)
    }
    assert sorted(listed.keys() ^ exported().keys()) == []
    by_model = (
        "workers_running", "workers_available", "ranks_running", "adapter_workers",
        "prefill_workers_running", "prefill_workers_available",
    )  # fmt: skip
    more = {**dict.fromkeys(by_model, "model"), "compiler": "vocabulary"}
    labels = exported()
    for name, label in more.items():
        labels[f"switchyard_{name}"].add(label)
    assert listed == labels


def test_the_dashboard_shows_every_metric() -> None:
    """REGRESSION: ten of them, among them the parts that are left out, had no panel."""
    shown = json.loads(DASHBOARD.read_text())["panels"]
    used = " ".join(target["expr"] for panel in shown for target in panel["targets"])
    found = {name.removesuffix("_bucket") for name in re.findall(r"\bswitchyard_\w+", used)}
    assert sorted(exported().keys() - found) == []


def test_the_page_for_operators_uses_metrics_that_exist_and_lists_the_fields_of_a_log_line() -> (
    None
):
    text = (ROOT / "docs" / "operations.md").read_text()
    section = text.partition("## Monitoring\n")[2].partition("\n## ")[0]
    assert sorted(set(re.findall(r"\bswitchyard_\w+", section)) - known_metrics()) == []
    record = RequestRecord("r", phase="answering", model="m", key="k", queue_s=0.1, prepare_s=0.1)
    record.adapter = "a"
    record.attempts, record.finish = [Attempt("w")], ["stop"]
    record.backend, record.error = "switchyard", "overloaded"
    record.trace = TraceContext.begin(None, 1.0)
    record.count(Chunk((1, 2), prompt_tokens=2, cached_tokens=1))
    record.reasoning_tokens = 1
    listed = section.partition("### The log line of a request\n")[2].partition("\n### ")[0]
    fields = set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\|(.*?)\|", listed, re.MULTILINE))))
    asked = {"request_id", "method", "route", "status", "ms"}
    assert fields == asked | set(record.facts())


def test_the_collector_receives_and_passes_on_traces() -> None:
    """The gateways reach it, and it is none of the default services."""
    config = yaml.safe_load((ROOT / "deploy" / "otel" / "collector.yml").read_text())
    pipeline = config["service"]["pipelines"]["traces"]
    for kind in ("receivers", "processors", "exporters"):
        assert set(pipeline[kind]) <= set(config[kind])
    service = SERVICES["otel-collector"]
    assert service["profiles"] == ["observe"]
    assert set(service["networks"]) & set(SERVICES["gateway"]["networks"])
