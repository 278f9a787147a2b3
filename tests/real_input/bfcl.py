"""Tool sets and questions of the Berkeley Function Calling Leaderboard (package ``bfcl-eval``).

    folder/BFCL_v4_multiple.json, one object a line:
        {"id": "multiple_5", "question": [[message, ...]],
         "function": [{"name": ..., "description": ..., "parameters": ...}, ...]}

The parameters are JSON Schema in a dialect of their own, which ``app.cli.quality`` translates.
"""

import json
import os
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.cli.quality import normal

KINDS = ("multiple", "parallel_multiple", "live_multiple")
#: where ``make data`` puts the files
FETCHED = Path(__file__).parents[2] / ".data" / "bfcl_eval" / "data"

Schema = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """``schemas``: of the parameters, by tool name. ``closed``: no object takes further keys."""

    id: str
    kind: str
    closed: bool
    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]]
    schemas: dict[str, Schema]


def data_folder() -> Path | None:
    """SWITCHYARD_BFCL, or what was fetched; None: there is none."""
    given = os.environ.get("SWITCHYARD_BFCL")
    folder = Path(given) if given else FETCHED
    return folder if folder.is_dir() else None


def read_cases(folder: Path, number: int, *, closed: bool, seed: int = 0) -> list[Case]:
    """``number`` cases, as many of each kind as of the others; always the same ones."""
    found = []
    for at, kind in enumerate(KINDS):
        lines = (folder / f"BFCL_v4_{kind}.json").read_text("utf-8").splitlines()
        share = (number + len(KINDS) - 1 - at) // len(KINDS)
        found += [
            _case(kind, json.loads(line), closed)
            for line in random.Random(seed).sample(lines, share)
        ]
    return found


def _case(kind: str, line: dict[str, Any], closed: bool) -> Case:
    schemas = {tool["name"]: normal(tool["parameters"], closed) for tool in line["function"]}
    tools = [
        {"type": "function", "function": {**tool, "parameters": schemas[tool["name"]]}}
        for tool in line["function"]
    ]
    return Case(line["id"], kind, closed, line["question"][0], tools, schemas)
