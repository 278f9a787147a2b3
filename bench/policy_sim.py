"""Policies of the worker pool, compared on simulated conversations.

    python -m bench.policy_sim [--workers 4] [--conversations 600] [--busy 8] [--seed 1] [--slow 10]

Conversations arrive at random, share a few system prompts, and have several turns; each prompt
repeats the previous one, the answer and a new message. A worker prefills the tokens that it has not
cached and decodes the answer; both take longer the more generations it runs. Time is virtual, so
the figures depend on the seed alone.

    met         later turns that reached the worker of their previous turn
    total       requests of the busiest worker / mean of all
    running     the same of running generations, averaged over time
    prefill     prompt tokens that were computed / all prompt tokens
    first p50, p99    seconds to the first token
    others p99        the same without the worker that --slow slows down

Not here    the policies (app/pool/policies.py); real workers.
"""

import argparse
import heapq
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from statistics import fmean, quantiles

from app.pool.policies import POLICIES, Policy, PowerOfTwo, make_policy
from app.settings.model import PolicyName

#: seconds: for a prefilled token, for a decoded one of the only generation, and more for each other
PREFILL_S, DECODE_S, SHARED_S = 0.0001, 0.01, 0.0005
#: means: turns of a conversation, seconds between an answer and the next turn
TURNS, PAUSE_S = 6, 10.0
#: tokens of system prompts, few of which serve most conversations
SYSTEMS = (40, 900, 2500, 6000)
#: tokens that a chat template adds in front of the next answer, and drops from the history
HEADER = (1, 2, 3)


@dataclass
class Conversation:
    """``prompt``: of its next turn."""

    number: int
    prompt: list[int]
    turns: int
    worker: "SimWorker | None" = None


@dataclass
class SimWorker:
    """A worker of the simulation; ``cached``: tokens of each conversation, or system prompt."""

    name: str
    slowness: float = 1.0
    running: int = 0
    served: int = 0
    load: float = 0.0
    cached: dict[int, int] = field(default_factory=dict)

    def seconds(self, conversation: Conversation, system: int, answer: int) -> tuple[float, int]:
        """Return the seconds to the first token and the tokens that are prefilled."""
        known = self.cached.get(conversation.number, self.cached.get(-1 - system, 0))
        fresh = len(conversation.prompt) - known
        self.cached[-1 - system] = SYSTEMS[system]
        self.cached[conversation.number] = len(conversation.prompt) + answer
        return fresh * PREFILL_S * (1 + self.running / 4) * self.slowness, fresh


@dataclass(frozen=True)
class Figures:
    """See the file's header."""

    met: float
    total: float
    running: float
    prefill: float
    first: Sequence[float]
    others: Sequence[float]

    def row(self, name: str) -> str:
        return (
            f"{name:13} {self.met:6.1%} {self.total:6.2f} {self.running:8.2f} {self.prefill:8.1%} "
            f"{percentile(self.first, 50):10.3f} {percentile(self.first, 99):10.3f} "
            f"{percentile(self.others, 99):10.3f}"
        )


def percentile(values: Sequence[float], percent: int) -> float:
    return quantiles(values, n=100)[percent - 1]


class Simulation:
    """One run of one policy."""

    def __init__(
        self,
        policy: Policy,
        *,
        workers: int,
        conversations: int,
        busy: float,
        seed: int,
        slow: float,
    ) -> None:
        self._policy = policy
        self._random = random.Random(seed)
        self._workers = [SimWorker(f"w{number}") for number in range(workers)]
        self._workers[0].slowness = slow
        self._order = count()
        self._events: list[tuple[float, int, SimWorker | None, Conversation]] = []
        self._left = conversations
        # Little's law: arrivals per second that keep ``busy`` generations running on each worker
        answer_s = 150 * (DECODE_S + SHARED_S * busy)
        self._gap = answer_s * TURNS / (busy * workers)
        self._meetings: list[bool] = []
        self._first: list[float] = []
        self._others: list[float] = []
        self._asked = self._computed = 0

    def run(self) -> Figures:
        self._arrive(0.0)
        before = 0.0
        while self._events:
            now, _, worker, conversation = heapq.heappop(self._events)
            for each in self._workers:
                each.load += each.running * (now - before)
            before = now
            if worker is None:
                self._ask(now, conversation)
            else:
                worker.running -= 1
                self._next_turn(now, conversation)
        return self._figures()

    def _figures(self) -> Figures:
        served = [worker.served for worker in self._workers]
        load = [worker.load for worker in self._workers]
        return Figures(
            fmean(self._meetings),
            max(served) / fmean(served),
            max(load) / fmean(load),
            self._computed / self._asked,
            self._first,
            self._others,
        )

    def _arrive(self, now: float) -> None:
        """Schedule the next conversation's first turn."""
        if not self._left:
            return
        self._left -= 1
        system = min(int(self._random.expovariate(1.0)), len(SYSTEMS) - 1)
        prompt = [-1 - system] * SYSTEMS[system] + self._tokens(40) + [*HEADER]
        turns = 1 + int(self._random.expovariate(1 / (TURNS - 1)))
        at = now + self._random.expovariate(1 / self._gap)
        self._push(at, None, Conversation(self._left, prompt, turns))

    def _tokens(self, mean: float) -> list[int]:
        length = 1 + int(self._random.expovariate(1 / mean))
        return [self._random.randrange(10, 100_000) for _ in range(length)]

    def _push(self, at: float, worker: SimWorker | None, conversation: Conversation) -> None:
        heapq.heappush(self._events, (at, next(self._order), worker, conversation))

    def _ask(self, now: float, conversation: Conversation) -> None:
        if conversation.worker is None:
            self._arrive(now)
        worker = self._policy.pick(self._workers, conversation.prompt)
        if conversation.worker is not None:
            self._meetings.append(worker is conversation.worker)
        conversation.worker = worker
        worker.running += 1
        worker.served += 1
        answer = self._tokens(150)
        system = -1 - conversation.prompt[0]
        first, fresh = worker.seconds(conversation, system, len(answer))
        self._asked += len(conversation.prompt)
        self._computed += fresh
        self._first.append(first)
        if worker.slowness == 1.0:
            self._others.append(first)
        decode = len(answer) * (DECODE_S + SHARED_S * worker.running) * worker.slowness
        conversation.prompt = conversation.prompt[: -len(HEADER)] + answer
        self._push(now + first + decode, worker, conversation)

    def _next_turn(self, now: float, conversation: Conversation) -> None:
        conversation.turns -= 1
        if conversation.turns:
            conversation.prompt += [*self._tokens(40), *HEADER]
            pause = self._random.expovariate(1 / PAUSE_S)
            self._push(now + pause, None, conversation)


def simulate(name: PolicyName, **options: float) -> Figures:
    """Run one policy; see the command's options."""
    chosen = {"workers": 4, "conversations": 600, "busy": 8.0, "seed": 1, "slow": 1.0, **options}
    # the only policy that draws at random
    policy = PowerOfTwo(int(chosen["seed"])) if name == "power-of-two" else make_policy(name)
    return Simulation(policy, **chosen).run()  # type: ignore[arg-type]


def rows(**options: float) -> Iterator[str]:
    yield (
        f"{'policy':13} {'met':>6} {'total':>6} {'running':>8} {'prefill':>8} {'first p50':>10} "
        f"{'first p99':>10} {'others p99':>10}"
    )
    for name in POLICIES:
        yield simulate(name, **options).row(name)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.policy_sim", description=__doc__)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--conversations", type=int, default=600)
    parser.add_argument("--busy", type=float, default=8.0, help="mean running generations")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--slow", type=float, default=1.0, help="factor for the first worker")
    for row in rows(**vars(parser.parse_args())):
        print(row)


if __name__ == "__main__":
    main()
