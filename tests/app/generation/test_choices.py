"""Several generations as one answer: its begin, its order, its pauses and its ends."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager

import pytest

from adapters.formats import ContentDelta
from adapters.workers import Chunk, Receive, WorkerError
from adapters.workers.base import FinishReason
from app.concurrency import DeadlineSweep
from app.generation.choice_decoder import ChoiceDecoder, ChoiceEnd, ChoiceItem
from app.generation.choices import WAITING, Batch, Choice, Choices, Flow
from app.generation.content_stops import ContentStops
from tests.formats.cases import FREE
from tests.formats.harness import compiled, encode
from tests.waiting import PATIENCE

FORMAT = "hermes"


class Attempt:
    """The flow of one attempt at a worker."""

    def __init__(self) -> None:
        self.is_paused = False

    def pause(self) -> None:
        self.is_paused = True

    def resume(self) -> None:
        self.is_paused = False


class Model:
    """A generation whose chunks and end the test decides. ``turns``: of the event loop, that its
    end takes. ``cancelled``: how often it was.
    """

    def __init__(self, turns: int = 3) -> None:
        self.attempts: list[Attempt] = []
        self.is_running = False
        self.cancelled = 0
        self._turns = turns
        self._receive: Receive = lambda chunk: True
        self._done = asyncio.get_running_loop().create_future()

    async def generate(self, begin: Callable[[Flow], Receive]) -> None:
        self.is_running = True
        self._begin = begin
        self.attempt()
        try:
            await self._done
        finally:
            for _ in range(self._turns):
                try:
                    await asyncio.sleep(0)
                except asyncio.CancelledError:
                    self.cancelled += 1
            self.is_running = False

    def attempt(self) -> None:
        self.attempts.append(Attempt())
        self._receive = self._begin(self.attempts[-1])

    @property
    def is_paused(self) -> bool:
        return self.attempts[-1].is_paused

    def say(self, text: str, finish: FinishReason | None = None) -> bool:
        """Send a chunk, and return whether more are wanted."""
        return self._receive(Chunk(tuple(encode(FORMAT, text)), finish))

    def end(self) -> None:
        self._done.set_result(None)

    def fail(self, error: Exception) -> None:
        self._done.set_exception(error)


class Answer:
    """``number`` choices, and what was taken of them."""

    def __init__(
        self,
        number: int = 1,
        *,
        stops: tuple[str, ...] = (),
        turns: int = 3,
        timeout: float = PATIENCE,
        sweep: DeadlineSweep | None = None,
    ) -> None:
        plan, grammar = compiled(FORMAT, FREE)

        def decoder() -> ChoiceDecoder:
            stop, tokens = ContentStops(stops), grammar.vocabulary.tokens
            return ChoiceDecoder(grammar.parser(), plan.reader(), stop, tokens)

        self.models = [Model(turns) for _ in range(number)]
        made = [Choice(model.generate, decoder) for model in self.models]
        self.choices = Choices(made, timeout=timeout, sweep=sweep)
        self.batches: list[list[tuple[int, ChoiceItem]]] = []

    def take(self, batch: Batch) -> None:
        self.batches.append(list(batch))

    @property
    def taken(self) -> list[tuple[int, str]]:
        """Of each item its choice and text; of an end, its reason in capitals."""
        return [(number, shown(item)) for batch in self.batches for number, item in batch]

    async def begun(self) -> None:
        """Let each choice say one letter."""
        await self.running()
        for model in self.models:
            model.say("a")
        assert await self.choices.start()

    async def running(self) -> None:
        """Start the choices, of which none says anything."""
        assert not await self.choices.start(0)
        assert all(model.is_running for model in self.models)

    @asynccontextmanager
    async def sent(self) -> AsyncIterator[asyncio.Task[None]]:
        """Take what comes; the test must let the choices end."""
        async with aclosing(self.choices), asyncio.timeout(PATIENCE):
            sending = asyncio.create_task(self.choices.send_to(self.take))
            await turns()
            yield sending


def shown(item: ChoiceItem) -> str:
    if isinstance(item, ChoiceEnd):
        return item.finish.upper()
    return "".join(delta.text for delta in item.deltas if isinstance(delta, ContentDelta))


async def turns() -> None:
    """Let the event loop run until nothing is left to do."""
    for _ in range(20):
        await asyncio.sleep(0)


def broken() -> WorkerError:
    return WorkerError(502, "broken", reason="connection")


# -- the begin -------------------------------------------------------------------------------------
async def test_an_answer_has_started_when_every_choice_has_begun():
    answer = Answer(2)
    async with aclosing(answer.choices), asyncio.timeout(PATIENCE):
        starting = asyncio.create_task(answer.choices.start())
        await turns()
        first, second = answer.models
        first.say("a")
        await turns()
        assert not starting.done()
        second.say("b")
        assert await starting
    assert not (first.is_running or second.is_running)


async def test_a_start_that_takes_too_long_can_be_waited_for_again():
    answer = Answer(2)
    async with aclosing(answer.choices), asyncio.timeout(PATIENCE):
        assert not await answer.choices.start(0)
        first, second = answer.models
        first.say("a")
        assert not await answer.choices.start(0)
        second.say("b")
        assert await answer.choices.start()
        assert (len(first.attempts), len(second.attempts)) == (1, 1)


async def test_a_failure_before_all_have_begun_ends_the_answer():
    answer = Answer(3)
    async with asyncio.timeout(PATIENCE):
        await answer.running()
        answer.models[0].say("a")
        answer.models[1].fail(broken())
        with pytest.raises(WorkerError, match="broken"):
            await answer.choices.start()
    assert not any(model.is_running for model in answer.models)
    assert answer.batches == []


async def test_a_start_that_is_cancelled_ends_the_generations():
    answer = Answer(2)
    starting = asyncio.create_task(answer.choices.start())
    await turns()
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert not any(model.is_running for model in answer.models)


# -- order and failures ----------------------------------------------------------------------------
async def test_the_last_deltas_and_the_end_come_together_after_the_generation():
    answer = Answer()
    (model,) = answer.models
    await answer.begun()
    async with answer.sent() as sending:
        assert model.say("b")
        assert not model.say("c", "length")
        await turns()
        assert answer.taken == [(0, "a"), (0, "b")]
        model.end()
        while model.is_running:
            assert len(answer.batches) == 2
            await asyncio.sleep(0)
        await sending
    assert [shown(item) for _, item in answer.batches[2]] == ["c", "LENGTH"]
    assert model.cancelled == 0


async def test_an_answer_that_has_ended_before_it_is_sent_is_sent_whole():
    answer = Answer(2)
    await answer.running()
    for model in answer.models:
        model.say("a")
        model.say("b", "length")
        model.end()
    assert await answer.choices.start()
    await turns()
    async with answer.sent() as sending:
        await sending
    assert len(answer.batches) == 1
    for number in (0, 1):
        own = [text for choice, text in answer.taken if choice == number]
        assert own == ["a", "b", "LENGTH"]


async def test_a_failure_comes_after_the_items_before_it_and_nothing_behind_it():
    answer = Answer(2)
    first, second = answer.models
    await answer.begun()
    async with answer.sent() as sending:
        first.say("b")
        second.fail(broken())
        await turns()
        first.say("c")
        with pytest.raises(WorkerError, match="broken"):
            await sending
    assert answer.taken == [(0, "a"), (1, "a"), (0, "b")]
    assert not first.is_running


async def test_a_failure_between_start_and_sending_is_raised_after_what_waited():
    answer = Answer(2)
    first, second = answer.models
    await answer.begun()
    first.say("b")
    second.fail(broken())
    await turns()
    first.say("c")
    async with answer.sent() as sending:
        with pytest.raises(WorkerError, match="broken"):
            await sending
    assert answer.taken == [(0, "a"), (1, "a"), (0, "b")]


async def test_the_first_of_two_failures_is_raised():
    answer = Answer(2)
    await answer.begun()
    async with answer.sent() as sending:
        answer.models[1].fail(broken())
        await turns()
        answer.models[0].fail(WorkerError(503, "later"))
        with pytest.raises(WorkerError, match="broken"):
            await sending


async def test_a_stop_string_ends_its_choice_only():
    answer = Answer(2, stops=("bc",))
    first, second = answer.models
    await answer.begun()
    async with answer.sent() as sending:
        assert first.say("b")
        assert not first.say("cd")
        first.end()
        await turns()
        assert not sending.done()
        assert second.say("b")
        assert not second.say("", "length")
        second.end()
        await sending
    texts = [text for number, text in answer.taken if number == 0]
    assert "".join(texts) == "aSTOP"
    assert "".join(text for number, text in answer.taken if number == 1) == "abLENGTH"
    ends = [item for batch in answer.batches for _, item in batch if isinstance(item, ChoiceEnd)]
    assert [end.stop_text for end in ends] == ["bc", None]


# -- pauses ----------------------------------------------------------------------------------------
async def test_a_choice_whose_items_wait_for_a_silent_one_is_paused():
    answer = Answer(2)
    first, second = answer.models
    await answer.running()
    for number in range(2 * WAITING):
        assert not first.is_paused, number
        first.say("a")
    assert (first.is_paused, second.is_paused) == (True, False)
    second.say("b")
    assert await answer.choices.start()
    async with answer.sent():
        assert answer.taken == [(0, "a")] * (2 * WAITING) + [(1, "b")]
        assert not first.is_paused
        first.say("c")
        second.say("d")
    assert answer.taken[-2:] == [(0, "c"), (1, "d")]


async def test_pauses_reach_every_attempt_also_one_that_begins_meanwhile():
    answer = Answer(2)
    first, second = answer.models
    await answer.begun()
    async with answer.sent():
        answer.choices.pause()
        assert first.is_paused and second.is_paused
        first.attempt()  # another one after a failure
        assert first.is_paused
        answer.choices.resume()
        assert not (first.is_paused or second.is_paused)
        second.attempt()
        assert not second.is_paused


async def test_choices_that_are_paused_before_they_start_begin_paused():
    answer = Answer()
    answer.choices.pause()
    await answer.running()
    assert answer.models[0].is_paused
    answer.choices.resume()
    assert not answer.models[0].is_paused
    await answer.choices.aclose()


async def test_silent_choices_go_on_after_a_pause():
    """REGRESSION: a stream begins while its workers are still silent. A client that did not read
    its first events at once, and then did, waited until the request's time was over.
    """
    answer = Answer(2)
    first, second = answer.models
    await answer.running()
    for _ in range(2 * WAITING):
        first.say("a")
    answer.choices.pause()
    assert second.is_paused
    answer.choices.resume()
    # the first one waits for the second
    assert (first.is_paused, second.is_paused) == (True, False)
    second.say("b")
    async with answer.sent():
        assert not (first.is_paused or second.is_paused)


async def test_a_client_that_is_full_when_sending_begins_gets_what_waits_and_no_more():
    answer = Answer(2)
    await answer.begun()
    answer.choices.pause()
    async with answer.sent():
        assert answer.taken == [(0, "a"), (1, "a")]
        assert all(model.is_paused for model in answer.models)
        answer.choices.resume()
        assert not any(model.is_paused for model in answer.models)


async def test_a_client_that_is_full_after_what_waited_pauses_the_choices():
    answer = Answer()
    await answer.begun()

    def take(batch: Batch) -> None:
        answer.take(batch)
        answer.choices.pause()

    async with aclosing(answer.choices):
        sending = asyncio.create_task(answer.choices.send_to(take))
        await turns()
        assert answer.models[0].is_paused
        sending.cancel()


async def test_the_items_of_each_choice_stay_in_order_while_one_is_silent_for_long():
    answer = Answer(3)
    await answer.begun()
    async with answer.sent() as sending:
        for letter in "bcdefgh":
            for model in answer.models[:2]:
                model.say(letter)
        for model in answer.models:
            model.say("z", "length")
            model.end()
        await sending
    for number, wanted in ((0, "abcdefghz"), (1, "abcdefghz"), (2, "az")):
        own = [text for choice, text in answer.taken if choice == number]
        assert own == [*wanted, "LENGTH"]


# -- ends ------------------------------------------------------------------------------------------
async def test_two_closes_at_once_cancel_a_generation_once_and_both_wait_for_it():
    answer = Answer(2, turns=30)
    await answer.running()
    closing = [asyncio.create_task(answer.choices.aclose()) for _ in range(2)]
    await turns()
    assert not any(each.done() for each in closing)
    await asyncio.wait_for(asyncio.gather(*closing), PATIENCE)
    assert not any(model.is_running for model in answer.models)
    # none was cancelled again while it ended
    assert [model.cancelled for model in answer.models] == [0, 0]
    await answer.choices.aclose()


async def test_a_closed_answer_takes_nothing():
    answer = Answer()
    await answer.begun()
    async with answer.sent() as sending:
        closing = asyncio.create_task(answer.choices.aclose())
        await asyncio.sleep(0)
        answer.models[0].say("b")
        await closing
        sending.cancel()
    assert answer.taken == [(0, "a")]


async def test_a_generation_that_takes_too_long_fails():
    answer = Answer(timeout=0)
    with pytest.raises(TimeoutError):
        await answer.choices.start()
    assert not answer.models[0].is_running


async def test_answers_share_the_deadlines_that_they_get():
    """Also the first one, which finds none there."""
    sweep = DeadlineSweep()
    answer = Answer(sweep=sweep)
    await answer.running()
    assert sweep.watched == 1
    await answer.choices.aclose()
    assert not sweep.watched
