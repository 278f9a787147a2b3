"""The deployment's files agree with the sources: settings, metrics, documents."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.observability.metrics import Metrics
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
    for file in (ROOT / "app" / "composition").glob("*.py")
    for name in re.findall(r'metrics\.watch\(\s*"(\w+)"', file.read_text())
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


def test_the_dashboard_and_the_alerts_use_metrics_that_exist() -> None:
    metrics = Metrics()
    metrics.describe("m", version="0")
    families = list(metrics.registry.collect())
    known = {f"switchyard_{name}" for name in WATCHED}
    for family in families:
        known |= {family.name, f"{family.name}_total", f"{family.name}_bucket"}
        known |= {f"{family.name}_info", f"{family.name}_count", f"{family.name}_sum"}
    used = set(re.findall(r"\bswitchyard_\w+", " ".join(expressions())))
    assert len(used) > 10
    assert sorted(used - known) == []
