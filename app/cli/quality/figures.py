"""Figures of many answers: counts, and their shares and means."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .judging import Verdict

#: figures of ``Figures.summary``, and their names in tables
NAMES = {
    "answers": "answers",
    "failed": "failed",
    "complete": "complete",
    "valid": "valid",
    "function": "right function",
    "arguments": "right arguments",
    "field_score": "field score",
    "cut": "cut",
    "invented_keys": "invented keys",
    "calls_an_answer": "calls an answer",
}


@dataclass
class Figures:
    """The verdicts of one row: a model, a set and a way. ``failures``: requests without an answer,
    each with its reason. ``tokens``: of all answers; ``seconds``: that they took.
    """

    verdicts: list[Verdict] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    tokens: int = 0
    seconds: float = 0.0

    def add(self, verdict: Verdict, *, tokens: int, seconds: float) -> None:
        self.verdicts.append(verdict)
        self.tokens += tokens
        self.seconds += seconds

    def extend(self, other: "Figures") -> None:
        """Add the answers of another row."""
        self.verdicts += other.verdicts
        self.failures += other.failures
        self.tokens += other.tokens
        self.seconds += other.seconds

    def summary(self) -> dict[str, Any]:
        """Return the figures; None: not measured."""
        verdicts = self.verdicts
        return {
            "answers": len(verdicts),
            "failed": len(self.failures),
            "complete": sum(verdict.complete for verdict in verdicts),
            "valid": _count([verdict.valid for verdict in verdicts]),
            "cut": sum(verdict.cut for verdict in verdicts),
            "function": _count([verdict.function for verdict in verdicts]),
            "arguments": _count([verdict.arguments for verdict in verdicts]),
            "field_score": _mean([v.fields for v in verdicts if v.fields is not None]),
            "invented_keys": sum(verdict.invented for verdict in verdicts),
            "calls_an_answer": _mean([v.calls for v in verdicts if v.function is not None]),
            "tokens": self.tokens,
            "seconds": round(self.seconds, 2),
        }


def _count(values: Sequence[bool | None]) -> int | None:
    """Return how many are true; None: none was judged."""
    judged = [value for value in values if value is not None]
    return sum(judged) if judged else None


def _mean(values: Sequence[float]) -> float | None:
    return round(sum(values) / len(values), 3) if values else None
