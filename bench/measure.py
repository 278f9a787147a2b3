"""Timing: one text after another through every engine in turn, so that drift hits all alike.

All times in microseconds. first = compile and first mask; mask = filling a mask; accept = taking
the token.
"""

import json
import time
from collections import defaultdict
from functools import partial
from typing import Any, NamedTuple

from .data import SchemaCase, ToolCase
from .engines import Engine
from .vocabularies import Loaded


class Result:
    """What one engine showed: times by kind, and counts."""

    def __init__(self) -> None:
        self.times: dict[str, list[float]] = defaultdict(list)
        self.counts: dict[str, int] = defaultdict(int)


class Walk(NamedTuple):
    """Whether a text was taken to its end, and whether it may end there."""

    taken: bool
    whole: bool


def _now() -> float:
    return time.perf_counter() * 1e6


def _compile(engine: Engine, result: Result, make: Any) -> Any | None:
    start = _now()
    try:
        compiled = make()
        result.times["compile"].append(_now() - start)
        state = engine.start(compiled)
        engine.fill(state)
    except Exception as error:
        result.counts[f"refused ({type(error).__name__})"] += 1
        return None
    result.times["first"].append(_now() - start)
    return compiled


def _walk(engine: Engine, result: Result, compiled: Any, ids: list[int], stop: int) -> Walk:
    state = engine.start(compiled)
    for token in ids:
        start = _now()
        engine.fill(state)
        filled = _now()
        result.times["mask"].append(filled - start)
        if not engine.allowed(token):
            return Walk(False, False)
        start = _now()
        taken = engine.accept(state, token)
        result.times["accept"].append(_now() - start)
        if not taken:
            result.counts["mask and accept disagree"] += 1
            return Walk(False, False)
    engine.fill(state)
    return Walk(True, engine.allowed(stop))


def measure_schemas(
    engines: dict[str, Engine], loaded: Loaded, cases: list[SchemaCase]
) -> dict[str, Result]:
    results = {name: Result() for name in engines}
    for case in cases:
        for name, engine in engines.items():
            result = results[name]
            compiled = _compile(engine, result, partial(engine.compile_schema, case.schema))
            if compiled is None:
                continue
            result.counts["schemas taken"] += 1
            for text, valid in case.texts:
                ids = loaded.encoding.encode(text, disallowed_special=())
                whole = _walk(engine, result, compiled, ids, loaded.stop).whole
                if whole != valid:
                    result.counts["valid rejected" if valid else "invalid taken"] += 1
    return results


def measure_tools(
    engines: dict[str, Engine], loaded: Loaded, cases: list[ToolCase]
) -> dict[str, Result]:
    """Free text, then the true calls in the syntax ``<function=NAME>{...}</function>``."""
    results = {name: Result() for name in engines}
    for case in cases:
        tags = [(f"<function={name}>", schema, "</function>") for name, schema in case.tools]
        calls = [
            f"<function={n}>{json.dumps(a, ensure_ascii=False)}</function>" for n, a in case.calls
        ]
        text = "Let me look at what you need.\n" + "\n".join(calls)
        ids = loaded.encoding.encode(text, disallowed_special=())
        wrong = loaded.encoding.encode(text.replace("<function=", "<function=no_such_", 1))
        for name, engine in engines.items():
            result = results[name]
            compiled = _compile(engine, result, partial(engine.compile_tags, "<function=", tags))
            if compiled is None:
                continue
            result.counts["tool sets taken"] += 1
            if not _walk(engine, result, compiled, ids, loaded.stop).whole:
                result.counts["true answers rejected"] += 1
            if _walk(engine, Result(), compiled, wrong, loaded.stop).taken:
                result.counts["wrong answers taken"] += 1
    return results
