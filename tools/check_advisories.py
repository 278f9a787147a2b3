"""Compare the locked dependencies with known vulnerabilities, by pip-audit.

    python -m tools.check_advisories [LOCK...]

Exits with 1 if one has a vulnerability. Without advisories, for instance on a mirror of PyPI that
has none, it says so and exits with 0.
"""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

LOCKS = Path(__file__).parents[1] / "deploy" / "requirements"
#: seconds of silence of the service
TIMEOUT_S = 10


def audited(lock: Path) -> tuple[list[str], str | None]:
    """Return the vulnerabilities of a lock file, and why it could not be audited."""
    command = [sys.executable, "-m", "pip_audit", "--requirement", str(lock), "--require-hashes"]
    command += ["--disable-pip", "--format", "json", "--progress-spinner", "off"]
    command += ["--timeout", str(TIMEOUT_S)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        dependencies = json.loads(done.stdout)["dependencies"]
    except (ValueError, LookupError):
        return [], (done.stderr.strip().splitlines() or ["no output"])[-1]
    if dependencies and all("skip_reason" in each for each in dependencies):
        return [], dependencies[0]["skip_reason"]
    return [
        f"{lock.name}: {each['name']} {each['version']}: {known['id']}"
        for each in dependencies
        for known in each.get("vulns", ())
    ], None


def report(locks: Sequence[Path]) -> Iterator[tuple[bool, str]]:
    """Yield lines about the locks, each with whether it is a vulnerability."""
    for lock in locks:
        vulnerabilities, reason = audited(lock)
        if reason is not None:
            yield False, f"{lock.name}: not audited: {reason}"
        for line in vulnerabilities:
            yield True, line


def main(arguments: Sequence[str]) -> int:
    """Return the exit status."""
    locks = [Path(name) for name in arguments] or sorted(LOCKS.glob("*.txt"))
    lines = list(report(locks))
    for _, line in lines:
        sys.stderr.write(f"{line}\n")
    return int(any(is_bad for is_bad, _ in lines))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
