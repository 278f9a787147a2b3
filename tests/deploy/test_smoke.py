"""The stack as it ships, without any setting: k6/smoke.js passes, and containers are confined.

make test-deploy
"""

import os
import shutil
from collections.abc import Iterator

import pytest

from tests.deploy.stack import ROOT, Stack, running_stack

K6 = shutil.which("k6")

pytestmark = [
    pytest.mark.server,
    pytest.mark.skipif("TEST_DEPLOY" not in os.environ, reason="make test-deploy runs it"),
]


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    with running_stack() as running:
        yield running


def test_the_smoke_test_passes(stack: Stack) -> None:
    assert K6 is not None, "make test-deploy installs k6"
    script = str(ROOT / "k6" / "smoke.js")
    stack.run(K6, "run", "--quiet", "-e", f"BASE_URL={stack.url}", script)


@pytest.mark.parametrize("service", ["gateway", "proxy", "redis"])
def test_containers_are_confined(stack: Stack, service: str) -> None:
    """No root, no writes, no capabilities, an init process."""
    container = stack.containers(service)[0]
    shown = stack.inspect(
        container,
        "Config.User}} {{.HostConfig.ReadonlyRootfs}} {{.HostConfig.CapDrop}} {{.HostConfig.Init",
    )
    user, *rest = shown.split()
    assert user.split(":")[0] not in ("", "0", "root")
    assert rest == ["true", "[ALL]", "true"]
