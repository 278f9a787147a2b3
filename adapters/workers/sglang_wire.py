"""The JSON of SGLang's native ``/generate``: request, events of the stream, errors. No I/O.

Representation   an event has the ids and the text of the whole answer so far, or only new ones from
                 servers with ``--incremental-streaming-output``. In both cases
                 ``meta_info.completion_tokens`` counts the whole answer, and so shows how many of
                 the ids are new.
Invariants       I1 the ids of an event that reports a failure are dropped: SGLang reports a grammar
                    that does not compile as a junk token with finish_reason "abort".
                 I2 for any input, ``read`` returns a chunk of valid ids and counts, or a
                    WorkerError.
Tested with      SGLang 0.5.23: a real server, on CPU.
Not here         HTTP (sglang), the lines of the stream (sse), checks of values (sglang_values), the
                 meaning of errors (sglang_errors).
"""

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from hashlib import blake2b
from secrets import token_hex
from typing import Any, TypeVar

import orjson

from adapters.text_path import read_new_ids

from .base import (
    SHAPING,
    Chunk,
    FinishReason,
    Generation,
    PromptImage,
    PromptTooLong,
    SamplingOptions,
    TextPath,
    TokenLogprob,
    WorkerError,
)
from .sglang_errors import server_error
from .sglang_values import as_count, token_logprobs
from .stop_strings import StopGate

#: ids or characters encoded in one call, which holds the GIL for less than 1 ms
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
    own_interval: int = 1,
    priority_sign: int = 0,
) -> bytes:
    """Return the body of ``POST /generate``.

    A prompt of a million ids takes a tenth of a second. It is encoded in pieces of ``PIECE``, so
    that the event loop can run between them. Images are ASCII that needs no escapes.

    The server replaces the placeholder of an image by more tokens, so their number is unknown here.
    An answer that may take the whole context gets no limit but that of the server.

    Args:
        vocabulary: the number of the model's tokens.
        context: the model's length, to which max_tokens is cut.
        is_incremental: an event has the output since the last one, not the whole output.
        own_interval: tokens of an event, if the request asks for no other number.
        priority_sign: of the server's priorities, see sglang_scheduling; 0: it knows none.

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
    interval = generation.interval
    fields: dict[str, Any] = {"rid": rid, "stream": True, "sampling_params": params}
    if generation.sampling.logprobs is not None:
        fields |= {"return_logprob": True, "top_logprobs_num": generation.sampling.logprobs}
        if not is_incremental:
            interval = max(interval, -(-max_tokens // LOGPROB_EVENTS))
    if interval > own_interval:
        params["stream_interval"] = interval
    fields |= _scheduling(generation)
    if priority_sign:  # also of 0: requests without one would wait behind all others
        fields["priority"] = priority_sign * generation.priority
    if isinstance(prompt, str):
        text = (json.dumps(piece)[1:-1].encode() for piece in _pieces(prompt))
        head = [b'{"text":"', *text, b'",']
    else:
        ids = b",".join(orjson.dumps(piece)[1:-1] for piece in _pieces(prompt))
        head = [b'{"input_ids":[', ids, b"],"]
    return b"".join((*head, *_image_data(generation.images), _encoded(fields)[1:]))


def _scheduling(generation: Generation) -> dict[str, Any]:
    """Return the fields that say where and with which adapter a server answers."""
    fields: dict[str, Any] = {}
    if generation.lora is not None:
        fields["lora_path"] = generation.lora
    if generation.cache_salt is not None:
        fields["cache_salt"] = generation.cache_salt
    if generation.rank is not None:
        fields["routed_dp_rank"] = generation.rank
    if generation.bootstrap is not None:
        host, port, room = generation.bootstrap
        fields |= {"bootstrap_host": host, "bootstrap_port": port, "bootstrap_room": room}
    return fields


def _encoded(fields: dict[str, Any]) -> bytes:
    """Return JSON. orjson, which takes a tenth of the time, refuses lone surrogates, and integers
    of more than 64 bits.
    """
    try:
        return orjson.dumps(fields)
    except TypeError:
        return json.dumps(fields).encode()


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
    if not active:
        return {}
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


def _pieces(prompt: Prompt) -> Iterable[Prompt]:
    if len(prompt) <= PIECE:
        return (prompt,)
    return (prompt[at : at + PIECE] for at in range(0, len(prompt), PIECE))


class StreamReader:
    """Converts the payloads of one stream to chunks. ``finished``: the server has ended it.
    ``stops``: ids that end the answer.
    """

    def __init__(
        self, generation: Generation, tokens: Sequence[bytes], stops: Collection[int] = ()
    ) -> None:
        self._tokens = tokens
        self._vocabulary = len(tokens)
        self._stops = frozenset(stops)
        self._left = generation.max_tokens
        #: how the answer must end; None: tokens may follow
        self._must_end: FinishReason | None = None
        self._gate = StopGate(generation.stop) if generation.stop else None
        #: images have more tokens than the placeholders that were sent
        self._least_prompt = len(generation.prompt) + 1 if generation.images else 0
        self._top = generation.sampling.logprobs
        #: of the tokens that no chunk has shown yet
        self._logprobs: list[TokenLogprob] = []
        self._seen = 0
        #: of plain events, for the next chunk
        self._plain: list[int] = []
        #: of the last event
        self._prompt = self._total = self._cached = 0
        self._finish: FinishReason | None = None
        self.finished = False

    def take_plain(self, data: bytes) -> int:
        """Read events at the front of ``data`` that only bring ids, for the chunk that ``read``
        returns next, and return how many bytes they have. Most are such events, and are read in a
        sixth of the time.
        """
        if self._top is not None:
            return 0
        found = read_new_ids(data, self._seen, self._vocabulary, self._least_prompt)
        if found is None:
            return 0
        self._plain, self._total, self._prompt, self._cached, used = found
        self._seen = self._total
        return used

    def read(self, payloads: Sequence[bytes]) -> tuple[Chunk | None, WorkerError | None]:
        """Return one chunk for events that were received together, so that a busy process does the
        work of a chunk once; and the failure of an event behind it, unless the chunk is the last.
        A failure is one that the event reports, or that it is not an event of SGLang.

        ``payloads``: of the events behind those that ``take_plain`` has read.
        """
        ids, self._plain = self._plain, []
        count = len(ids)
        try:
            for payload in payloads:
                self._take(payload, ids)
                count += 1
                if self._finish is not None:
                    break
        except WorkerError as error:
            chunk = self._chunk(ids) if count else None
            is_last = chunk is not None and chunk.finish_reason is not None
            return chunk, None if is_last else error
        return self._chunk(ids) if count else None, None

    def enter(self, path: TextPath) -> None:
        """Let a path read what comes next. For it no token is left once the answer must end, nor if
        stop strings are searched for, or tokens have log probabilities.
        """
        is_plain = self._must_end is None and self._gate is None and self._top is None
        left = self._left if is_plain else 0
        path.enter(self._seen, left, self._least_prompt, self._stops)

    def leave(self, path: TextPath) -> bool:
        """Read on behind a path; return whether it has read a token."""
        seen, left, prompt, cached = path.leave()
        if seen == self._seen:
            return False
        self._seen = self._total = seen
        self._left, self._prompt, self._cached = left, prompt, cached
        return True

    def _take(self, payload: bytes, ids: list[int]) -> None:
        """Read one event, and add its new ids.

        Raises:
            WorkerError: the event reports a failure, or is not an event of SGLang.
        """
        try:
            event = orjson.loads(payload)
            if "error" in event:
                raise server_error(event["error"])
            meta, sent = event["meta_info"], event["output_ids"]
            reason, total = meta["finish_reason"], meta["completion_tokens"]
            if type(total) is not int or total < 0:
                as_count(total)
            finish = None if reason is None else self._ending(reason)
            new = self._new(sent, total)
            logprobs = None
            if self._top is not None:
                logprobs = token_logprobs(meta, new, total, self._top, self._vocabulary)
            prompt, cached = meta["prompt_tokens"], meta.get("cached_tokens", 0)
            if type(prompt) is not int or prompt < self._least_prompt:
                self._check_prompt(as_count(prompt))
            if type(cached) is not int or not 0 <= cached <= prompt:
                cached = min(as_count(cached), prompt)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            message = f"not an event of SGLang: {payload[:200]!r}"
            raise WorkerError(502, message, reason="protocol") from error
        ids += new
        if logprobs:
            self._logprobs += logprobs
        self._prompt, self._total, self._cached, self._finish = prompt, total, cached, finish

    def _ending(self, reason: dict[str, Any]) -> FinishReason:
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
            if type(number) is not int or not 0 <= number < self._vocabulary:
                as_count(number)
                message = f"token ids must be below {self._vocabulary:,}, got {number}"
                raise WorkerError(502, message, reason="protocol")
        return new

    def _check_prompt(self, prompt: int) -> None:
        if prompt < self._least_prompt:
            message = f"SGLang: images are missing in a prompt of {prompt:,} tokens"
            raise WorkerError(502, message, reason="protocol")

    def _chunk(self, ids: list[int]) -> Chunk | None:
        """Return the ids that may be shown now; none follows a stop string."""
        finish, total = self._finish, self._total
        kept = self._kept(ids)
        if overran := len(kept) < len(ids):
            finish, total, ids = self._must_end, total - len(ids) + len(kept), kept
        hit = None
        if self._gate is not None:
            ids, shown = [], ids
            for number, token in enumerate(shown, 1):
                ids += self._gate.push((token,), self._tokens[token])
                if self._gate.hit is not None:
                    finish, total = "stop", total - len(shown) + number
                    break
            if finish is not None:
                ids += self._gate.flush()
            hit = self._gate.hit
        if not ids and finish is None:
            return None
        stop_text, trim = hit or (None, 0)
        logprobs = () if self._top is None else self._taken(len(ids))
        return Chunk(
            tuple(ids),
            finish,
            self._prompt,
            total,
            stop_text,
            trim,
            self._cached,
            logprobs,
            overran,
        )

    def _kept(self, ids: list[int]) -> list[int]:
        """Return the ids without those beyond the end of the answer."""
        kept = [] if self._must_end else ids[: self._left]
        if not self._stops.isdisjoint(kept):
            end = next(n for n, number in enumerate(kept, 1) if number in self._stops)
            kept = kept[:end]
            self._must_end = "stop"
        self._left -= len(kept)
        if not self._left:
            self._must_end = self._must_end or "length"
        return kept

    def _taken(self, count: int) -> tuple[TokenLogprob, ...]:
        """Take the log probabilities of the next tokens."""
        taken = tuple(self._logprobs[:count])
        del self._logprobs[:count]
        return taken
