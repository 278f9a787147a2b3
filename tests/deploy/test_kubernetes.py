"""The Kubernetes manifests: valid for the API server's schemas, and in agreement."""

from collections.abc import Iterator
from typing import Any

import kubernetes_validate
import pytest
import yaml

from app.settings import GatewaySettings, ModelSettings
from tests.deploy.stack import ROOT

FOLDER = ROOT / "deploy" / "kubernetes"
KUSTOMIZATION = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())
#: oldest and newest version whose schemas they must fit
VERSIONS = ("1.27", "1.33")


def manifests() -> Iterator[dict[str, Any]]:
    for name in KUSTOMIZATION["resources"]:
        yield from yaml.safe_load_all((FOLDER / name).read_text())


ALL = {f"{each['kind']}/{each['metadata']['name']}": each for each in manifests()}
WORKLOADS = sorted(name for name in ALL if ALL[name]["kind"] in ("Deployment", "StatefulSet"))


def pod(name: str) -> dict[str, Any]:
    found: dict[str, Any] = ALL[name]["spec"]["template"]["spec"]
    return found


def variables(name: str) -> dict[str, Any]:
    (container,) = pod(name)["containers"]
    return {each["name"]: each.get("value") for each in container.get("env", ())}


def test_every_file_is_applied() -> None:
    files = {path.name for path in FOLDER.glob("*.yaml")} - {"kustomization.yaml"}
    assert files == set(KUSTOMIZATION["resources"])


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", sorted(ALL))
def test_a_manifest_fits_the_schemas_of_kubernetes(name: str, version: str) -> None:
    """Strictly: an unknown field would be ignored."""
    kubernetes_validate.validate(ALL[name], version, strict=True)


def test_a_wrong_manifest_does_not_fit() -> None:
    wrong = {**ALL["Service/gateway"], "spec": {"selektor": {}}}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, VERSIONS[0], strict=True)


@pytest.mark.parametrize("name", WORKLOADS)
def test_selectors_find_the_pods(name: str) -> None:
    spec = ALL[name]["spec"]
    labels = spec["template"]["metadata"]["labels"]
    assert spec["selector"]["matchLabels"] == labels
    services = [each for each in ALL.values() if each["kind"] == "Service"]
    (service,) = [each for each in services if each["spec"]["selector"] == labels]
    (container,) = pod(name)["containers"]
    named = {port["name"] for port in container["ports"]}
    assert {port["targetPort"] for port in service["spec"]["ports"]} <= named


@pytest.mark.parametrize("name", WORKLOADS)
def test_pods_are_confined_and_probed(name: str) -> None:
    spec = pod(name)
    (container,) = spec["containers"]
    assert spec["automountServiceAccountToken"] is False
    assert container["securityContext"]["allowPrivilegeEscalation"] is False
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert "readinessProbe" in container
    assert container["resources"]["limits"]["memory"]


def test_the_gateway_runs_without_root_and_without_writes() -> None:
    spec = pod("Deployment/gateway")
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["containers"][0]["securityContext"]["readOnlyRootFilesystem"] is True


def test_a_gateway_may_finish_its_answers() -> None:
    """After the grace period, uvicorn sends errors for 5 s, and the process needs time to exit."""
    set_ = variables("Deployment/gateway")
    shutdown, drain = float(set_["SWITCHYARD_SHUTDOWN_SECONDS"]), set_["SWITCHYARD_DRAIN_SECONDS"]
    assert pod("Deployment/gateway")["terminationGracePeriodSeconds"] >= shutdown + 5 + 10
    probe = pod("Deployment/gateway")["containers"][0]["readinessProbe"]
    assert float(drain) > probe["periodSeconds"] * probe["failureThreshold"]


def test_variables_are_settings() -> None:
    """A name that is no setting would abort the gateway's start."""
    known = {
        f"SWITCHYARD_{name.upper()}"
        for kind in (GatewaySettings, ModelSettings)
        for name in kind.model_fields
    }
    given = {*variables("Deployment/gateway"), *ALL["ConfigMap/switchyard"]["data"]}
    own = {name for name in given if name.startswith("SWITCHYARD_")}
    assert {"SWITCHYARD_MODEL", "SWITCHYARD_REDIS_URL"} <= own <= known


def test_gateways_find_the_workers() -> None:
    service = ALL["Service/workers"]["spec"]
    assert service["clusterIP"] == "None"
    (port,) = service["ports"]
    expected = f"dns+http://workers:{port['port']}"
    assert variables("Deployment/gateway")["SWITCHYARD_WORKERS"] == expected
    assert ALL["StatefulSet/worker"]["spec"]["serviceName"] == "workers"


def test_autoscaling_and_disruptions_leave_a_gateway() -> None:
    target = ALL["HorizontalPodAutoscaler/gateway"]["spec"]
    assert target["scaleTargetRef"]["name"] == "gateway"
    assert target["minReplicas"] >= 2
    budget = ALL["PodDisruptionBudget/gateway"]["spec"]
    assert budget["selector"] == ALL["Deployment/gateway"]["spec"]["selector"]
    assert budget["maxUnavailable"] == 1
