"""Wraps the calls of SGLang's loop to a grammar backend.

Representation   methods are replaced where a class defines them, on every class of grammars that
                 exists after the backend, including SGLang's base class.
Invariants       I1 nested wrapped calls are not timed; the cost of their wrappers is subtracted
                 from the outer call. I2 results and exceptions of calls are unchanged.
Cost             0.3 us per call; the part between the two readings of the clock is measured at
                 startup and subtracted.
Threads          the scheduler's: compile threads make none of these calls.
"""

import functools
from collections.abc import Callable, Iterator
from time import perf_counter_ns
from typing import Any

from .tally import NUMBER, Tally

#: methods of a grammar: SGLang's names, and those of tally
GRAMMAR = {
    "copy": "copy",
    "allocate_vocab_mask": "allocate",
    "is_terminated": "is_terminated",
    "fill_vocab_mask_batched": "fill",
    "fill_vocab_mask": "fill_one",
    "move_vocab_mask": "move",
    "apply_vocab_mask": "apply",
    "accept_token": "accept",
    "rollback": "rollback",
}
BACKEND = {"get_request_grammar_key": "key", "get_cached_or_future_value": "lookup"}
#: calls for measuring the wrapper
TRIALS = 20_000


def watch(backend: Any, tally: Tally) -> None:
    """Count the calls of this process's backend from now on, if there is one."""
    from sglang.srt.constrained.base_grammar_backend import BaseGrammarObject

    if backend is None:
        return
    _calibrate(tally)
    for name, kind in BACKEND.items():
        if not hasattr(type(backend), name):  # of newer versions of SGLang
            continue
        setattr(type(backend), name, timed(getattr(type(backend), name), kind, tally))
    for each in list(_family(BaseGrammarObject)):
        for name in GRAMMAR.keys() & vars(each).keys():
            _replace(each, name, tally)


def timed(call: Callable[..., Any], kind: str, tally: Tally) -> Callable[..., Any]:
    """Return ``call`` with a wrapper that reports its time to ``tally``."""
    number = NUMBER[kind]
    before = _BEFORE.get(kind)

    @functools.wraps(call)
    def wrapper(*arguments: Any, **options: Any) -> Any:
        if tally.inside:
            tally.nested += 1
            return call(*arguments, **options)
        if before is not None:
            before(tally, *arguments, **options)
        tally.inside = True
        tally.nested = 0
        start = perf_counter_ns()
        try:
            return call(*arguments, **options)
        finally:
            tally.add(number, perf_counter_ns() - start)
            tally.inside = False

    return wrapper


def _masks(tally: Tally, entries: Any, *_: Any, **__: Any) -> None:
    tally.masks(len(entries))


_BEFORE: dict[str, Callable[..., None]] = {
    "allocate": lambda tally, *_, **__: tally.next_step(),
    "fill": _masks,
}


def _family(root: type) -> Iterator[type]:
    yield root
    for child in root.__subclasses__():
        yield from _family(child)


def _replace(owner: type, name: str, tally: Tally) -> None:
    raw = vars(owner)[name]
    is_static = isinstance(raw, staticmethod)
    wrapper = timed(raw.__func__ if is_static else raw, GRAMMAR[name], tally)
    setattr(owner, name, staticmethod(wrapper) if is_static else wrapper)


def _calibrate(tally: Tally) -> None:
    """Return the minimum of several trials: interruptions only make a trial longer."""
    trial = Tally()
    nothing: Callable[[], None] = lambda: None  # noqa: E731
    wrapped = timed(nothing, "accept", trial)
    plain = _each(nothing)
    tally.call_ns = max(0.0, _timed_each(trial, wrapped) - plain)
    trial.inside = True
    tally.nested_ns = max(0.0, _each(wrapped) - plain)


def _each(call: Callable[[], Any]) -> float:
    """Return the minimum nanoseconds of one call."""
    best = float("inf")
    for _ in range(5):
        start = perf_counter_ns()
        for _ in range(TRIALS // 5):
            call()
        best = min(best, (perf_counter_ns() - start) / (TRIALS // 5))
    return best


def _timed_each(trial: Tally, wrapped: Callable[[], Any]) -> float:
    """Return the minimum nanoseconds that a wrapped call reports."""
    best = float("inf")
    for _ in range(5):
        trial.taken()
        for _ in range(TRIALS // 5):
            wrapped()
        best = min(best, trial.taken()["ns"][NUMBER["accept"]] / (TRIALS // 5))
    return best
