"""What a client may send to /v1/chat/completions, as types.

Strict: no value is converted to another type. What OpenAI knows and we ignore because the output is
the same without it stands in ``IGNORED``; what would change the output and is not done here stands
in ``UNSUPPORTED`` with the values that mean "off"; any other parameter is refused as unknown.
Messages are lenient about fields we don't know, since clients send back what a server sent them.
The first mistake ends the validation of an array: a body of 4 MiB could have a million of them, and
an error names one.
Not here         rules that span several fields (service), words for mistakes (api/errors).
"""

import re
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    model_validator,
)
from pydantic_core import PydanticCustomError

#: OpenAI's own bound on names of tools and schemas; the dot is our addition, for names as in
#: `math.add`
NAME = r"^[a-zA-Z0-9_.-]{1,64}$"
#: OpenAI's bounds on ``stop`` and ``metadata``
MOST_STOPS, STOP_CHARS = 4, 1000
#: OpenAI's bound on ``messages``; here also the bound on the parts and the calls of a message, and
#: on the tools that a choice allows. The steps that follow take time in proportion to them.
MOST_ITEMS = 2048
#: entries of ``chat_template_kwargs``, and characters of a name or a text in it
MOST_VARIABLES, VARIABLE_CHARS = 32, 256
#: tokens of reasoning that can be asked for: more than any model's context has
MOST_THINKING_TOKENS = 10_000_000
#: names in an object whose names are all known; OpenAI has about 40 parameters
MOST_NAMES = 100
#: how tools may be chosen, as the service sees it
ToolMode = Literal["auto", "none", "required", "named"]
#: OpenAI's bounds on both penalties
PENALTY = 2
#: a smaller repetition penalty makes infinities of logits in half precision: no draw is possible
LEAST_REPETITION, MOST_REPETITION = 0.01, 2
#: OpenAI's bound on a bias, and ours on their number: one request may not hold a vocabulary
BIAS, MOST_BIASES = 100, 1024
#: ours: models have one to five
MOST_STOP_TOKENS = 16
#: how ids are spelled as keys
TOKEN_ID = re.compile(r"0|[1-9][0-9]{0,9}")
#: token ids fit 32 bits in every worker
MOST_TOKEN_ID = (1 << 31) - 1
#: seeds are 64-bit integers at OpenAI
SEED = 1 << 63

#: parameters whose effect we lack, with the values that leave the output as it is
UNSUPPORTED: dict[str, tuple[Any, ...]] = {
    "audio": (None,),
    "function_call": (None,),
    "functions": (None, []),
    "logprobs": (None, False),
    "modalities": (None, ["text"]),
    "moderation": (None,),
    "top_logprobs": (None, 0),
    "verbosity": (None, "medium"),
    "web_search_options": (None,),
}
#: parameters that never change the output
IGNORED = (
    "metadata",
    "prediction",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "safety_identifier",
    "service_tier",
    "store",
    "user",
)


Item = TypeVar("Item")
#: an array whose validation ends at the first mistake
Items = Annotated[list[Item], Field(max_length=MOST_ITEMS, fail_fast=True)]


class Exact(BaseModel):
    """An object whose names are all known, and whose values are of their own types."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _few_names(cls, value: Any) -> Any:
        """Every unknown name is a mistake of its own: half a million of them take seconds."""
        if isinstance(value, dict) and len(value) > MOST_NAMES:
            raise PydanticCustomError(
                "too_many_names",
                "at most {most} names are allowed, got {got}",
                {"most": MOST_NAMES, "got": len(value)},
            )
        return value


class _Lenient(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")


def _refuse_type(kind: Any, known: tuple[str, ...], what: str) -> None:
    """What OpenAI has and we lack gets a better answer than "invalid value"."""
    if isinstance(kind, str) and kind not in known:
        raise PydanticCustomError(
            "unsupported_value",
            "{what} of type '{kind}' are not supported by this server.",
            {"what": what, "kind": kind[:100]},
        )


def _content_kind(value: Any) -> str | None:
    if isinstance(value, str):
        return "text"
    return "parts" if isinstance(value, list) else None


class ThoughtPart(_Lenient):
    type: Literal["text"]
    text: str


#: what a part of type "thinking" holds: text, or as Mistral writes it parts of text
Thoughts = Annotated[
    Annotated[str, Tag("text")] | Annotated[Items[ThoughtPart], Tag("parts")],
    Discriminator(_content_kind, custom_error_type="content_type", custom_error_message="content"),
]


class ContentPart(_Lenient):
    """A piece of a message; text is all that this server reads."""

    type: Literal["text", "refusal", "thinking"]
    text: str = ""
    refusal: str = ""
    thinking: Thoughts = ""

    @model_validator(mode="before")
    @classmethod
    def _text_only(cls, value: Any) -> Any:
        """Nothing counts but what the type names: clients leave other parts of an answer there."""
        if not isinstance(value, dict):
            return value
        kind, known = value.get("type"), ("text", "refusal", "thinking")
        _refuse_type(kind, known, "Content parts")
        if kind not in known:
            return value
        if kind not in value:
            raise PydanticCustomError(
                "missing_text", "a part of type '{kind}' needs it", {"kind": kind}
            )
        return {"type": kind, kind: value[kind]}


Content = Annotated[
    Annotated[str, Tag("text")] | Annotated[Items[ContentPart], Tag("parts")],
    Discriminator(_content_kind, custom_error_type="content_type", custom_error_message="content"),
]


class CalledFunction(_Lenient):
    name: str
    arguments: str


class PastCall(_Lenient):
    """A call that an earlier answer made."""

    id: str
    type: Literal["function"] = "function"
    function: CalledFunction

    @model_validator(mode="before")
    @classmethod
    def _functions_only(cls, value: Any) -> Any:
        if isinstance(value, dict):
            _refuse_type(value.get("type"), ("function",), "Tool calls")
        return value


class Instruction(_Lenient):
    role: Literal["system", "developer"]
    content: Content
    name: str | None = None


class FromUser(_Lenient):
    role: Literal["user"]
    content: Content
    name: str | None = None


class FromAssistant(_Lenient):
    role: Literal["assistant"]
    content: Content | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    tool_calls: Items[PastCall] | None = None
    name: str | None = None


class FromTool(_Lenient):
    role: Literal["tool"]
    content: Content
    tool_call_id: str


Message = Annotated[Instruction | FromUser | FromAssistant | FromTool, Field(discriminator="role")]


class FunctionDefinition(Exact):
    name: str = Field(pattern=NAME)
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class ToolDefinition(Exact):
    type: Literal["function"]
    function: FunctionDefinition

    @model_validator(mode="before")
    @classmethod
    def _functions_only(cls, value: Any) -> Any:
        if isinstance(value, dict):
            _refuse_type(value.get("type"), ("function",), "Tools")
        return value


class FunctionName(Exact):
    name: str


class NamedTool(Exact):
    type: Literal["function"]
    function: FunctionName


class AllowedTools(Exact):
    mode: Literal["auto", "required"]
    tools: Items[NamedTool] = Field(min_length=1)


class AllowedToolsChoice(Exact):
    type: Literal["allowed_tools"]
    allowed_tools: AllowedTools


def _choice_kind(value: Any) -> str | None:
    if isinstance(value, str):
        return "mode"
    kind = value.get("type") if isinstance(value, dict) else None
    return kind if kind in ("function", "allowed_tools") else None


ToolChoice = Annotated[
    Annotated[Literal["none", "auto", "required"], Tag("mode")]
    | Annotated[NamedTool, Tag("function")]
    | Annotated[AllowedToolsChoice, Tag("allowed_tools")],
    Discriminator(
        _choice_kind,
        custom_error_type="invalid_tool_choice",
        custom_error_message="expected 'none', 'auto', 'required', or an object of type "
        "'function' or 'allowed_tools'",
    ),
]


class TextFormat(Exact):
    type: Literal["text"]


class JsonObjectFormat(Exact):
    type: Literal["json_object"]


class JsonSchema(Exact):
    name: str = Field(pattern=NAME)
    description: str | None = None
    schema_: dict[str, Any] = Field(alias="schema")
    strict: bool | None = None


class JsonSchemaFormat(Exact):
    type: Literal["json_schema"]
    json_schema: JsonSchema


ResponseFormat = Annotated[
    TextFormat | JsonObjectFormat | JsonSchemaFormat, Field(discriminator="type")
]


class StreamOptions(Exact):
    include_usage: bool | None = None
    include_obfuscation: bool | None = None


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


ReasoningEffort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
#: what a chat template may be told: names and short values
TemplateVariables = Annotated[
    dict[
        Annotated[str, Field(max_length=VARIABLE_CHARS)],
        bool | int | float | Annotated[str, Field(max_length=VARIABLE_CHARS)] | None,
    ],
    Field(max_length=MOST_VARIABLES),
]


def _check_biases(value: Any) -> Any:
    """Bounds the work of validation, and takes ids in one spelling: "1" and "01" are one token."""
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


class ChatRequest(Exact):
    """One request; only fields that this server acts on, besides the two tables above."""

    model: str
    messages: Items[Message] = Field(min_length=1)
    tools: Annotated[list[ToolDefinition], Field(fail_fast=True)] | None = None
    tool_choice: ToolChoice | None = None
    parallel_tool_calls: bool | None = None
    response_format: ResponseFormat | None = None
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
    thinking_token_budget: int | None = Field(None, ge=0, le=MOST_THINKING_TOKENS)
    chat_template_kwargs: TemplateVariables | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None

    @model_validator(mode="before")
    @classmethod
    def _without_ignored(cls, value: Any) -> Any:
        """Drops what changes nothing; refuses what would and can't be done."""
        if not isinstance(value, dict) or len(value) > MOST_NAMES:
            return value
        for name, off in UNSUPPORTED.items():
            if name in value and value[name] not in off:
                raise PydanticCustomError(
                    "unsupported_parameter",
                    "Unsupported parameter: '{name}' is not supported by this server.",
                    {"name": name},
                )
        return {k: v for k, v in value.items() if k not in IGNORED and k not in UNSUPPORTED}

    @property
    def stops(self) -> tuple[str, ...]:
        """The stop strings, each once."""
        stop = self.stop
        if stop is None:
            return ()
        return (stop,) if isinstance(stop, str) else tuple(dict.fromkeys(stop))
