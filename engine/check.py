"""Check a JSON Schema from the command line.

    python -m engine.check schema.json          a report as text
    python -m engine.check --json - < file      a report as JSON

Exit status: 0 the whole schema is enforced; 1 something is refused; 2 no schema: the file cannot be
read, is not JSON, or contains neither an object nor a boolean.

The vocabulary consists of single bytes, which suffices to decide what is enforced. Times and bytes
are lower than with a model's vocabulary.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .compiler import Compiler
from .schema_tools import check_json_schema
from .vocabulary.vocabulary import Vocabulary

ENFORCED, REFUSED, NO_SCHEMA = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the report and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m engine.check",
        description="Report which keywords of a schema are enforced.",
    )
    parser.add_argument("file", help="the schema; - reads standard input")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    chosen = parser.parse_args(arguments)
    try:
        schema = read_schema(chosen.file)
    except (OSError, ValueError, RecursionError) as error:
        sys.stderr.write(f"{chosen.file}: {error}\n")
        return NO_SCHEMA
    report = check_json_schema(schema, Compiler(byte_vocabulary()))
    text = json.dumps(report.as_dict(), indent=2) + "\n" if chosen.json else report.text()
    sys.stdout.write(text)
    return ENFORCED if report.is_enforced else REFUSED


def read_schema(file: str) -> Any:
    """Read a schema; raise OSError, or ValueError and RecursionError if there is none."""
    text = sys.stdin.read() if file == "-" else Path(file).read_text("utf-8")
    schema = json.loads(text)
    if not isinstance(schema, dict | bool):
        raise ValueError("a schema must be an object or a boolean")
    return schema


def byte_vocabulary() -> Vocabulary:
    """Return a vocabulary of the 256 bytes and a stop token."""
    return Vocabulary([bytes([byte]) for byte in range(256)] + [b"<end>"], stop_token_ids=[256])


if __name__ == "__main__":
    sys.exit(main())
