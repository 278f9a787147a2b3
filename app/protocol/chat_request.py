"""The body of POST /v1/chat/completions.

Values are never converted to another type. Validation of an array ends at the first error: a body
of 4 MiB could have a million, and an answer names one.

Not here   fields that are ignored, or refused by name (unserved_fields), rules that span several
           fields (constraints, conversation), the wording of validation errors
           (api.error_responses).
"""

import re
from typing import Annotated, Any, Literal, Protocol

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from .extensions import ConstraintFields
from .messages import Messages
from .thinking_fields import ReasoningEffort, ReasoningOptions, ThinkingFields
from .tools import (
    AnyToolDefinition,
    ChatToolChoice,
    FunctionChoice,
    FunctionDefinition,
    ResponseFormat,
)
from .unserved_fields import unsupported_field
from .validation import Exact, by_type, is_off

#: OpenAI's bounds on ``stop`` and ``metadata``
MOST_STOPS, STOP_CHARS = 4, 1000
#: entries of ``chat_template_kwargs`` or of a list in it, and characters of a name or a text
MOST_VARIABLES, VARIABLE_CHARS = 32, 256
#: OpenAI's bounds on both penalties
PENALTY = 2
#: a smaller repetition penalty makes infinities of logits in half precision: no draw is possible
LEAST_REPETITION, MOST_REPETITION = 0.01, 2
#: OpenAI's bound on a bias, and a bound on their number: a request may not carry a vocabulary
BIAS, MOST_BIASES = 100, 1024
#: OpenAI's bound on ``top_logprobs``
MOST_LOGPROBS = 20
#: stop tokens of a request; models have one to five
MOST_STOP_TOKENS = 16
#: token ids as keys of an object
TOKEN_ID = re.compile(r"0|[1-9][0-9]{0,9}")
#: token ids fit 32 bits in every worker
MOST_TOKEN_ID = (1 << 31) - 1
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


def _stop_kind(value: Any) -> str | None:
    if isinstance(value, str):
        return "one"
    return "many" if isinstance(value, list) else None


Stop = Annotated[
    Annotated[StopString, Tag("one")]
    | Annotated[
        Annotated[list[StopString], Field(max_length=MOST_STOPS, fail_fast=True)], Tag("many")
    ],
    Discriminator(_stop_kind, custom_error_type="content_type", custom_error_message="stop"),
]


#: how long answers are; "medium" is the model's own way
Verbosity = Literal["low", "medium", "high"]
_Short = Annotated[str, Field(max_length=VARIABLE_CHARS)]
_ShortList = Annotated[list[_Short], Field(max_length=MOST_VARIABLES, fail_fast=True)]
_Variable = Annotated[
    Annotated[bool, Tag("_bool")]
    | Annotated[int, Tag("_int")]
    | Annotated[float, Tag("_float")]
    | Annotated[_Short, Tag("_text")]
    | Annotated[_ShortList, Tag("_list")]
    | Annotated[None, Tag("_null")],
    by_type(
        "a boolean, a number, a string or an array of strings",
        _bool=bool,
        _int=int,
        _float=float,
        _text=str,
        _list=list,
        _null=type(None),
    ),
]
#: variables of a chat template: names and short values
TemplateVariables = Annotated[dict[_Short, _Variable], Field(max_length=MOST_VARIABLES)]


def _check_biases(value: Any) -> Any:
    """Bound the work of validation, and refuse a second spelling of an id ("1", "01")."""
    if not isinstance(value, dict):
        return value
    if len(value) > MOST_BIASES:
        raise PydanticCustomError(
            "too_many_biases",
            "at most {most} token ids are allowed, got {got}",
            {"most": MOST_BIASES, "got": len(value)},
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
TokenId = Annotated[int, Field(ge=0, le=MOST_TOKEN_ID)]


class GenerationBody(Protocol):
    """What the bodies of all APIs that generate have in common."""

    model: str | None
    stream: bool | None

    @property
    def choices(self) -> int:
        """The number of answers to generate."""

    def check(self) -> None:
        """Raise ApiError 400 for parameters that are not served, or contradict each other."""


class GenerationFields(ThinkingFields):
    """The fields that requests of every API have; most are extensions of their workers.

    ``model``  the only model may stay unnamed.
    """

    model: str | None = None
    parallel_tool_calls: bool | None = None
    include_schema_in_prompt: bool | None = None
    temperature: float | None = Field(None, ge=0, le=2)
    top_p: float | None = Field(None, ge=0, le=1)
    top_k: int | None = Field(None, ge=-1, le=MOST_TOKEN_ID)
    min_p: float | None = Field(None, ge=0, le=1)
    frequency_penalty: float | None = Field(None, ge=-PENALTY, le=PENALTY)
    presence_penalty: float | None = Field(None, ge=-PENALTY, le=PENALTY)
    repetition_penalty: float | None = Field(None, ge=LEAST_REPETITION, le=MOST_REPETITION)
    logit_bias: LogitBias | None = None
    seed: int | None = Field(None, ge=-SEED, lt=SEED)
    chat_template_kwargs: TemplateVariables | None = None
    stream: bool | None = None

    @property
    def choices(self) -> int:
        """See GenerationBody."""
        return 1

    def check(self) -> None:
        """See GenerationBody; the common form is checked later."""


class ChatRequest(GenerationFields, ConstraintFields):
    """A request."""

    messages: Messages
    tools: Annotated[list[AnyToolDefinition], Field(fail_fast=True)] | None = None
    tool_choice: ChatToolChoice | None = None
    functions: Annotated[list[FunctionDefinition], Field(fail_fast=True)] | None = None
    function_call: FunctionChoice | None = None
    response_format: ResponseFormat | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = Field(None, ge=0, le=MOST_LOGPROBS)
    min_tokens: int | None = Field(None, ge=0)
    ignore_eos: bool | None = None
    stop_token_ids: (
        Annotated[list[TokenId], Field(max_length=MOST_STOP_TOKENS, fail_fast=True)] | None
    ) = None
    stop: Stop | None = None
    max_completion_tokens: int | None = Field(None, ge=1)
    max_tokens: int | None = Field(None, ge=1)
    n: int | None = Field(None, ge=1)
    reasoning_effort: ReasoningEffort | None = None
    reasoning: ReasoningOptions | None = None
    verbosity: Verbosity | None = None
    stream_options: StreamOptions | None = None

    @property
    def choices(self) -> int:
        """See GenerationBody."""
        return self.n or 1

    @property
    def stops(self) -> tuple[str, ...]:
        """The stop strings without duplicates."""
        return stop_strings(self.stop)


def stop_strings(stop: str | list[str] | None) -> tuple[str, ...]:
    """Return stop strings without duplicates."""
    if stop is None:
        return ()
    return (stop,) if isinstance(stop, str) else tuple(dict.fromkeys(stop))
