"""The choices of an answer as one stream of (number of the choice, item), by plain calls.

    a worker's chunk -> the choice's decoder -> ``take`` of the answer's writer

One task runs the generation of each choice, from its first attempt to its end, so that whatever a
worker holds open belongs to one task. A chunk needs none of it: its items are taken before the
worker's next chunk is read.

Invariants   I1 ``start`` returns true when every choice has its first item, or raises what the
                first failed choice raised. Nothing was taken by then, so an ordinary error answer
                is still possible.
             I2 after ``aclose`` no task is left, and every worker's generation has ended.
             I3 a choice's ChoiceEnd is passed on after its generation has ended: a caller closes
                the choices after the last ChoiceEnd, which would cancel a generation that still
                runs. The last deltas come with it.
             I4 about WAITING items for each choice wait for ``send_to``, of all together: then the
                worker of one that adds more is paused, as all are while the client does not read.
                A choice may have all of them, since its worker's slot may be what others wait for.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Protocol

from adapters.formats import TextDelta
from adapters.text_path import TextPath, TokenCounts
from adapters.workers import Chunk, Receive

from ..concurrency import Bound, Deadline, DeadlineSweep
from .choice_decoder import ChoiceDecoder, ChoiceDeltas, ChoiceEnd, ChoiceItem

#: items of an answer, each with the number of its choice
Batch = Sequence[tuple[int, ChoiceItem]]

#: items for each choice that wait until all have begun
WAITING = 32


#: makes the event of a text, and takes it
TextWriter = tuple[Callable[[str], bytes], Callable[[bytes], None]]
#: returns the writer of texts that add to a delta of a choice; None: it has none
WriteText = Callable[[int, TextDelta], TextWriter | None]


class Flow(Protocol):
    """Chunks that can be paused. ``text_path``: for plain text, which then is in no chunk."""

    text_path: TextPath | None

    def pause(self) -> None: ...

    def resume(self) -> None: ...


#: runs the generation of a choice; the callable that it gets returns the receiver of one attempt
Generate = Callable[[Callable[[Flow], Receive]], Coroutine[Any, Any, None]]


class Choice:
    """One choice.

    Args:
        generate: runs its generation.
        decoder: makes the decoder of one attempt.
        on_chunk: called with each chunk.
        counts: of the tokens that pass by a path, and so are in no chunk; None: no path may be
            used.
    """

    def __init__(
        self,
        generate: Generate,
        decoder: Callable[[], ChoiceDecoder],
        on_chunk: Callable[[Chunk], None] = lambda chunk: None,
        counts: TokenCounts | None = None,
    ) -> None:
        #: None while it runs: it has the prompt
        self._generate: Generate | None = generate
        self._decoder = decoder
        self._on_chunk = on_chunk
        self._counts = counts
        self._write_text: Callable[[TextDelta], TextWriter | None] = lambda delta: None
        self._deliver: Callable[[ChoiceDeltas], None] = lambda deltas: None
        self._attempt: Flow | None = None
        self._is_paused = False
        self._last: tuple[ChoiceDeltas, ChoiceEnd] | None = None

    async def run(
        self,
        deliver: Callable[[ChoiceDeltas], None],
        write_text: Callable[[TextDelta], TextWriter | None],
    ) -> tuple[ChoiceDeltas, ChoiceEnd] | None:
        """Call ``deliver`` with the deltas of each chunk but the last, and return those and the
        end. Raises what the generation raised.

        ``write_text`` returns the writer of plain text that adds to a delta; None: deliver it.
        """
        self._deliver, self._write_text = deliver, write_text
        generate, self._generate = self._generate, None
        assert generate is not None, "a choice runs once"
        running = generate(self._begin)
        del generate
        try:
            await running
            return self._last
        finally:
            # else they and this would hold each other
            self.close_path()
            self._attempt = None
            self._deliver, self._write_text = lambda deltas: None, lambda delta: None

    def close_path(self) -> None:
        """Let no more text pass by the path."""
        if self._attempt is not None and self._attempt.text_path is not None:
            self._attempt.text_path.close()

    def pause(self) -> None:
        self._is_paused = True
        if self._attempt is not None:
            self._attempt.pause()

    def resume(self) -> None:
        self._is_paused = False
        if self._attempt is not None:
            self._attempt.resume()

    def _begin(self, attempt: Flow) -> Receive:
        self._attempt = attempt
        if self._is_paused:
            attempt.pause()
        decoder, on_chunk, deliver = self._decoder(), self._on_chunk, self._deliver
        path = None if self._counts is None else decoder.text_path(self._counts)
        attempt.text_path = path

        def receive(chunk: Chunk) -> bool:
            on_chunk(chunk)
            deltas, end = decoder.feed(chunk)
            if end is None:
                deliver(deltas)
                if path is not None:
                    self._open(path, decoder)
                return True
            self._last = deltas, end
            return False

        return receive

    def _open(self, path: TextPath, decoder: ChoiceDecoder) -> None:
        """Let plain text pass by the path, if it may, or else tokens that show nothing."""
        delta = decoder.next_text()
        writer = None if delta is None else self._write_text(delta)
        if writer is None:
            path.open_for_marks()
            return
        (encode, write), translate = writer, decoder.translate
        if translate is not None:
            encode = _translating(encode, translate)
        path.open(encode, write, holds_newlines=decoder.holds_newlines)


def _translating(
    encode: Callable[[str], bytes], translate: Callable[[str], str]
) -> Callable[[str], bytes]:
    """Return what encodes text translated."""

    def encode_translated(text: str) -> bytes:
        shown = translate(text)
        return encode(shown) if shown else b""

    return encode_translated


class Choices:
    """See the file's header.

    Args:
        timeout: seconds for each whole choice.
        sweep: of the deadlines; default: a new one.
    """

    def __init__(
        self, choices: Sequence[Choice], *, timeout: float, sweep: DeadlineSweep | None = None
    ) -> None:
        self._choices = choices
        self._timeout = timeout
        self._sweep = sweep or DeadlineSweep()
        self._tasks: list[asyncio.Task[None]] = []
        self._waiting: list[tuple[int, ChoiceItem]] = []
        self._take: Callable[[Batch], None] | None = None
        self._write_text: WriteText = lambda number, delta: None
        #: choices without their first item, and without their end
        self._silent = {*range(len(choices))}
        self._open = len(choices)
        #: what ``start`` or ``send_to`` waits for; two Events would take 1.7 KB of a stream
        self._changed: asyncio.Future[None] | None = None
        #: of the first choice that failed, until it is raised: errors hold the frames of their
        #: tasks, and so these choices
        self._failures: list[Exception] = []
        self._is_paused = self._is_closing = False

    async def start(self, seconds: float | None = None) -> bool:
        """Start the choices and wait until each has its first item, at most ``seconds``. Return
        whether all have; if not, call it again to wait on. On an error everything has been stopped.
        """
        if not self._silent:
            return True
        loop = asyncio.get_running_loop()
        if not self._tasks:
            numbered = enumerate(self._choices)
            self._tasks = [loop.create_task(self._run(*choice)) for choice in numbered]
        patience = Deadline(self._wake)
        if seconds is not None:
            patience.at = loop.time() + seconds
            self._sweep.add(patience)
        try:
            if not self._failures:
                await self._change()
            if self._silent and self._failures:
                raise self._failures.pop()
        except BaseException:
            await self.aclose()
            raise
        finally:
            self._sweep.discard(patience)
        return not self._silent

    async def send_to(
        self,
        take: Callable[[Batch], None],
        write_text: WriteText = lambda number, delta: None,
    ) -> None:
        """Call ``take`` with the items, first with those that wait, until every choice has ended.
        Call it once, after ``start``. Raises what a choice raised; nothing is taken behind it.

        Text that adds to a delta of a choice may go to what ``write_text`` returns instead.
        """
        waiting, self._waiting = self._waiting, []
        if waiting:
            take(waiting)
        if self._open and not self._failures:
            self._take, self._write_text = take, write_text
            if not self._is_paused:
                for choice in self._choices:
                    choice.resume()
            await self._change()
        self._end_taking()
        if self._failures:
            raise self._failures.pop()

    def pause(self) -> None:
        """Ask the workers for no more chunks; some still come."""
        self._is_paused = True
        for choice in self._choices:
            choice.pause()

    def resume(self) -> None:
        """Ask again, but for choices that have begun if too many items wait for ``send_to``."""
        self._is_paused = False
        for number, choice in enumerate(self._choices):
            if self._take is not None or number in self._silent or not self._is_full():
                choice.resume()

    async def aclose(self) -> None:
        """Cancel the choices that still run, and wait for them."""
        self._end_taking()
        if not self._is_closing:
            # once: a second one would interrupt the end of a generation
            self._is_closing = True
            for task in self._tasks:
                task.cancel()
        if running := [task for task in self._tasks if not task.done()]:
            await asyncio.wait(running)
        # tasks and errors hold these choices: they must not wait for a collection to be freed
        self._tasks.clear()
        self._failures.clear()
        self._waiting.clear()

    async def _run(self, number: int, choice: Choice) -> None:
        try:
            with Bound(self._sweep, self._timeout):
                last = await choice.run(
                    lambda deltas: self._deliver(number, (deltas,)),
                    lambda delta: self._write_text(number, delta),
                )
            self._open -= 1
            if last is not None:
                self._deliver(number, last)
            if not self._open:
                self._wake()
        except Exception as error:
            self._fail(error)

    def _deliver(self, number: int, items: Sequence[ChoiceItem]) -> None:
        batch = [(number, item) for item in items]
        if self._take is not None:
            self._take(batch)
        elif not self._failures:
            self._wait(number, batch)

    def _end_taking(self) -> None:
        self._take, self._write_text = None, lambda number, delta: None
        for choice in self._choices:
            choice.close_path()

    def _wait(self, number: int, batch: Batch) -> None:
        """Keep items until ``send_to``."""
        self._waiting += batch
        self._silent.discard(number)
        if not self._silent:
            self._wake()
        if self._is_full():
            self._choices[number].pause()

    def _is_full(self) -> bool:
        return len(self._waiting) >= WAITING * len(self._choices)

    def _fail(self, error: Exception) -> None:
        """Keep the first failure, which ends the answer."""
        self._end_taking()
        self._failures = self._failures or [error]
        self._wake()

    async def _change(self) -> None:
        """Wait until the choices have begun or ended, one has failed, or patience is over."""
        self._changed = asyncio.get_running_loop().create_future()
        try:
            await self._changed
        finally:
            self._changed = None

    def _wake(self) -> None:
        if self._changed is not None and not self._changed.done():
            self._changed.set_result(None)
