"""The JSON of SGLang's native ``/generate``: request, events of the stream, errors. No I/O.

Representation   an event has the ids and the text of the whole answer so far, or only new ones from
                 servers with ``--incremental-streaming-output``. In both cases
                 ``meta_info.completion_tokens`` counts the whole answer, and so shows how many of
                 the ids are new.
Invariants       I1 the ids of an event that reports a failure are dropped: SGLang reports a grammar
                    that does not compile as a junk token with finish_reason "abort".
                 I2 for any input, ``read`` returns a chunk of valid ids and counts, or raises
                    WorkerError.
Tested with      SGLang 0.5.23: a real server, on CPU.
Not here         HTTP (sglang), the lines of the stream (sse), checks of values (sglang_values), the
                 meaning of errors (sglang_errors).
"""

import json
from collections.abc import Collection, Iterator, Sequence
from hashlib import blake2b
from secrets import token_hex
from typing import Any, NamedTuple, TypeVar

import orjson

from .base import (
    SHAPING,
    Chunk,
    FinishReason,
    Generation,
    PromptImage,
    PromptTooLong,
    SamplingOptions,
    TokenLogprob,
    WorkerError,
)
from .sglang_errors import server_error
from .sglang_values import as_count, token_logprobs
from .stop_strings import StopGate

#: ids or characters encoded in one call, which holds the GIL for about 2 ms
PIECE = 16_384
#: the "stop string" that SGLang reports when the model produces NaN
BROKEN_NUMBERS = "NaN happened"
#: events of an answer with log probabilities from a server that repeats them in each event; the
#: bytes of all events grow with this number, with one event a token they grow with the square
LOGPROB_EVENTS = 128


Prompt = TypeVar("Prompt", str, list[int])


def request_id(rid: str) -> str:
    """Return 32 hex digits: 16 from ``rid``, so that logs can be matched, and 16 random ones.

    SGLang aborts by prefix and refuses duplicates, so ids have one length and a retry gets a new
    id.
    """
    return blake2b(rid.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest() + token_hex(8)


def request_body(
    generation: Generation,
    rid: str,
    *,
    vocabulary: int,
    context: int | None,
    stop_token_ids: Sequence[int],
    is_incremental: bool = False,
) -> bytes:
    """Return the body of ``POST /generate``.

    A prompt of a million ids takes a quarter of a second. It is encoded in pieces of ``PIECE``, so
    that the event loop can run between them. Images are ASCII that needs no escapes.

    The server replaces the placeholder of an image by more tokens, so their number is unknown here.
    An answer that may take the whole context gets no limit but that of the server.

    Args:
        vocabulary: the number of the model's tokens.
        context: the model's length, to which max_tokens is cut.
        is_incremental: an event has the output since the last one, not the whole output.

    Raises:
        WorkerError: the server would refuse the prompt, or crash.
    """
    prompt = generation.prompt
    max_tokens = generation.max_tokens
    is_bounded = True
    if not isinstance(prompt, str):
        _check(prompt, vocabulary, context)
        if context is not None:
            is_bounded = not generation.images or max_tokens < context - len(prompt)
            max_tokens = max(1, min(max_tokens, context - len(prompt)))
    params: dict[str, Any] = {
        "max_new_tokens": max_tokens if is_bounded else None,
        "temperature": generation.temperature,
        "top_p": max(generation.top_p, 1e-6),
        "no_stop_trim": True,
        "skip_special_tokens": False,
        "spaces_between_special_tokens": False,
    }
    if generation.spec is not None:
        params[generation.spec_kind] = generation.spec
    if generation.stop:
        params["stop"] = list(generation.stop)
    if stop_token_ids:
        params["stop_token_ids"] = list(stop_token_ids)
    params |= _options(generation.sampling, max_tokens)
    if generation.seed is not None:
        params["sampling_seed"] = generation.seed % (1 << 63)
    fields: dict[str, Any] = {"rid": rid, "stream": True, "sampling_params": params}
    if generation.sampling.logprobs is not None:
        fields |= {"return_logprob": True, "top_logprobs_num": generation.sampling.logprobs}
        if not is_incremental:
            params["stream_interval"] = -(-max_tokens // LOGPROB_EVENTS)
    rest = json.dumps(fields)
    if isinstance(prompt, str):
        text = "".join(json.dumps(piece)[1:-1] for piece in _pieces(prompt))
        head = f'{{"text":"{text}",'
    else:
        ids = ",".join(",".join(map(str, piece)) for piece in _pieces(prompt))
        head = f'{{"input_ids":[{ids}],'
    return b"".join((head.encode(), *_image_data(generation.images), rest[1:].encode()))


def _image_data(images: Sequence[PromptImage]) -> Iterator[bytes]:
    """Yield the field with the images as URLs, in pieces; nothing without images."""
    opening = b'"image_data":["'
    for image, _ in images:
        yield opening + f"data:{image.media_type};base64,".encode()
        yield image.data.encode("ascii")
        opening = b'","'
    if images:
        yield b'"],'


def _options(sampling: SamplingOptions, max_tokens: int) -> dict[str, Any]:
    """Return the options that are not off, by SGLang's names.

    SGLang applies penalties and ``min_new_tokens`` before the mask and ``logit_bias`` after it,
    where a finite bias cannot override minus infinity. Its ``ignore_eos`` has no effect with a
    grammar, whose end ends the answer; ``min_new_tokens`` does.
    """
    active = sampling.active
    params: dict[str, Any] = {name: getattr(sampling, name) for name in SHAPING if name in active}
    if sampling.logit_bias:
        params["logit_bias"] = {str(number): bias for number, bias in sampling.logit_bias}
    if least := sampling.least_tokens(max_tokens):
        params["min_new_tokens"] = least
    return params


def _check(prompt: list[int], vocabulary: int, context: int | None) -> None:
    """Raise WorkerError 400 for ids that crash a server, and for prompts that it refuses."""
    if context is not None and len(prompt) >= context:
        raise PromptTooLong(len(prompt), context)
    if not prompt or any(min(piece) < 0 or max(piece) >= vocabulary for piece in _pieces(prompt)):
        raise WorkerError(400, f"a prompt needs at least one token, all ids below {vocabulary:,}")


def _pieces(prompt: Prompt) -> Iterator[Prompt]:
    return (prompt[at : at + PIECE] for at in range(0, len(prompt), PIECE))


class _Event(NamedTuple):
    """An event of the stream; ``ids``: the new ones."""

    ids: list[int]
    finish: FinishReason | None
    prompt: int
    total: int
    cached: int
    logprobs: Sequence[TokenLogprob]
    overran: bool = False


class StreamReader:
    """Converts the payloads of one stream to chunks. ``finished``: the server has ended it.
    ``stops``: ids that end the answer.
    """

    def __init__(
        self, generation: Generation, tokens: Sequence[bytes], stops: Collection[int] = ()
    ) -> None:
        self._tokens = tokens
        self._stops = frozenset(stops)
        self._left = generation.max_tokens
        #: how the answer must end; None: tokens may follow
        self._must_end: FinishReason | None = None
        self._has_stops = bool(generation.stop)
        self._gate = StopGate(generation.stop)
        #: images have more tokens than the placeholders that were sent
        self._least_prompt = len(generation.prompt) + 1 if generation.images else 0
        self._top = generation.sampling.logprobs
        #: of the tokens that no chunk has shown yet
        self._logprobs: list[TokenLogprob] = []
        self._seen = 0
        self.finished = False

    def read_all(self, payloads: Sequence[bytes]) -> Iterator[Chunk]:
        """Yield one chunk for events that were received together, so that a busy process does the
        work of a chunk once.

        Raises:
            WorkerError: an event reports a failure, or is not an event of SGLang. The tokens before
                it are yielded first.
        """
        ids: list[int] = []
        last: _Event | None = None
        failure: WorkerError | None = None
        for payload in payloads:
            try:
                event = self._event(payload)
            except WorkerError as error:
                failure = error
                break
            ids += event.ids
            self._logprobs += event.logprobs
            last = event
            if event.finish is not None:
                break
        chunk = None if last is None else self._chunk(self._cut(last._replace(ids=ids)))
        if chunk is not None:
            yield chunk
            if chunk.finish_reason is not None:
                return
        if failure is not None:
            raise failure

    def _event(self, payload: bytes) -> _Event:
        """Return one event.

        Raises:
            WorkerError: the event reports a failure, or is not an event of SGLang.
        """
        try:
            event = orjson.loads(payload)
            if "error" in event:
                raise server_error(event["error"])
            meta, ids = event["meta_info"], event["output_ids"]
            reason, total = meta["finish_reason"], as_count(meta["completion_tokens"])
            finish = self._finish(reason)
            new = self._new(ids, total)
            logprobs: Sequence[TokenLogprob] = ()
            if self._top is not None:
                logprobs = token_logprobs(meta, new, total, self._top, len(self._tokens))
            prompt = as_count(meta["prompt_tokens"])
            if prompt < self._least_prompt:
                message = f"SGLang: images are missing in a prompt of {prompt:,} tokens"
                raise WorkerError(502, message, reason="protocol")
            cached = min(as_count(meta.get("cached_tokens", 0)), prompt)
            return _Event(new, finish, prompt, total, cached, logprobs)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            message = f"not an event of SGLang: {payload[:200]!r}"
            raise WorkerError(502, message, reason="protocol") from error

    def _cut(self, event: _Event) -> _Event:
        """Return the event without tokens beyond the end of the answer."""
        kept = [] if self._must_end else event.ids[: self._left]
        end = next((n for n, number in enumerate(kept, 1) if number in self._stops), None)
        kept = kept[:end]
        self._left -= len(kept)
        if end is not None:
            self._must_end = "stop"
        elif not self._left:
            self._must_end = self._must_end or "length"
        extra = len(event.ids) - len(kept)
        if not extra:
            return event
        total = event.total - extra
        return event._replace(ids=kept, finish=self._must_end, total=total, overran=True)

    def _finish(self, reason: dict[str, Any] | None) -> FinishReason | None:
        if reason is None:
            return None
        kind = reason["type"]
        if kind not in ("stop", "length", "abort"):
            raise ValueError("an unknown finish reason")
        self.finished = True
        if kind == "abort":
            message, code = reason.get("message"), reason.get("status_code")
            raise server_error({"message": message, "code": code}, other="aborted")
        if reason.get("matched") == BROKEN_NUMBERS:
            message = "the model produced NaN"
            raise WorkerError(502, message, reason="aborted")
        return "length" if kind == "length" else "stop"

    def _new(self, ids: list[int], total: int) -> list[int]:
        count = total - self._seen
        if not 0 <= count <= len(ids):
            message = f"the stream lost tokens: {total} counted, {self._seen} seen, {len(ids)} sent"
            raise WorkerError(502, message, reason="protocol")
        self._seen = total
        new = ids[len(ids) - count :]
        for number in new:
            if as_count(number) >= len(self._tokens):
                message = f"token ids must be below {len(self._tokens):,}, got {number}"
                raise WorkerError(502, message, reason="protocol")
        return new

    def _chunk(self, event: _Event) -> Chunk | None:
        """Return the ids that may be shown now; none follows a stop string."""
        ids, finish, prompt, total, cached, _, overran = event
        shown = [] if self._has_stops else ids
        for n, number in enumerate(ids if self._has_stops else (), 1):
            shown += self._gate.push((number,), self._tokens[number])
            if self._gate.hit is not None:
                finish, total = "stop", total - len(ids) + n
                break
        if finish is not None:
            shown += self._gate.flush()
        if not shown and finish is None:
            return None
        stop_text, trim = self._gate.hit or (None, 0)
        logprobs = self._taken(len(shown))
        return Chunk(
            tuple(shown), finish, prompt, total, stop_text, trim, cached, logprobs, overran
        )

    def _taken(self, count: int) -> tuple[TokenLogprob, ...]:
        """Take the log probabilities of the next tokens."""
        if self._top is None:
            return ()
        taken = tuple(self._logprobs[:count])
        del self._logprobs[:count]
        return taken
