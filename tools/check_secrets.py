"""Search the tracked files for secrets: private keys, and tokens of known services.

    python -m tools.check_secrets [FILE...]

Prints each with its place, and exits with 1 if there is one. Detectors of unusual text are off:
they find every hash, and a list of exceptions would grow with the code.
"""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import PurePath

from detect_secrets import SecretsCollection
from detect_secrets.settings import transient_settings

PLUGINS = (
    "AWSKeyDetector",
    "ArtifactoryDetector",
    "AzureStorageKeyDetector",
    "GitHubTokenDetector",
    "GitLabTokenDetector",
    "JwtTokenDetector",
    "OpenAIDetector",
    "PrivateKeyDetector",
    "PypiTokenDetector",
    "SlackDetector",
    "StripeDetector",
    "NpmDetector",
)
#: recorded and generated data
SKIPPED = frozenset({".svg", ".png", ".sse", ".so"})


def found(files: Sequence[str]) -> list[str]:
    """Return each secret as ``FILE:LINE: KIND``."""
    secrets = SecretsCollection()
    with transient_settings({"plugins_used": [{"name": name} for name in PLUGINS]}):
        secrets.scan_files(*files)
    places = sorted((name, secret.line_number, secret.type) for name, secret in secrets)
    return [f"{name}:{line}: {kind}" for name, line, kind in places]


def main(arguments: Sequence[str]) -> int:
    """Return the exit status."""
    files = list(arguments)
    if not files:
        listed = subprocess.run(["git", "ls-files", "-z"], capture_output=True, check=True)
        files = [name for name in listed.stdout.decode().split("\0") if name]
    lines = found([name for name in files if PurePath(name).suffix not in SKIPPED])
    for line in lines:
        sys.stderr.write(f"{line}\n")
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
