"""The deployed stack under load: faults, rolling updates, scaling and attacks.

    make test-deploy

Needs a Docker engine; builds the image. The tests share a stack and run in order. Each prints what
it measured.
"""

import os
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import httpx
import pytest

from tests.deploy.load import Load
from tests.deploy.stack import WITH_WORKERS, Stack, running_stack
from tests.sglang.tiny_model import make_tokenizer

pytestmark = [
    pytest.mark.server,
    pytest.mark.skipif("TEST_DEPLOY" not in os.environ, reason="make test-deploy runs it"),
]

KEY = "first-key"
CLIENTS = 8
#: seconds after which nothing may fail any more
RECOVERY_S = 10.0


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    models: Path = tmp_path_factory.mktemp("models")
    make_tokenizer(1024).save_pretrained(models / "tokenizer")
    models.chmod(0o755)  # containers have another user
    with running_stack(
        COMPOSE_FILE=WITH_WORKERS,
        SWITCHYARD_MODELS=str(models),
        SWITCHYARD_TOKENIZER="/models/tokenizer",
        SWITCHYARD_MODEL_NAME="numbers",
        SWITCHYARD_REASONING="off",
        SWITCHYARD_WORKERS="http://worker-1:30000,http://worker-2:30000",
        SWITCHYARD_WORKER_HEALTH_SECONDS="1",
        SWITCHYARD_WORKER_TOKEN_SECONDS="5",
        SWITCHYARD_WORKER_FIRST_TOKEN_SECONDS="5",
        SWITCHYARD_API_KEYS=KEY,
    ) as running:
        yield running


@pytest.fixture
def load(stack: Stack) -> Iterator[Load]:
    stack.wait_until_in_rotation(len(stack.containers("gateway")))
    with Load(
        stack.url, stack.settings["SWITCHYARD_API_KEYS"].split(",")[0], clients=CLIENTS
    ) as it:
        yield it


def report(what: str, load: Load, moment: float) -> None:
    """Print what a fault cost."""
    after = load.since(moment)
    failures = [request.failure for request in after if request.failure]
    print(
        f"\n{what}: {len(failures)} of {len(after)} requests failed, the last after "
        f"{load.recovery(moment):.1f} s; longest silence {load.silence(moment):.1f} s; "
        f"{sorted(set(failures))}"
    )


@pytest.mark.parametrize("version", ["a new key", "another setting"])
def test_a_rolling_update_costs_no_request(stack: Stack, load: Load, version: str) -> None:
    if version == "a new key":
        stack.settings["SWITCHYARD_API_KEYS"] = f"{KEY},second-key"
    else:
        stack.settings["SWITCHYARD_MAX_TOOLS"] = "77"
    before, moment = stack.containers("gateway"), time.monotonic()
    stack.roll()
    load.settle()
    report(f"rolling update, {version} ({time.monotonic() - moment:.0f} s)", load, moment)
    after = stack.containers("gateway")
    assert len(after) == 2 and not set(before) & set(after)
    assert load.failures == []
    asked = httpx.get(f"{stack.url}/v1/models", headers={"authorization": "Bearer second-key"})
    assert asked.status_code == 200


def test_scaling_costs_no_request(stack: Stack, load: Load) -> None:
    moment = time.monotonic()
    for count in (4, 2):
        stack.compose("up", "-d", "--no-recreate", "--scale", f"gateway={count}", "gateway")
        stack.wait_until_healthy("gateway", count)
        stack.wait_until_in_rotation(count)
        load.settle()
    report("scaling 2-4-2", load, moment)
    assert load.failures == []


@pytest.mark.parametrize(
    ("service", "fault"),
    [
        *product(("gateway", "worker-1", "redis"), ("SIGKILL", "freeze")),
        ("proxy", "SIGKILL"),
        ("proxy", "SIGSTOP"),  # nothing inside a paused container can end it
    ],
)
def test_a_fault_costs_the_requests_in_flight(
    stack: Stack, load: Load, service: str, fault: str
) -> None:
    """Each client fails at most once or, where it does not choose its way, until recovery."""
    victim = stack.containers(service)[0]
    moment = time.monotonic()
    if fault == "SIGKILL":
        stack.kill(victim)
    elif fault == "SIGSTOP":
        stack.run("docker", "exec", victim, "sh", "-c", "kill -STOP -1")
    else:
        stack.run("docker", "pause", victim)
    try:
        load.settle()
    finally:
        if fault == "freeze":
            stack.run("docker", "unpause", victim)
    load.settle()
    report(f"{fault} of {service}", load, moment)
    assert load.recovery(moment) < RECOVERY_S
    if service == "redis":
        assert load.failures == []
    elif service != "proxy":
        assert len(load.failures) <= CLIENTS
    stack.wait_until_healthy(service, len(stack.containers(service)))


@pytest.mark.parametrize(("kind", "count"), [("headers", 8192), ("uploads", 64)])
def test_an_attack_on_the_proxy_costs_no_request(
    stack: Stack, load: Load, kind: str, count: int
) -> None:
    proxy = stack.containers("proxy")[0]
    started, moment = stack.inspect(proxy, "State.StartedAt"), time.monotonic()
    told = stack.compose(
        *("--profile", "attack", "run", "--rm", "-T", "attacker"),
        *("proxy", "8080", kind, str(count), "20"),
    )
    load.settle()
    report(f"attack ({told.strip()})", load, moment)
    assert load.failures == []
    assert stack.inspect(proxy, "State.StartedAt") == started
