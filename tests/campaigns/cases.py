"""One case of the campaign: a schema, compiled, walked and asked about; what is wrong comes out.

walks       each ends in a text that `jsonschema` finds valid; no mask is empty
instances   a valid one is accepted in the schema's order and in any order (instances.py says which
            texts are promised); an invalid one is not

The judge is that of tests/conformance/oracle.py: exact decimals, formats where the engine asserts
them. What it can't judge (it recurses too deep) is counted, and no finding.
"""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

import engine
from tests.conformance.oracle import Oracle, parsed

from . import instances
from .compositions import Schema
from .walks import Stuck, hints, walker

#: CPU seconds that a compile, or a refusal, may take
MOST_COMPILE_SECONDS = 1.0
#: share of the walks in which members may stand in any order
ANY_ORDER_SHARE = 0.4
#: values that are made for one schema, and valid ones of which every order is tried
CANDIDATES, MOST_VALID = 12, 4

Phase = Callable[[str], None]


@dataclass(frozen=True)
class Case:
    """What a worker is asked. `name` seeds the walks and instances."""

    name: str
    schema: Schema
    vocabulary: str = "small"
    walks: int = 10


@dataclass
class Outcome:
    """What came of a case. `result` is "compiled", or why it was refused."""

    result: str = ""
    findings: list[tuple[str, str]] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    compile_seconds: float = 0.0
    slowest_mask: float = 0.0

    def find(self, category: str, detail: str) -> None:
        self.findings.append((category, detail))


def run_case(compiler: engine.Compiler, case: Case, enter: Phase) -> Outcome:
    """Calls `enter` with the name of each phase before it begins: a watchdog wants to know."""
    outcome, rng = Outcome(), Random(case.name)
    enter("compile")
    plain = compiled_or_none(compiler, case.schema, outcome, any_order=False)
    enter("compile in any order")
    any_order = compiled_or_none(compiler, case.schema, outcome, any_order=True)
    enter("judge")
    values = judged_values(case.schema, rng, outcome)
    if plain is None:
        if outcome.result == "nothing fits" and True in (verdict for _, verdict in values):
            valid = next(value for value, verdict in values if verdict)
            outcome.find("called unsatisfiable", f"{json.dumps(valid)} is valid")
        return outcome
    enter("match")
    for value, is_valid in values:
        if is_valid:
            check_valid(case.schema, value, plain, any_order, rng, outcome)
        else:
            check_invalid(value, plain, outcome)
    enter("walk")
    texts = list(walked(case, plain, any_order, rng, outcome))
    enter("judge")
    judge_texts(case.schema, texts, outcome)
    return outcome


# -- compiling ------------------------------------------------------------------------------------
def compiled_or_none(
    compiler: engine.Compiler, schema: Schema, outcome: Outcome, *, any_order: bool
) -> engine.Compiled | None:
    """None where the schema is refused by name. The first order's result is the outcome's."""
    begin, cpu = time.perf_counter(), time.process_time()
    compiled, result = None, "compiled"
    try:
        compiled = compiler.compile_json_schema(schema, any_order=any_order)
    except engine.UnsupportedSchema as error:
        result = f"refused {error.keyword}"
    except engine.LimitExceeded as error:
        result = f"limit {error.limit}"
    except engine.SpecError as error:
        result = "nothing fits" if "nothing can satisfy" in error.message else "ill-formed"
        if result == "ill-formed":
            outcome.find("called ill-formed", str(error))
    except Exception as error:
        result = "error"
        outcome.find("error", f"compile: {error!r}")
    took = min(time.perf_counter() - begin, time.process_time() - cpu)
    if took > MOST_COMPILE_SECONDS:
        outcome.find("slow compile", f"{took:.1f} s, {result}{' in any order' * any_order}")
    outcome.compile_seconds = max(outcome.compile_seconds, took)
    if not any_order:
        outcome.result = result
    elif outcome.result == "compiled" != result:
        outcome.counts[f"in any order only: {result}"] += 1
    return compiled


# -- instances ------------------------------------------------------------------------------------
def judged_values(schema: Schema, rng: Random, outcome: Outcome) -> list[tuple[Any, bool]]:
    """Values made from the schema, each with the judge's verdict."""
    maker, found = instances.InstanceMaker(schema, rng), {}
    try:
        oracle = Oracle(schema)
        for _ in range(CANDIDATES):
            value = maker.candidate()
            found[json.dumps(value)] = value
        return [(value, oracle.accepts(parsed(text))) for text, value in found.items()]
    except RecursionError:
        outcome.counts["schemas not judged"] += 1
        return []


def check_valid(
    schema: Schema,
    value: Any,
    plain: engine.Compiled,
    any_order: engine.Compiled | None,
    rng: Random,
    outcome: Outcome,
) -> None:
    """Every text that is promised for a valid value is accepted."""
    narrow = instances.has_narrow_opposites(schema)
    if outcome.counts["valid instances"] >= MOST_VALID or not instances.is_promised(value, narrow):
        return
    outcome.counts["valid instances"] += 1
    text = instances.written(instances.in_order_of(schema, value))
    if not accepts(plain, text):
        if instances.has_plain_order(schema):
            outcome.find("refused valid", f"in the schema's order: {text.decode()}")
        elif instances.orders(value) <= instances.MOST_ORDERS and not any(
            accepts(plain, instances.written(each)) for each in instances.in_all_orders(value)
        ):
            outcome.find("refused valid", f"in every order: {text.decode()}")
    if any_order is None:
        return
    kept = instances.listed_objects(schema)
    for text in {instances.written(instances.shuffled(value, rng, kept)) for _ in range(2)}:
        if not accepts(any_order, text):
            outcome.find("refused valid", f"in any order: {text.decode()}")


def check_invalid(value: Any, plain: engine.Compiled, outcome: Outcome) -> None:
    outcome.counts["invalid instances"] += 1
    text = instances.written(value)
    if accepts(plain, text):
        outcome.find("accepted invalid", text.decode())


def accepts(compiled: engine.Compiled, text: bytes) -> bool:
    matcher = engine.Matcher(compiled)
    return matcher.accept_bytes(text) and matcher.can_stop()


# -- walks ----------------------------------------------------------------------------------------
def walked(
    case: Case,
    plain: engine.Compiled,
    any_order: engine.Compiled | None,
    rng: Random,
    outcome: Outcome,
) -> Iterator[bytes]:
    """The texts of the walks that finished."""
    guide = walker(case.vocabulary)
    guide.slowest_mask, hinted = 0.0, hints(case.schema)
    for at in range(case.walks):
        is_plain = any_order is None or at >= case.walks * ANY_ORDER_SHARE
        compiled = plain if is_plain else any_order
        outcome.counts["walks"] += 1
        try:
            text = guide.walk(compiled, rng, hinted)
        except Stuck as stuck:
            outcome.counts["stuck walks"] += 1
            order = "" if is_plain else "in any order, "
            outcome.find("stuck", order + str(stuck))
            continue
        except Exception as error:
            outcome.find("error", f"walk: {error!r}")
            continue
        if text is None:
            outcome.counts["unfinished walks"] += 1
        else:
            yield text
    outcome.slowest_mask = guide.slowest_mask


def judge_texts(schema: Schema, texts: list[bytes], outcome: Outcome) -> None:
    oracle = Oracle(schema)
    for text in texts:
        try:
            value = parsed(text)
            if not oracle.accepts(value):
                outcome.find("invalid text", f"{text.decode()}: {oracle.why(value)}")
        except RecursionError:
            outcome.counts["texts not judged"] += 1
        except ValueError as error:
            outcome.find("invalid text", f"{text!r}: {error}")
