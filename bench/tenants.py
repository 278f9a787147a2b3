"""python -m bench.tenants: the cost of a cache namespace for each tenant.

Tenants use the same schemas, one after the other, and each schema twice. "shared": one compiler;
"key": one for each tenant, as with SWITCHYARD_CACHE_NAMESPACE=key. A use compiles the schema, or
finds it, and computes masks along a text, as a worker does for an answer.

    hits     share of uses whose grammar was cached
    first    median milliseconds of a tenant's first use of a schema; then: of the second one
    make     seconds that a namespace takes to make
    held     MiB that grammars, masks and automata hold at the end; the budgets are the defaults
"""

import argparse
import gc
import time
from collections.abc import Iterator, Sequence
from functools import partial
from statistics import median
from typing import Any

from engine import Bitmask, Compiler, Limits, Matcher, Namespaces, Vocabulary
from engine.native import resources

from .report import markdown
from .vocabularies import load

MEBIBYTE = 1 << 20
#: the default budget of compilers, and of namespaces that divide it
BUDGET, NAMESPACES = 832 * MEBIBYTE, 16


def schema_of(number: int) -> dict[str, Any]:
    """Return a schema of the usual kind; no two have a pattern in common."""
    return {
        "type": "object",
        "properties": {
            f"name{number}": {"type": "string", "maxLength": 40 + number},
            "code": {
                "type": "string",
                "pattern": f"^[A-Z]{{2,{3 + number % 9}}}-[0-9]{{{number}}}$",
            },
            "day": {"type": "string", "format": "date"},
            "count": {"type": "integer", "minimum": number, "maximum": 1000 + number},
        },
        "required": [f"name{number}", "code", "day", "count"],
        "additionalProperties": False,
    }


def text_of(number: int) -> bytes:
    """Return an answer."""
    code = f"AB-{'7' * number}"
    return (
        f'{{"name{number}": "Ada Lovelace", "code": "{code}", "day": "2024-05-06", '
        f'"count": {900 + number}}}'
    ).encode()


def use(compiler: Compiler, mask: Bitmask, number: int) -> float:
    """Return the milliseconds of one use."""
    start = time.perf_counter()
    matcher = Matcher(compiler.compile_json_schema(schema_of(number)))
    for byte in text_of(number):
        matcher.fill_bitmask(mask)
        matcher.accept_bytes(bytes((byte,)))
    return 1e3 * (time.perf_counter() - start)


def rows(vocabulary: Vocabulary, tenants: Sequence[int], schemas: int) -> Iterator[list[str]]:
    mask = memoryview(bytearray(4 * vocabulary.words)).cast("i", (1, vocabulary.words))
    for count in tenants:
        for mode in ("shared", "key"):
            most = count if mode == "key" else 0
            limits = Limits().within(BUDGET // (1 + (NAMESPACES if most else 0)))
            make = partial(Compiler, vocabulary, limits=limits)
            gc.collect()
            before = resources.stats()["taken"]
            names = Namespaces(make(), make, most=most)
            first, then, making = [], [], [0.0]
            for tenant in range(count):
                start = time.perf_counter()
                compiler = names.of(f"{tenant:032x}")
                if mode == "key":
                    making.append(time.perf_counter() - start)
                for number in range(1, schemas + 1):
                    first.append(use(compiler, mask, number))
                    then.append(use(compiler, mask, number))
            uses = 2 * count * schemas
            hits = sum(each.stats()["grammar_hits"] for each in names)
            held = (resources.stats()["taken"] - before) / MEBIBYTE
            shown = [f"{hits / uses:.0%}", f"{median(first):.2f}", f"{median(then):.2f}"]
            yield [str(count), mode, *shown, f"{max(making):.2f}", f"{held:.1f}"]
            del names, compiler


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--vocabulary", default="sized@128000")
    parser.add_argument("--tenants", type=int, nargs="*", default=[1, 4, 16])
    parser.add_argument("--schemas", type=int, default=20)
    asked = parser.parse_args()
    loaded = load(asked.vocabulary)
    vocabulary = Vocabulary(
        loaded.tokens,
        stop_token_ids=[loaded.stop],
        special_token_ids=sorted(loaded.special.values()),
    )
    heads = ["tenants", "namespace", "hits", "first", "then", "make", "held"]
    print(markdown([heads, *rows(vocabulary, asked.tenants, asked.schemas)]))


if __name__ == "__main__":
    main()
