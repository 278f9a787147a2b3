"""SGLang's native ``/generate`` as JSON: the request, the stream's events, its errors. No I/O.

Representation   an event holds the ids and the text of the answer so far (or, from a server with
                 ``--incremental-streaming-output``, what is new), and
                 ``meta_info.completion_tokens``, which counts the whole answer in both cases: so it
                 tells how many of the last ids are new.
Invariants       I1 nothing of an event that reports a failure is handed on: a grammar that doesn't
                 compile comes as a junk token with finish_reason "abort".
Seen with        SGLang 0.5.23: a real server, on CPU.
Not here         HTTP (sglang), the lines of the stream (sse).
"""

import json
from collections.abc import Sequence
from hashlib import blake2b
from secrets import token_hex
from typing import Any

from .base import Chunk, FinishReason, Generation, WorkerError
from .stop_strings import StopGate

#: characters of a server's message that are handed on; some hold the whole grammar
MESSAGE_CHARS = 500
#: what SGLang reports as the "stop string" when the model's numbers are not numbers any more
BROKEN_NUMBERS = "NaN happened"


def request_id(rid: str) -> str:
    """32 hex digits: 16 made of ``rid``, so that logs can be matched, and 16 random ones.

    SGLang aborts by prefix and refuses duplicates, so the length is fixed and a retry gets a name
    of its own.
    """
    return blake2b(rid.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest() + token_hex(8)


def request_body(
    generation: Generation, rid: str, *, context: int | None, stop_token_ids: Sequence[int]
) -> dict[str, Any]:
    """The body of ``POST /generate``. ``context``: the model's length, to which max_tokens is
    cut.
    """
    prompt = generation.prompt
    max_tokens = generation.max_tokens
    if context is not None and not isinstance(prompt, str):
        max_tokens = max(1, min(max_tokens, context - len(prompt)))
    params: dict[str, Any] = {
        "max_new_tokens": max_tokens,
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
    if generation.seed is not None:
        params["sampling_seed"] = generation.seed % (1 << 63)
    name = "text" if isinstance(prompt, str) else "input_ids"
    return {name: prompt, "rid": rid, "stream": True, "sampling_params": params}


class StreamReader:
    """The payloads of one stream -> chunks. ``finished``: the server itself has ended the
    generation.
    """

    def __init__(self, generation: Generation, tokens: Sequence[bytes]) -> None:
        self._tokens = tokens
        self._gate = StopGate(generation.stop)
        self._seen = 0
        self.shown = False
        self.finished = False

    def read(self, payload: bytes) -> Chunk | None:
        """The chunk of one event; None when it shows nothing new.

        Raises:
            WorkerError: the event reports a failure, or is none of SGLang's.
        """
        try:
            event = json.loads(payload)
            if "error" in event:
                raise self._error(event["error"])
            meta, ids = event["meta_info"], event["output_ids"]
            reason, total = meta["finish_reason"], meta["completion_tokens"]
            finish = self._finish(reason)
            new = self._new(ids, total)
            return self._chunk(new, finish, meta["prompt_tokens"], total)
        except (ValueError, LookupError, TypeError) as error:
            raise WorkerError(502, f"not an event of SGLang's: {payload[:200]!r}") from error

    def _finish(self, reason: dict[str, Any] | None) -> FinishReason | None:
        if reason is None:
            return None
        self.finished = True
        kind = reason["type"]
        if kind == "abort":
            raise self._error({"message": reason.get("message"), "code": reason.get("status_code")})
        if reason.get("matched") == BROKEN_NUMBERS:
            raise WorkerError(502, "the model's output is not a number any more")
        return "length" if kind == "length" else "stop"

    def _new(self, ids: list[int], total: int) -> list[int]:
        count = total - self._seen
        if not 0 <= count <= len(ids):
            message = f"{total} made, {self._seen} seen, {len(ids)} sent"
            raise WorkerError(502, f"the stream lost tokens: {message}")
        self._seen = total
        return ids[len(ids) - count :]

    def _chunk(
        self, ids: list[int], finish: FinishReason | None, prompt_tokens: int, total: int
    ) -> Chunk | None:
        """The ids that may be shown by now; nothing of them comes after a stop string."""
        shown: list[int] = []
        for n, number in enumerate(ids, 1):
            shown += self._gate.push((number,), self._tokens[number])
            if self._gate.hit is not None:
                finish, total = "stop", total - len(ids) + n
                break
        if finish is not None:
            shown += self._gate.flush()
        if not shown and finish is None:
            return None
        self.shown = True
        stop_text, trim = self._gate.hit or (None, 0)
        return Chunk(tuple(shown), finish, prompt_tokens, total, stop_text, trim)

    def _error(self, error: Any) -> WorkerError:
        return server_error(error, retryable=not self.shown)


def server_error(error: Any, *, status: int | None = None, retryable: bool) -> WorkerError:
    """SGLang's error in any of its shapes (text, or an object with message and code) -> ours.

    400 and 413 are the request's fault, everything else the server's; only that may be tried
    elsewhere.
    """
    message = error.get("message") if isinstance(error, dict) else error
    code = error.get("code") if isinstance(error, dict) else None
    code = status if status is not None else code
    if code in (400, 413, 422):
        mapped = 413 if code == 413 else 400
    else:
        mapped = 503 if code in (None, 429, 503) else 502
    text = str(message or "no reason given")[:MESSAGE_CHARS]
    return WorkerError(mapped, f"SGLang: {text}", retryable=retryable and mapped >= 500)
