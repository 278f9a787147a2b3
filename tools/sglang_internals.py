"""Print the table of SGLang's internals against one or more versions, without starting any.

    python -m tools.sglang_internals [PATH...]

A path is a wheel, or a folder that contains ``sglang``; without one, the SGLang of this
interpreter.
Each line shows a piece, and the way of it that holds; those that do not hold come first. Exits
with 1 if a version lacks a piece.
"""

import argparse
import sys
from pathlib import Path

from adapters.sglang_plugin.internals import TABLE, Piece, fault_of
from adapters.sglang_plugin.sources import Sources


def main(given: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.sglang_internals",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("paths", nargs="*", type=Path, metavar="PATH")
    paths = parser.parse_args(given).paths
    try:
        versions = {str(path): Sources(path) for path in paths} or {
            "installed": Sources.installed()
        }
    except ModuleNotFoundError:
        parser.error("this interpreter has no SGLang: name a wheel, or a folder that contains it")
    for name, sources in versions.items():
        if sources.module("sglang") is None:
            parser.error(f"{name}: no wheel or folder that contains sglang")
    return max(report(name, sources) for name, sources in versions.items())


def report(name: str, sources: Sources) -> int:
    """Print the table of one version; return 1 if it lacks a piece."""
    lines = [_line(piece, sources) for piece in TABLE]
    lines.sort(key=lambda line: line.startswith("ok"))
    sys.stdout.write("\n".join((f"== {name}", *lines, "")))
    return int(any(line.startswith("lacks") for line in lines))


def _line(piece: Piece, sources: Sources) -> str:
    fault = fault_of(piece, sources)
    if fault is None:
        way = next(way for way in piece.ways if way.fault(sources) is None)
        return f"ok      {way}"
    if piece.optional and fault.is_absent:
        return f"absent  {piece}: optional, {piece.purpose}"
    return f"lacks   {fault}"


if __name__ == "__main__":
    sys.exit(main())
