"""Requests made from the OpenAPI document, against a running gateway with the noise worker.

    python -m tests.campaigns.openapi [--examples 200] [--seed 1]

Schemathesis sends valid and invalid requests to every operation, follows the links between them,
and checks each answer against the document. Prints its report and leaves with 1 for a finding.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.app.gateway import Gateway

CONFIG = Path(__file__).with_name("schemathesis.toml")
#: short answers, since only their form matters
SETTINGS: dict[str, Any] = {
    "api_keys": "client-key",
    "admin_keys": "operator-key",
    "max_completion_tokens": 32,
    "default_completion_tokens": 32,
    "format": "hermes",
    "reasoning": "on",
}
#: phases in which operations do not follow each other
ALONE = "examples,coverage,fuzzing"


def narrowed(value: Any) -> Any:
    """Return the document with the only name of the only model, so that requests reach it."""
    if isinstance(value, list):
        return [narrowed(each) for each in value]
    if not isinstance(value, dict):
        return value
    found = {name: narrowed(each) for name, each in value.items()}
    fields = found.get("properties")
    if isinstance(fields, dict) and "model" in fields and "object" not in fields:
        is_optional = "anyOf" in fields["model"]
        fields["model"] = {"enum": ["noise", None] if is_optional else ["noise"]}
    return found


def run(
    *,
    examples: int,
    seed: int,
    part: Callable[[list[str]], Sequence[str]] = list,
    phases: str = ALONE + ",stateful",
) -> tuple[int, str]:
    """Return the exit status of Schemathesis and its report.

    Args:
        part: chooses among the paths of the document.
        phases: of Schemathesis. Links of operations need all paths.
    """
    with Gateway(**SETTINGS) as gateway, TemporaryDirectory() as folder:
        document = Path(folder) / "openapi.json"
        described = narrowed(gateway.get("/openapi.json").json())
        document.write_text(json.dumps(described))
        command = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(CONFIG), "run"]
        command += [str(document), "--url", gateway.url, "--checks", "all", "--warnings", "off"]
        # the seed makes a run repeatable; a database of earlier failures would not
        command += ["--max-examples", str(examples), "--seed", str(seed), "--no-color"]
        # slow machines fail the checks of the time that data take to make. One thread: Python 3.11
        # cannot parse sources in two threads, which Hypothesis does
        command += ["--generation-database", "none", "--suppress-health-check", "all"]
        command += ["--workers", "1", "--phases", phases]
        for path in part(sorted(described["paths"])):
            command += ["--include-path", path]
        # it writes a cache into its folder
        environment = os.environ | {"PYTHONUTF8": "1"}
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment)
        faults = [line for line in gateway.lines() if line["level"] == "error"]
    shown = "".join(f"logged: {line}\n" for line in faults)
    return done.returncode or bool(faults), f"{done.stdout}{done.stderr}{shown}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns.openapi", description=__doc__)
    parser.add_argument("--examples", type=int, default=200, help="of each operation")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    status, report = run(examples=given.examples, seed=given.seed)
    print(report)
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
