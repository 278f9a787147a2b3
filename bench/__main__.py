"""python -m bench: see README.md in this folder."""

import argparse
import os
import platform
from pathlib import Path

from . import data
from .engines import ENGINES
from .measure import measure_schemas, measure_tools
from .report import table
from .vocabularies import NAMES, load

BFCL = ".data/bfcl_eval/data"


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--engines", default="ours", help="ours,xgrammar,llguidance")
    parser.add_argument("--vocabulary", default="llama3", choices=NAMES)
    parser.add_argument("--sample", type=int, default=100, help="cases of each kind")
    parser.add_argument("--maskbench", default=os.environ.get("SWITCHYARD_MASKBENCH"))
    parser.add_argument("--bfcl", default=os.environ.get("SWITCHYARD_BFCL", BFCL))
    return parser.parse_args(given)


def main(given: list[str] | None = None) -> None:
    asked = arguments(given)
    loaded = load(asked.vocabulary)
    engines = {name: ENGINES[name](loaded) for name in asked.engines.split(",")}
    schemas = data.builtin_schemas()
    if asked.maskbench:
        schemas = data.maskbench(Path(asked.maskbench), asked.sample)
    tools = data.builtin_tools()
    if Path(asked.bfcl).is_dir():
        tools = data.bfcl(Path(asked.bfcl), asked.sample)
    print(
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, ",
        end="",
    )
    print(f"vocabulary {asked.vocabulary} ({len(loaded.tokens):,} tokens), one thread\n")
    print(table(f"{len(schemas)} schemas", measure_schemas(engines, loaded, schemas)), end="\n\n")
    print(table(f"{len(tools)} tool sets", measure_tools(engines, loaded, tools)))


if __name__ == "__main__":
    main()
