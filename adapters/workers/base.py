"""The worker interface: one generation in, chunks out, by plain calls.

Representation   a Generation is the whole input of a worker, a Chunk the new output since the last
                 chunk; both are frozen.
Invariants       I1 the chunks' token ids, put together, are the whole output, the stop token
                 included.
                 I2 exactly the last chunk of an answer has a finish reason; nothing follows it.
                 I3 ``prompt_tokens`` and ``completion_tokens`` are cumulative and never go down.
                 I4 refusals (of a spec, of a prompt that is too long) come before the first chunk.
                 I5 leaving a run early (its receiver wants no more, cancellation) ends its work.
                 I6 received tokens are final: tokens that may belong to a stop string wait until
                    that is decided, so ``trim`` lies within the last chunk's tokens.
                 I7 with ``logprobs``, a chunk has one TokenLogprob for each of its token ids.
                 I8 no token follows a stop token or the limit; what a worker sends beyond is cut,
                    and the last chunk says so (``overran``).
Not here         text (the engine's parser makes it from ids), retries, balancing and deadlines (the
                 app's).
"""

from collections.abc import Callable, Collection, Mapping
from contextvars import Context
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Any, Literal, NamedTuple, Protocol

#: "stop": a stop token or a stop string; "length": max_tokens or the context is used up;
#: "abort": ended from outside; "error": ended by a fault after the first chunk
FinishReason = Literal["stop", "length", "abort", "error"]
#: why a worker gave no complete answer; a label of metrics, so the set is closed.
#: "refused": the worker rejected the request; "connection": not made, or broken; "timeout": a
#: deadline passed; "unavailable": starting, stopping or overloaded; "full": its queue is, or gave
#: the request's place to one of a higher priority; "status": another HTTP error;
#: "protocol": a violation of the protocol; "truncated": the stream ended without a finish reason;
#: "aborted": ended from outside or by the model; "diverged": tokens that the grammar does not
#: allow; "overrun": tokens beyond the limit or a stop token; "transfer": the keys and values did
#: not pass between the halves of a generation, whichever is to blame; "adapter": it does not have
#: the LoRA adapter that it named; "internal": a fault in this process, for which no worker is to
#: blame
FailureReason = Literal[
    "refused",
    "connection",
    "timeout",
    "unavailable",
    "full",
    "status",
    "protocol",
    "truncated",
    "aborted",
    "diverged",
    "overrun",
    "transfer",
    "adapter",
    "internal",
]
#: which half of generations a server runs: it fills the KV cache and chooses the first token, or it
#: decodes from there
Half = Literal["prefill", "decode"]


def _shaping(off: float) -> Any:
    """Return an option that only shapes probabilities (see ``SHAPING``), with its "off" value."""
    return field(default=off, metadata={"shapes": True})


@dataclass(frozen=True, slots=True)
class SamplingOptions:
    """Sampling options besides temperature, top_p and seed; every default means "off".

    A worker declares the options that it supports. No option allows a token that the grammar
    forbids. Requests have fields with these names, see app.protocol.sampling_fields.

    ``top_k``               number of most likely tokens to draw from; 0: all.
    ``min_p``               in [0, 1]: minimum probability, as a fraction of the highest one.
    ``frequency_penalty``   in [-2, 2]: subtracted from a token's logit per earlier occurrence in
                            the answer.
    ``presence_penalty``    in [-2, 2]: subtracted once from the logit of each token of the answer.
    ``repetition_penalty``  in (0, 2]: a positive logit of a token that occurred is divided by it, a
                            negative one multiplied; 1: off.
    ``logit_bias``          (token id, bias) pairs, each id once, biases in [-100, 100], added to
                            the logits.
    ``min_tokens``          tokens before the first stop token. The caller must check that the
                            grammar never forces a stop token.
    ``ignore_eos``          no stop token at all: ``min_tokens`` is ``max_tokens``.
    ``stop_token_ids``      tokens that end the answer, in addition to the model's own.
    ``logprobs``            report the log probability of each token, and of this number of most
                            likely tokens at its position; None: report nothing.
    """

    top_k: int = _shaping(0)
    min_p: float = _shaping(0.0)
    frequency_penalty: float = _shaping(0.0)
    presence_penalty: float = _shaping(0.0)
    repetition_penalty: float = _shaping(1.0)
    logit_bias: tuple[tuple[int, float], ...] = ()
    min_tokens: int = 0
    ignore_eos: bool = False
    stop_token_ids: tuple[int, ...] = ()
    logprobs: int | None = None

    @property
    def active(self) -> tuple[str, ...]:
        """Return the names of the options that are not off."""
        values = _values(self)
        if values == _OFF:
            return ()
        listed = zip(SAMPLING_OPTIONS, values, _OFF, strict=True)
        return tuple(name for name, value, off in listed if value != off)

    def least_tokens(self, limit: int) -> int:
        """Return the tokens required before a stop token, in an answer of at most ``limit``."""
        return limit if self.ignore_eos else min(self.min_tokens, limit)


#: the names of all options
SAMPLING_OPTIONS = tuple(option.name for option in fields(SamplingOptions))
#: returns the values of all options, in this order
_values = attrgetter(*SAMPLING_OPTIONS)
_OFF = _values(SamplingOptions())
#: those that only shape probabilities: SGLang has them by the same names, and a draw among equally
#: likely tokens needs none of them
SHAPING = tuple(option.name for option in fields(SamplingOptions) if "shapes" in option.metadata)


@dataclass(frozen=True, slots=True)
class Image:
    """An image that was read and checked.

    ``media_type``     "image/png", "image/jpeg", "image/webp" or "image/gif".
    ``data``           its file in Base64.
    ``digest``         16 bytes, equal for equal files.
    ``width, height``  in pixels.
    ``share``          lives as long as the image, whose memory it counts.
    """

    media_type: str
    data: str
    digest: bytes
    width: int
    height: int
    share: object = field(default=None, compare=False, repr=False)

    @property
    def data_url(self) -> str:
        """The image as a URL."""
        return f"data:{self.media_type};base64,{self.data}"


class PromptImage(NamedTuple):
    """An image of a prompt. ``at``: the index of the first token of its placeholder."""

    image: Image
    at: int


class Bootstrap(NamedTuple):
    """Where the halves of a generation meet, of which one server fills the KV cache and another one
    decodes. ``host``, ``port``: of the first one, for the second. ``room``: below 2 ** 63, of this
    generation alone.
    """

    host: str
    port: int
    room: int


#: SGLang's own address for generations whose keys and values go nowhere, as in its health checks: a
#: server of either half answers alone, with meaningless tokens
ALONE = Bootstrap("2.2.2.2", 8998, 0)


@dataclass(frozen=True, slots=True)
class Generation:
    """One request to a worker.

    ``rid``          the request's id in logs and at the worker; any text.
    ``prompt``       text with special tokens spelled out, or token ids.
    ``spec``         a structural tag as JSON text; None: the output is not constrained.
    ``spec_kind``    "json_schema": ``spec`` is a schema, for workers without structural tags.
    ``max_tokens``   maximum output tokens, including the stop token; at least 1. If the model's
                     context ends sooner, the answer ends there, with "length".
    ``temperature``  0 is greedy; ``top_p`` in (0, 1]; ``seed`` None: drawn by the worker.
    ``stop``         stop strings: the answer ends where the first of them is complete.
    ``sampling``     options that not every worker supports.
    ``traceparent``  the header of that name for the worker (W3C Trace Context); None: no trace.
    ``images``       of the prompt, in its order; ids hold one placeholder for each.
    ``interval``     tokens that a chunk may wait for, behind the first one: fewer chunks cost less.
    ``lora``         the worker's name of the adapter that answers; None: the model itself.
    ``priority``     in the worker's queue, if it has any: larger ones go first.
    ``cache_salt``   prompts with different ones share no keys and values; None: shared by all.
    ``rank``         of the worker's data-parallel ranks; None: the worker chooses.
    ``bootstrap``    where both halves of a generation meet; None: one worker does all of it.
    """

    rid: str
    prompt: str | list[int]
    spec: str | None
    max_tokens: int
    temperature: float = 1.0
    top_p: float = 1.0
    seed: int | None = None
    stop: tuple[str, ...] = ()
    spec_kind: Literal["structural_tag", "json_schema"] = "structural_tag"
    sampling: SamplingOptions = SamplingOptions()
    traceparent: str | None = None
    images: tuple[PromptImage, ...] = ()
    interval: int = 1
    lora: str | None = None
    priority: int = 0
    cache_salt: str | None = None
    rank: int | None = None
    bootstrap: Bootstrap | None = None


#: OpenAI's value for a token that is very unlikely; also the lowest one that is reported
LEAST_LOGPROB = -9999.0


class TokenLogprob(NamedTuple):
    """The natural logarithm of a token's probability after penalties, biases, the grammar's mask
    and the temperature, before top_k, top_p and min_p; for greedy answers at temperature 1.

    ``top``: (token id, log probability) of the most likely tokens, most likely first; never a token
    that the grammar forbids, so there may be fewer than requested.
    """

    logprob: float
    top: tuple[tuple[int, float], ...] = ()

    @classmethod
    def certain(cls, token: int, top: int) -> "TokenLogprob":
        """Return the one of a token without an alternative."""
        return cls(0.0, ((token, 0.0),) if top else ())


class Chunk(NamedTuple):
    """The output since the previous chunk.

    ``trim`` counts the bytes at the end of *all* text so far that must not be shown: the stop
    string and the rest of its last token. Only the last chunk sets ``trim`` and ``stop_text``.
    ``cached_tokens`` counts the prompt's tokens that the worker had cached. ``logprobs``: one for
    each token id if they were asked for, else empty. ``overran``: the worker went on beyond the end
    of the answer, which is complete; the worker has failed.
    """

    token_ids: tuple[int, ...]
    finish_reason: FinishReason | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    stop_text: str | None = None
    trim: int = 0
    cached_tokens: int = 0
    logprobs: tuple[TokenLogprob, ...] = ()
    overran: bool = False


@dataclass(frozen=True, slots=True)
class Health:
    """Whether a worker can take a request now, and if not, why. ``details``: for operators.
    ``ranks``: its data-parallel ranks, which a generation may name if there are several.
    ``salts``: whether prompts with different salts share no keys and values. Both None: as before.
    """

    ready: bool
    reason: str = ""
    details: dict[str, Any] = field(default_factory=dict)
    ranks: int | None = None
    salts: bool | None = None


_REASONS: dict[int, FailureReason] = {502: "status", 503: "unavailable", 504: "timeout"}


class WorkerError(Exception):
    """A worker refused or failed.

    ``status`` is the matching HTTP status (400: the request is wrong; 502, 503: the worker failed;
    504: it took too long). ``reason`` is by default "refused" below 500, "internal" for 500,
    "status" for 502, "unavailable" for 503, "timeout" for 504.
    """

    def __init__(self, status: int, message: str, *, reason: FailureReason | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        usual: FailureReason = "refused" if status < 500 else "internal"
        self.reason: FailureReason = reason or _REASONS.get(status, usual)


class PromptTooLong(WorkerError):
    """A prompt of ``got`` tokens leaves no room for an answer in a context of ``limit`` tokens."""

    def __init__(self, got: int, limit: int) -> None:
        super().__init__(
            400, f"the prompt has {got:,} tokens; the model's context of {limit:,} has no room left"
        )
        self.got = got
        self.limit = limit


#: takes a chunk, and returns whether it wants more; must not wait
Receive = Callable[[Chunk], bool]


class Run(Protocol):
    """One generation of a worker, which begins with ``wait``. Event loop only."""

    async def wait(self) -> None:
        """Pass the chunks on, and return after the last one that is wanted. Call it once;
        cancelling it ends the generation. Raises WorkerError, and what the receiver raised.
        """

    def pause(self) -> None:
        """Ask for no chunks for a while. Some that are on their way still come."""

    def resume(self) -> None:
        """Ask for chunks again."""


class TextPath(Protocol):
    """A way past the receiver for what only adds text to the answer, or shows nothing yet
    (adapters.text_path).
    """

    @property
    def is_open(self) -> bool: ...

    @property
    def is_entered(self) -> bool: ...

    def run_in(self, context: Context) -> None:
        """Set the context in which text is written."""

    def enter(self, seen: int, left: int, least_prompt: int, stops: Collection[int]) -> None:
        """Take over the numbers of a stream. ``stops``: ids that end the answer."""

    def push(self, data: bytes) -> int:
        """Take whole events at the front of ``data``, if it is entered and open, and return how
        many bytes they have.
        """
        ...

    def leave(self) -> tuple[int, int, int, int]:
        """Give the numbers back: ids so far, ids until the limit, and, if it took any, the tokens
        of the prompt and those that were cached.
        """
        ...


class TextRun:
    """The base of runs that pass plain text on by ``text_path`` while it is open; it is set before
    ``wait``.
    """

    text_path: TextPath | None = None


class Worker(Protocol):
    """A runner of one model. Call ``start`` first and ``aclose`` last; other calls may overlap.

    ``name`` identifies the worker in logs and metrics, ``description`` is one line for the log at
    startup, ``model`` is the model's id. ``supported_sampling`` names the SamplingOptions that the
    worker supports; it may ignore all others. ``max_model_len`` is the model's context in tokens,
    prompt and answer together; None: unlimited, or not known yet. ``sees_images``: the model is
    known to see images; the worker takes no generation with images otherwise. ``adapters``: the
    LoRA adapters that it is known to have, by name, each with the place of its files there.
    """

    name: str
    description: str
    model: str
    supported_sampling: frozenset[str]

    @property
    def max_model_len(self) -> int | None: ...

    @property
    def sees_images(self) -> bool | None: ...

    @property
    def adapters(self) -> Mapping[str, str]: ...

    async def start(self) -> None:
        """Prepare for requests. A remote worker that is down is no error: ``health`` reports it."""

    def run(self, generation: Generation, receive: Receive) -> Run:
        """Return one generation, whose chunks go to ``receive``."""
        ...

    async def health(self) -> Health:
        """Check the health. The caller sets a deadline; an exception is a failed check."""
        ...

    async def aclose(self) -> None:
        """Release all resources; running generations end with WorkerError(503)."""
