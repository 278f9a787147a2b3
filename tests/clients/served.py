"""A gateway as clients meet it: `switchyard serve` as a process of its own, with noise."""

import os
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Self

from tests.redis_server import free_port

ROOT = Path(__file__).parents[2]
#: the interpreter of the gateway; the tests run in the venvs of their frameworks
PYTHON = os.environ.get("GATEWAY_PYTHON", str(ROOT / ".venv" / "bin" / "python"))
#: seconds that a start may take on a slow machine
PATIENCE = 60.0
#: settings by the name of a wire format; Hermes and Harmony may think before they answer
WIRES: dict[str, dict[str, str]] = {
    "plain": {"format": "plain"},
    "hermes": {"format": "hermes", "reasoning": "on"},
    "llama3_json": {"format": "llama3_json"},
    "harmony": {"format": "harmony", "reasoning": "on"},
}
#: names that clients know, and send other settings for
ALIASES = ("gpt-5", "gpt-5.4-pro", "gpt-5.6-luna")
#: answers may become long: noise ends no text, object or array on purpose
COMMON = {
    "noise_seed": "1",
    "default_completion_tokens": "32768",
    "model_aliases": ",".join(ALIASES),
}
#: faults of the gateway that its answers may not show
FAULTS = (
    "switchyard_parse_divergence_total",
    "switchyard_internal_errors_total",
    "switchyard_stream_errors_total",
)


class Served:
    """``with Served("hermes", log) as served``: a gateway of that format; ``log``: a new file.

    ``settings``: those of another gateway, in place of a format's.
    """

    def __init__(self, wire: str, log: Path, settings: dict[str, str] | None = None) -> None:
        self.wire, self._log, self.port = wire, log, free_port()
        settings = {"port": str(self.port), **(settings or COMMON | WIRES[wire])}
        kept = {name: value for name, value in os.environ.items() if "SWITCHYARD" not in name}
        chosen = {f"SWITCHYARD_{name.upper()}": value for name, value in settings.items()}
        with log.open("w") as stream:
            self._process = subprocess.Popen(
                [PYTHON, "-m", "app"], cwd=ROOT, env={**kept, **chosen}, stdout=stream,
                stderr=subprocess.STDOUT,
            )  # fmt: skip

    @property
    def address(self) -> str:
        """The base URL for Anthropic's clients."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        """The base URL for OpenAI's clients."""
        return f"{self.address}/v1"

    @property
    def thinks(self) -> bool:
        return WIRES[self.wire].get("reasoning") == "on"

    def seeds(self, thoughts: Sequence[object]) -> Iterator[int]:
        """Yield seeds of eight turns, and of more until a model that thinks has thought: before a
        call that is required it may, but noise rarely does. ``thoughts``: of the turns so far.
        """
        for seed in range(100):
            if seed >= 8 and (any(thoughts) or not self.thinks):
                return
            yield seed

    def __enter__(self) -> Self:
        until = time.monotonic() + PATIENCE
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > until:
                self._end()
                raise RuntimeError(f"the gateway did not start:\n{self._log.read_text()[-2000:]}")
            time.sleep(0.05)
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def faults(self) -> list[str]:
        """Lines of /metrics that count a fault."""
        with urllib.request.urlopen(self.address + "/metrics") as answer:
            lines = answer.read().decode().splitlines()
        counted = (line for line in lines if line.startswith(FAULTS))
        return [line for line in counted if float(line.rpartition(" ")[2])]

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(self.address + "/health/ready"):
                return True
        except OSError:
            return False

    def _end(self) -> None:
        self._process.terminate()
        self._process.wait(PATIENCE)
