"""One case of the campaign: a schema, compiled, walked and asked about; what is wrong comes out.

walks       each ends in a text that `jsonschema` finds valid; no mask is empty
instances   a valid one is accepted in the schema's order and in any order (instances.py says which
            texts are promised); an invalid one is not

The judge is that of tests/conformance/oracle.py: exact decimals, formats where the engine asserts
them. Cases that it cannot judge (it recurses too deeply) are counted, and are not findings.
"""

import json
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any

import engine
from tests.conformance.instances import MAX_ORDERS, in_all_orders, orders
from tests.conformance.oracle import Oracle, parsed
from tests.conformance.schemas import Schema

from . import instances
from .walks import Stuck, hints, walker

#: CPU seconds that a compile, or a refusal, may take
MAX_COMPILE_SECONDS = 1.0
#: share of the walks in which members may stand in any order
ANY_ORDER_SHARE = 0.4
#: values that are made for one schema, and valid ones of which every order is tried
CANDIDATES, MAX_VALID = 12, 4

#: CPU seconds of jsonschema for one schema's values, or one text: it doubles its work with each level
#: of a recursive `unevaluatedProperties`
MAX_JUDGE_SECONDS = 2.0

Phase = Callable[[str], None]


@dataclass(frozen=True)
class Case:
    """The task of a worker. `name` seeds the walks and instances."""

    name: str
    schema: Schema
    vocabulary: str = "small"
    walks: int = 10


@dataclass
class Outcome:
    """The outcome of a case. `result` is "compiled", or the reason of the refusal."""

    result: str = ""
    findings: list[tuple[str, str]] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    compile_seconds: float = 0.0
    slowest_mask: float = 0.0

    def find(self, category: str, detail: str) -> None:
        self.findings.append((category, detail))


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raises TimeoutError in Python code that takes so many seconds of the processor."""

    def give_up(*_: Any) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGVTALRM, give_up)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def run_case(compiler: engine.Compiler, case: Case, enter: Phase) -> Outcome:
    """Calls `enter` with the name of each phase before it begins: a watchdog wants to know."""
    trial = Trial(compiler, case, enter)
    trial.run()
    return trial.outcome


class Trial:
    """One case under way."""

    def __init__(self, compiler: engine.Compiler, case: Case, enter: Phase) -> None:
        self.outcome = Outcome()
        self._compiler, self._case, self._enter = compiler, case, enter
        self._schema, self._rng = case.schema, Random(case.name)

    def run(self) -> None:
        self._enter("compile")
        self._plain = self._compiled(any_order=False)
        self._enter("compile in any order")
        self._any_order = self._compiled(any_order=True)
        self._enter("judge")
        self._oracle = Oracle(self._schema)
        values = self._judged_values()
        if self._plain is None:
            if self.outcome.result == "nothing fits":
                self._check_nothing_fits(values)
            return
        self._enter("match")
        self._check_values(self._plain, values)
        texts = list(self._walked(self._plain))
        self._enter("judge")
        self._judge_texts(texts)

    # -- compiling --------------------------------------------------------------------------------
    def _compiled(self, *, any_order: bool) -> engine.Compiled | None:
        """None where the schema is refused by name. The first order's result is the outcome's."""
        outcome = self.outcome
        begin, cpu = time.perf_counter(), time.process_time()
        compiled, result = None, "compiled"
        try:
            compiled = self._compiler.compile_json_schema(self._schema, any_order=any_order)
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
        if took > MAX_COMPILE_SECONDS:
            outcome.find("slow compile", f"{took:.1f} s, {result}{' in any order' * any_order}")
        outcome.compile_seconds = max(outcome.compile_seconds, took)
        if not any_order:
            outcome.result = result
        elif outcome.result == "compiled" != result:
            outcome.counts[f"in any order only: {result}"] += 1
        return compiled

    # -- instances --------------------------------------------------------------------------------
    def _judged_values(self) -> list[tuple[Any, bool]]:
        """Values made from the schema, each with the judge's verdict."""
        maker, found = instances.InstanceMaker(self._schema, self._rng), {}
        try:
            with at_most(MAX_JUDGE_SECONDS):
                for _ in range(CANDIDATES):
                    value = maker.candidate()
                    found[json.dumps(value)] = value
                return [
                    (value, self._oracle.accepts(parsed(text))) for text, value in found.items()
                ]
        except (RecursionError, TimeoutError):
            self.outcome.counts["schemas not judged"] += 1
            return []

    def _check_nothing_fits(self, values: list[tuple[Any, bool]]) -> None:
        for value, is_valid in values:
            if is_valid:
                self.outcome.find("called unsatisfiable", f"{json.dumps(value)} is valid")
                return

    def _check_values(self, plain: engine.Compiled, values: list[tuple[Any, bool]]) -> None:
        promise = instances.Promise(self._schema)
        valid = [value for value, is_valid in values if is_valid]
        promised = [value for value in valid if value in promise][:MAX_VALID]
        for value in promised:
            self._check_order(plain, value)
            if self._any_order is not None:
                self._check_any_order(self._any_order, value)
        self.outcome.counts["valid instances"] += len(promised)
        for value, is_valid in values:
            if not is_valid and accepts(plain, text := instances.written(value)):
                self.outcome.find("accepted invalid", text.decode())
        self.outcome.counts["invalid instances"] += len(values) - len(valid)

    def _check_order(self, plain: engine.Compiled, value: Any) -> None:
        """In the schema's order, or where that is not plain, in one of all orders."""
        text = instances.written(instances.in_order_of(self._schema, value))
        if accepts(plain, text):
            return
        if instances.has_plain_order(self._schema):
            self.outcome.find("refused valid", f"in the schema's order: {text.decode()}")
        elif orders(value) <= MAX_ORDERS and not any(
            accepts(plain, instances.written(each)) for each in in_all_orders(value)
        ):
            self.outcome.find("refused valid", f"in every order: {text.decode()}")

    def _check_any_order(self, any_order: engine.Compiled, value: Any) -> None:
        kept = instances.listed_objects(self._schema)
        for text in {
            instances.written(instances.shuffled(value, self._rng, kept)) for _ in range(2)
        }:
            if not accepts(any_order, text):
                self.outcome.find("refused valid", f"in any order: {text.decode()}")

    # -- walks ------------------------------------------------------------------------------------
    def _walked(self, plain: engine.Compiled) -> Iterator[bytes]:
        """The texts of the walks that finished."""
        outcome, guide = self.outcome, walker(self._case.vocabulary)
        guide.slowest_mask, hinted = 0.0, hints(self._schema, self._rng)
        for at in range(self._case.walks):
            self._enter("walk")
            compiled = self._any_order if at < self._case.walks * ANY_ORDER_SHARE else plain
            compiled = compiled or plain
            outcome.counts["walks"] += 1
            try:
                text = guide.walk(compiled, self._rng, hinted)
            except Stuck as stuck:
                outcome.counts["stuck walks"] += 1
                outcome.find("stuck", "in any order, " * (compiled is not plain) + str(stuck))
                continue
            except Exception as error:
                outcome.find("error", f"walk: {error!r}")
                continue
            if text is None:
                outcome.counts["unfinished walks"] += 1
            else:
                yield text
        outcome.slowest_mask = guide.slowest_mask
        if outcome.counts["unfinished walks"] == self._case.walks:
            outcome.counts["schemas of which no walk finished"] += 1

    def _judge_texts(self, texts: list[bytes]) -> None:
        for text in texts:
            try:
                with at_most(MAX_JUDGE_SECONDS):
                    value = parsed(text)
                    why = [] if self._oracle.accepts(value) else self._oracle.why(value)
            except (RecursionError, TimeoutError):
                self.outcome.counts["texts not judged"] += 1
            except ValueError as error:
                self.outcome.find("invalid text", f"{text!r}: {error}")
            else:
                if why:
                    self.outcome.find("invalid text", f"{text.decode()}: {why}")


def accepts(compiled: engine.Compiled, text: bytes) -> bool:
    matcher = engine.Matcher(compiled)
    return matcher.accept_bytes(text) and matcher.can_stop()
