"""The fields of requests that control how tokens are drawn, where answers end, and with whom the
prompt's keys and values are shared.

A field with the name of one of the workers' SamplingOptions is that option, see
generation.sampling.

Not here   what the fields mean together (generation.sampling).
"""

import re
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from .unserved_fields import Body, unsupported_field
from .validation import Exact, by_type, is_off

#: OpenAI's bounds on ``stop``
MAX_STOPS, STOP_CHARS = 4, 1000
#: OpenAI's bounds on both penalties
PENALTY = 2
#: a smaller repetition penalty makes infinities of logits in half precision: no draw is possible
LEAST_REPETITION, MAX_REPETITION = 0.01, 2
#: OpenAI's bound on a bias, and a bound on their number: a request may not carry a vocabulary
BIAS, MAX_BIASES = 100, 1024
#: stop tokens of a request; models have one to five
MAX_STOP_TOKENS = 16
#: token ids as keys of an object
TOKEN_ID = re.compile(r"0|[1-9][0-9]{0,9}")
#: token ids fit 32 bits in every worker
MAX_TOKEN_ID = (1 << 31) - 1
#: characters of a salt: more than any digest
MAX_SALT = 512
#: seeds are 64-bit integers at OpenAI
SEED = 1 << 63


class StreamOptions(Exact):
    include_usage: bool | None = None
    include_obfuscation: bool | None = None

    @model_validator(mode="before")
    @classmethod
    def _without_extensions(cls, value: Any) -> Any:
        if not isinstance(value, dict) or "continuous_usage_stats" not in value:
            return value
        if not is_off(value["continuous_usage_stats"], (False,)):
            raise unsupported_field("stream_options.continuous_usage_stats")
        return {name: each for name, each in value.items() if name != "continuous_usage_stats"}


StopString = Annotated[str, Field(min_length=1, max_length=STOP_CHARS)]


Stop = Annotated[
    Annotated[StopString, Tag("one")]
    | Annotated[
        Annotated[list[StopString], Field(max_length=MAX_STOPS, fail_fast=True)], Tag("many")
    ],
    by_type("one of a string or array of strings", one=str, many=list),
]


def _check_biases(value: Any) -> Any:
    """Bound the work of validation, and refuse a second spelling of an id ("1", "01")."""
    if not isinstance(value, dict):
        return value
    if len(value) > MAX_BIASES:
        raise PydanticCustomError(
            "too_many_biases",
            "at most {most} token ids are allowed, got {got}",
            {"most": MAX_BIASES, "got": len(value)},
        )
    for name in value:
        if not TOKEN_ID.fullmatch(name):
            raise PydanticCustomError(
                "invalid_token_id",
                "expected decimal token ids as keys, got {got}",
                {"got": repr(name[:20])},
            )
    return value


LogitBias = Annotated[
    dict[str, Annotated[float, Field(ge=-BIAS, le=BIAS)]], BeforeValidator(_check_biases)
]
TokenId = Annotated[int, Field(ge=0, le=MAX_TOKEN_ID)]


class SamplingFields(Body):
    """The fields of every API."""

    model: str | None = None
    """A served model, by name or alias."""
    temperature: float | None = Field(None, ge=0, le=2)
    """1 changes nothing; 0 picks the most likely token."""
    top_p: float | None = Field(None, ge=0, le=1)
    """Only the most likely tokens with this sum of probabilities."""
    top_k: int | None = Field(None, ge=-1, le=MAX_TOKEN_ID)
    """Only this number of most likely tokens; 0 and -1: all."""
    min_p: float | None = Field(None, ge=0, le=1)
    """Only tokens with this share of the highest probability."""
    frequency_penalty: float | None = Field(None, ge=-PENALTY, le=PENALTY)
    """Penalty for each earlier use of a token."""
    presence_penalty: float | None = Field(None, ge=-PENALTY, le=PENALTY)
    """Penalty for tokens that were used."""
    repetition_penalty: float | None = Field(None, ge=LEAST_REPETITION, le=MAX_REPETITION)
    """Factor for tokens that were used; 1 changes nothing."""
    logit_bias: LogitBias | None = None
    """Added to the logits of tokens, by id."""
    seed: int | None = Field(None, ge=-SEED, lt=SEED)
    """One seed gives one answer."""
    stream: bool | None = None
    """Answer with events."""
    cache_salt: str | None = Field(None, max_length=MAX_SALT)
    """Only prompts with an equal salt share cached keys and values."""
    extra_key: str | None = Field(None, max_length=MAX_SALT)
    """A second salt, as with SGLang."""

    @property
    def cache_salts(self) -> tuple[str, ...]:
        """Both salts; (): none."""
        salts = (self.cache_salt or "", self.extra_key or "")
        return salts if any(salts) else ()

    @property
    def choices(self) -> int:
        """The number of answers to generate."""
        return 1

    @property
    def runs_in_background(self) -> bool:
        """Whether the answer goes on after the client has left."""
        return False

    def check(self) -> None:
        """Raise ApiError 400 for fields that are not served, or contradict each other; those of the
        common form are checked later.
        """


class ChoiceFields(SamplingFields):
    """The fields of chat completions and of text completions."""

    min_tokens: int | None = Field(None, ge=0)
    """Least tokens of the answer."""
    ignore_eos: bool | None = None
    """Generate until the output limit."""
    stop_token_ids: (
        Annotated[list[TokenId], Field(max_length=MAX_STOP_TOKENS, fail_fast=True)] | None
    ) = None
    """The model's own stop tokens only; use `stop`."""
    stop: Stop | None = None
    """Strings that end the answer."""
    max_tokens: int | None = Field(None, ge=1)
    """Maximum tokens of the answer."""
    n: int | None = Field(None, ge=1)
    """Number of answers."""
    stream_options: StreamOptions | None = None
    """Only with `stream`."""

    @property
    def choices(self) -> int:
        """The number of answers to generate."""
        return self.n or 1

    @property
    def includes_usage(self) -> bool:
        """Whether a stream tells the usage."""
        return self.stream_options is not None and bool(self.stream_options.include_usage)

    @property
    def stops(self) -> tuple[str, ...]:
        """The stop strings without duplicates."""
        stop = self.stop
        if stop is None:
            return ()
        return (stop,) if isinstance(stop, str) else tuple(dict.fromkeys(stop))
