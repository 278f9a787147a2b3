"""``switchyard doctor``: findings about a setup, one line each, and what to do about them."""

import asyncio
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TextIO

from ..doctor import Finding, Level, examine
from .terminal import plain

_COLOURS: dict[Level, str] = {"ok": "32", "warning": "33", "error": "31"}


def run_doctor(config: Path | None, *, as_json: bool) -> int:
    """Print the findings as they come; return 1 if one is an error."""
    return asyncio.run(_examine(config, as_json))


async def _examine(config: Path | None, as_json: bool) -> int:
    findings: list[Finding] = []
    async for finding in examine(config):
        findings.append(finding)
        if not as_json:
            _show(finding, sys.stdout)
    if as_json:
        print(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        counts = [sum(each.level == level for each in findings) for level in ("error", "warning")]
        print(f"\nerrors: {counts[0]}, warnings: {counts[1]}")
    return int(any(finding.level == "error" for finding in findings))


def _show(finding: Finding, out: TextIO) -> None:
    level = f"{finding.level:8}"
    if out.isatty():
        level = f"\033[{_COLOURS[finding.level]}m{level}\033[0m"
    print(f"{level}{plain(finding.place)}: {plain(finding.text)}", file=out, flush=True)
    if finding.advice:
        print(f"{'':8}-> {plain(finding.advice)}", file=out, flush=True)
