"""One run: some cases through one gateway, each answer judged, and the numbers that come of it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from statistics import quantiles
from typing import TypeVar

from .asking import MAX_TOKENS, Answer, ask_all, client_of, complete
from .bfcl import Case
from .judging import Judge
from .maskbench import Written

#: share of answers that noise may leave unfinished
MAX_CUT = 0.05

T = TypeVar("T")


@dataclass(frozen=True)
class Target:
    """The gateway that is asked. ``seed``: another one draws other answers. ``max_tokens``: limit
    of an answer.
    """

    url: str
    model: str = "noise"
    seed: int = 0
    max_tokens: int = MAX_TOKENS

    def draws(self, number: int) -> int:
        """The seed of one request."""
        return 1_000_000 * self.seed + number


@dataclass
class Tally:
    """Outcomes of the answers of one kind. ``wrong``: case -> the errors of its answer."""

    cases: int = 0
    finished: int = 0
    cut: int = 0
    calls: int = 0
    wrong: dict[str, list[str]] = field(default_factory=dict)
    lengths: list[int] = field(default_factory=list)

    def add(self, case: str, answer: Answer, wrong: list[str]) -> None:
        """Counts one answer; ``cut`` and ``finished`` count right ones only."""
        self.cases += 1
        self.calls += len(answer.calls)
        self.lengths.append(answer.completion_tokens)
        if wrong:
            self.wrong[case] = wrong
        elif answer.finish == "length":
            self.cut += 1
        else:
            self.finished += 1

    def plus(self, other: "Tally") -> "Tally":
        return Tally(
            self.cases + other.cases,
            self.finished + other.finished,
            self.cut + other.cut,
            self.calls + other.calls,
            self.wrong | other.wrong,
            self.lengths + other.lengths,
        )

    @property
    def passes(self) -> bool:
        return not self.wrong and self.cut < MAX_CUT * self.cases

    def row(self) -> tuple[int, ...]:
        """cases, finished, cut off, wrong, calls, and tokens: median, 95th percentile, all."""
        marks = quantiles(self.lengths, n=20) if len(self.lengths) > 1 else self.lengths * 19
        tokens = (round(marks[9]), round(marks[18]), sum(self.lengths))
        return (self.cases, self.finished, self.cut, len(self.wrong), self.calls, *tokens)


Tallies = dict[str, Tally]


async def run_calls(target: Target, cases: Sequence[Case], judge: Judge) -> Tallies:
    """Every case with tool_choice required; every other one is streamed."""

    async def ask(number: int, case: Case) -> Answer:
        return await complete(
            client,
            stream=number % 2 == 1,
            model=target.model,
            messages=case.messages,
            tools=case.tools,
            tool_choice="required",
            seed=target.draws(number),
            max_tokens=target.max_tokens,
        )

    async with client_of(target.url) as client:
        answers = await ask_all(cases, ask)
    return _tallies(
        cases, answers, lambda c: (c.kind, c.id), lambda c, a: judge.calls(a, c.schemas)
    )


async def run_schemas(target: Target, cases: Sequence[Written], judge: Judge) -> Tallies:
    """Every schema as response_format; every other one is streamed."""

    async def ask(number: int, case: Written) -> Answer:
        return await complete(
            client,
            stream=number % 2 == 1,
            model=target.model,
            messages=[{"role": "user", "content": "Fill in the form."}],
            response_format={
                "type": "json_schema",
                "json_schema": {"name": "form", "schema": case.schema},
            },
            seed=target.draws(number),
            max_tokens=target.max_tokens,
        )

    async with client_of(target.url) as client:
        answers = await ask_all(cases, ask)
    return _tallies(
        cases, answers, lambda c: ("json_schema", c.id), lambda c, a: judge.content(a, c.schema)
    )


def _tallies(
    cases: Sequence[T],
    answers: Sequence[Answer],
    label: Callable[[T], tuple[str, str]],
    judged: Callable[[T, Answer], list[str]],
) -> Tallies:
    tallies: Tallies = {}
    for case, answer in zip(cases, answers, strict=True):
        kind, name = label(case)
        wrong = [answer.error] if answer.error is not None else judged(case, answer)
        tallies.setdefault(kind, Tally()).add(name, answer, wrong)
    return tallies


def table(tallies: Tallies) -> Iterator[str]:
    """Lines of text, one a kind."""
    head = ("", "cases", "finished", "cut off", "wrong", "calls", "tokens p50", "p95", "all")
    for row in [head, *((kind, *tally.row()) for kind, tally in tallies.items())]:
        yield f"{row[0]:26}" + "".join(f"{cell:>11}" for cell in row[1:])
