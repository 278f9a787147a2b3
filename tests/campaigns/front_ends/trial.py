"""One case of the campaign, and the findings about it.

Limits     of each step (a compile, a report, the first masks) in CPU time, so that a busy machine
           changes little; a step that exceeds one is run again, and its best run counts.
Findings   a limit exceeded, or an error that is no refusal.
"""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from engine import Compiled

from .measured import Cost, Work, collected, held_after, run_measured
from .subjects import Case, Subjects, refusal_of, walk

MEBIBYTE = 1 << 20
#: CPU seconds of a step, of a pause of other threads, and from a cancellation to the end
MAX_CPU, MAX_PAUSE, MAX_AFTER_CANCEL = 1.0, 0.05, 0.2
#: bytes that a step may take
MAX_MEMORY = 256 * MEBIBYTE
#: bytes that may be held after a refused or cancelled step: what the pool keeps for reuse (its
#: spare memory and a region), and token masks of other rules
MAX_HELD = 64 * MEBIBYTE
#: CPU seconds from which a step is also cancelled in the middle
CANCELLED_FROM = 0.05
#: runs of a step that seems to exceed a limit of time
RUNS = 3
#: characters of an input that a finding shows
MAX_SHOWN = 300

Phase = Callable[[str], None]


@dataclass
class Outcome:
    """The outcome of a case. ``result``: "compiled" or the name of the refusal."""

    result: str = ""
    findings: list[tuple[str, str]] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    cpu: float = 0.0
    pause: float = 0.0
    peak: int = 0
    steps: int = 0

    def find(self, category: str, detail: str) -> None:
        self.findings.append((category, detail))


class Trial:
    """One case under way."""

    def __init__(self, subjects: Subjects, case: Case, enter: Phase) -> None:
        self.outcome = Outcome()
        self._subjects, self._case, self._enter = subjects, case, enter

    def run(self) -> Outcome:
        work = self._subjects.work(self._case)
        if work is None:
            self.outcome.result = "refused by the protocol"
            return self.outcome
        compile_again = self._forgetful(work)
        cost = self._step("compile", compile_again, is_returned=True)
        if isinstance(cost.made, Compiled):
            self._step("mask", walk(cost.made, self._case.name), is_returned=False)
        return self.outcome

    def _forgetful(self, work: Work) -> Work:
        """Return the work as a compiler does it that has not seen the case."""

        def forgetting(budget: Any) -> object:
            self._subjects.forget()
            # the caches are new, so the work is, too
            return (self._subjects.work(self._case) or work)(budget)

        return forgetting

    def _step(self, what: str, work: Work, *, is_returned: bool) -> Cost:
        """Measure one step, and check it against the limits."""
        self._enter(what)
        before = collected()
        cost = best = run_measured(work, self._subjects.limits)
        for _ in range(RUNS - 1):
            if best.cpu <= MAX_CPU and best.pause <= MAX_PAUSE:
                break
            self._enter(f"{what} again")
            again = run_measured(work, self._subjects.limits)
            best.cpu = min(best.cpu, again.cpu)
            if again.pause < best.pause:
                best.pause, best.paused_at = again.pause, again.paused_at
        if isinstance(cost.made, float):
            best.cpu = cost.made
        self._note(what, cost)
        self._check(what, best)
        made = cost.made
        if is_returned:
            if cost.error is not None:
                self._check_held(f"refused {what}", cost, before)
            if cost.cpu > CANCELLED_FROM:
                del made
                self._cancel(what, work, cost.cpu / 2)
                return Cost() if cost.error is not None else cost
        return cost

    def _cancel(self, what: str, work: Work, after: float) -> None:
        """Cancel the step in the middle."""
        self._enter(f"cancel {what}")
        before, best, cost = collected(), float("inf"), Cost()
        for _ in range(RUNS):
            cost = run_measured(work, self._subjects.limits, cancel_after=after)
            best = min(best, cost.after_cancel)
            if best <= MAX_AFTER_CANCEL:
                break
        if best > MAX_AFTER_CANCEL:
            self.outcome.find("cancel", f"{what}: {best:.2f} s after the cancellation")
        self._check_held(f"cancelled {what}", cost, before)

    def _note(self, what: str, cost: Cost) -> None:
        outcome = self.outcome
        if what == "compile":
            refusal = None if cost.error is None else refusal_of(cost.error)
            outcome.result = (
                "compiled" if cost.error is None else refusal or type(cost.error).__name__
            )
            outcome.steps = cost.steps
        outcome.cpu, outcome.pause = max(outcome.cpu, cost.cpu), max(outcome.pause, cost.pause)
        outcome.peak = max(outcome.peak, cost.peak)

    def _check(self, what: str, cost: Cost) -> None:
        find, at = self.outcome.find, ", ".join(place for place, _ in cost.busy_at.most_common(1))
        if cost.error is not None and refusal_of(cost.error) is None:
            find("error", f"{what}: {type(cost.error).__name__}: {str(cost.error)[:MAX_SHOWN]}")
        if cost.cpu > MAX_CPU:
            find("cpu", f"{what}: {cost.cpu:.2f} s, {cost.steps:,} steps, at {at}")
        if cost.pause > MAX_PAUSE:
            find("pause", f"{what}: {1000 * cost.pause:.0f} ms at {cost.paused_at}")
        if cost.peak > MAX_MEMORY:
            find("memory", f"{what}: {cost.peak / MEBIBYTE:,.0f} MB, {cost.steps:,} steps, at {at}")

    def _check_held(self, what: str, cost: Cost, before: int) -> None:
        held = held_after(cost, before, MAX_HELD)
        if held > MAX_HELD:
            self.outcome.find("held", f"{what}: {held / MEBIBYTE:,.0f} MB")


def shown(value: Any) -> str:
    """Return an input as a finding shows it: the middle of a long one is cut out."""
    text = json.dumps(value, ensure_ascii=False)
    if len(text) <= MAX_SHOWN:
        return text
    return f"{text[: MAX_SHOWN // 2]} ... {text[-MAX_SHOWN // 2 :]} ({len(text):,} characters)"
