"""``python -m bench.k6``: the scenarios of k6/load.js against a gateway of its own, with a report.

    python -m bench.k6 [--seconds 20] [--rate 100] [--out .data/load] [SCENARIO ...]

The gateway runs the noise worker. Each scenario leaves k6's own report as an HTML file. Beside k6's
figures it prints the gateway's memory and open files at the start and the end, and their slopes,
which are flat where nothing leaks; churn fills the cache of compiled grammars up to its limit. It
exits with 1 if a threshold was crossed.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import threading
from pathlib import Path

from tests.redis_server import free_port

from .gateway.processes import Process, running

SCENARIOS = ("stream", "spike", "churn", "soak")
SCRIPT = Path(__file__).parents[1] / "k6" / "load.js"
#: seconds between two samples
SAMPLED_S = 0.5
#: part of a run that does not count for slopes: caches fill
WARM = 0.25


class Samples:
    """Memory in MB and open files of a process, while the context lasts."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.memory: list[float] = []
        self.files: list[float] = []

    def __enter__(self) -> "Samples":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._end.wait(SAMPLED_S):
            status = Path(f"/proc/{self._pid}/status").read_text()
            kilobytes = next(line for line in status.splitlines() if line.startswith("VmRSS"))
            self.memory.append(int(kilobytes.split()[1]) / 1024)
            self.files.append(len(os.listdir(f"/proc/{self._pid}/fd")))

    def shown(self) -> str:
        """Return a line about both."""
        return "; ".join(
            f"{name}: {values[0]:,.0f} to {values[-1]:,.0f}, {_slope(values):+.2f} a minute"
            for name, values in [("MB", self.memory), ("open files", self.files)]
            if values
        )


def _slope(values: list[float]) -> float:
    """Return the change per minute by linear regression, without the warm-up."""
    steady = values[int(WARM * len(values)) :]
    if len(steady) < 2:
        return 0.0
    minutes = [number * SAMPLED_S / 60 for number in range(len(steady))]
    return statistics.linear_regression(minutes, steady).slope


def run(k6: str, scenario: str, process: Process, asked: argparse.Namespace, folder: Path) -> bool:
    """Run one scenario; return whether all thresholds hold."""
    report = folder / f"{scenario}.html"
    environment = {
        **os.environ,
        "K6_WEB_DASHBOARD": "true",
        "K6_WEB_DASHBOARD_PORT": "-1",
        "K6_WEB_DASHBOARD_PERIOD": "1s",
        "K6_WEB_DASHBOARD_EXPORT": str(report),
        "K6_NO_USAGE_REPORT": "true",
    }
    values = {"BASE_URL": process.url, "SCENARIO": scenario, "SECONDS": str(asked.seconds)}
    values |= {"RATE": str(asked.rate), "VUS": str(asked.users)}
    given = [part for name, value in values.items() for part in ("-e", f"{name}={value}")]
    print(f"\n== {scenario}", flush=True)
    with Samples(process.pid) as samples:
        command = [k6, "run", "--quiet", *given, str(SCRIPT)]
        done = subprocess.run(command, env=environment, check=False)
    print(f"gateway: {samples.shown()}")
    if report.exists():
        print(f"report: {report}")
    return done.returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.k6", description=__doc__)
    parser.add_argument("scenarios", nargs="*", metavar="scenario", help=", ".join(SCENARIOS))
    parser.add_argument("--seconds", type=int, default=20, help="of each scenario")
    parser.add_argument("--rate", type=int, default=100, help="requests/s of spike and soak")
    parser.add_argument("--users", type=int, default=8)
    parser.add_argument("--out", type=Path, default=Path(".data/load"))
    asked = parser.parse_args()
    k6 = shutil.which("k6", path=f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}")
    if k6 is None:
        parser.error("k6 is not installed: `make load` installs it")
    asked.out.mkdir(parents=True, exist_ok=True)
    port = free_port()
    settings = {"SWITCHYARD_PORT": str(port), "SWITCHYARD_NOISE_SEED": "1"}
    process = Process("switchyard", [sys.executable, "-m", "app"], port, settings)
    with running(process):
        chosen = asked.scenarios or SCENARIOS
        results = [run(k6, scenario, process, asked, asked.out) for scenario in chosen]
    return int(not all(results))


if __name__ == "__main__":
    sys.exit(main())
