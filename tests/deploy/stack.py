"""docker-compose.yml, running: two gateways with two stand-ins for workers, Redis and the proxy.

    COMPOSE    the command (default: docker compose, else docker-compose)

Representation   one Compose project of its own name and port. Images are built by ``build``.
Not here         requests (load.py), faults and what must follow (test_stack.py).
"""

import os
import shlex
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.redis_server import free_port

ROOT = Path(__file__).parents[2]
#: the stack as it ships, and stand-ins for workers beside it
PLAIN = "docker-compose.yml"
WITH_WORKERS = f"{PLAIN}:tests/deploy/workers.yml"
#: HAProxy's image may have no HTTP client, so a gateway asks
PRINT_STATISTICS = """
import urllib.request
print(urllib.request.urlopen("http://proxy:8405/stats;csv", timeout=5).read().decode())
"""
#: seconds that containers may take to start on a slow machine
PATIENCE_S = 180.0


def _compose_command() -> list[str]:
    return [*_compose(), "--env-file", "tests/deploy/none.env"]


def _compose() -> list[str]:
    if given := os.environ.get("COMPOSE"):
        return shlex.split(given)
    found = subprocess.run(["docker", "compose", "version"], capture_output=True, check=False)
    return ["docker", "compose"] if found.returncode == 0 else ["docker-compose"]


class Stack:
    """See the file's header. ``settings`` are variables as in .env; a change needs ``roll``."""

    def __init__(self, **settings: str) -> None:
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self.settings = {
            "COMPOSE_PROJECT_NAME": f"switchyard-test-{port}",
            "COMPOSE_FILE": PLAIN,
            "SWITCHYARD_PUBLISH": str(port),
            **settings,
        }

    def run(self, *command: str, check: bool = True) -> str:
        kept = {k: v for k, v in os.environ.items() if not k.startswith("SWITCHYARD_")}
        done = subprocess.run(
            command,
            cwd=ROOT,
            env={**kept, **self.settings},
            capture_output=True,
            text=True,
            check=False,
        )
        assert not check or done.returncode == 0, (
            command,
            done.stdout[-2000:],
            done.stderr[-4000:],
        )
        return done.stdout

    def compose(self, *arguments: str, check: bool = True) -> str:
        return self.run(*_compose_command(), *arguments, check=check)

    def roll(self) -> None:
        command = " ".join(_compose_command())
        self.run("env", f"COMPOSE={command}", "deploy/roll")

    def containers(self, service: str) -> list[str]:
        return self.compose("ps", "-q", service).split()

    def inspect(self, container: str, field: str) -> str:
        return self.run("docker", "inspect", "-f", f"{{{{.{field}}}}}", container).strip()

    def kill(self, container: str) -> None:
        """SIGKILL all processes. ``docker kill`` would tell Docker not to restart it."""
        self.run("kill", "-9", self.inspect(container, "State.Pid"))

    def wait_until_healthy(self, service: str, count: int) -> None:
        def are_healthy() -> bool:
            states = [self.inspect(c, "State.Health.Status") for c in self.containers(service)]
            return states == ["healthy"] * count

        wait_until(are_healthy)

    def wait_until_in_rotation(self, count: int) -> None:
        """Wait until the proxy sends requests to so many gateways."""
        wait_until(lambda: self.rows("UP") == count)

    def rows(self, status: str) -> int:
        gateway = self.containers("gateway")[0]
        text = self.run("docker", "exec", gateway, "python", "-c", PRINT_STATISTICS)
        lines = [
            line.split(",") for line in text.splitlines() if line.startswith("gateways,gateway")
        ]
        return sum(line[17] == status for line in lines)


def wait_until(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < until, "it never came to hold"
        time.sleep(0.3)


@contextmanager
def running_stack(**settings: str) -> Iterator[Stack]:
    """Build and start everything; remove it at the end, with its volumes."""
    stack = Stack(**settings)
    stack.compose("build", "gateway")
    try:
        stack.compose("up", "-d")
        stack.wait_until_healthy("gateway", 2)
        stack.wait_until_healthy("proxy", 1)
        yield stack
    finally:
        stack.compose("--profile", "attack", "down", "--volumes", "--timeout", "5", check=False)
