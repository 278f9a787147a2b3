"""Schemas as people wrote them, from a folder of MaskBench files.

folder/*.json    {"schema": ..., "tests": [{"valid": bool, "data": ...}, ...]}
"""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator, SchemaError

from engine import Compiler, EngineError


@dataclass(frozen=True)
class Written:
    """A schema and the file it stands in."""

    id: str
    schema: dict[str, Any]


class Selection:
    """The first ``number`` schemas, in an order that is always the same, that the engine takes.

    ``refused``: file -> reason, of those that it met and left out.
    """

    def __init__(self, folder: Path, number: int, compiler: Compiler, *, seed: int = 0) -> None:
        self.taken: list[Written] = []
        self.refused: dict[str, str] = {}
        for written in _shuffled(folder, seed):
            if len(self.taken) == number:
                break
            reason = _refusal(written.schema, compiler)
            if reason is None:
                self.taken.append(written)
            else:
                self.refused[written.id] = reason


def _shuffled(folder: Path, seed: int) -> Iterator[Written]:
    files = sorted(folder.glob("*.json"))
    random.Random(seed).shuffle(files)
    for file in files:
        schema = json.loads(file.read_text("utf-8"))["schema"]
        if isinstance(schema, dict):
            yield Written(file.stem, schema)


def _refusal(schema: dict[str, Any], compiler: Compiler) -> str | None:
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        return f"no schema of draft 2020-12: {error.message[:80]}"
    try:
        compiler.compile_json_schema(schema)
    except EngineError as error:
        return f"{type(error).__name__}: {error}"
    return None
