"""The body of POST /v1/responses.

``RESPONSES_IGNORED`` and ``RESPONSES_UNSUPPORTED`` have the fields of this API that are not served,
beside those of every API (unserved_fields). ``MOVED`` has names of chat completions, and their
successors here.

Not here   the items of ``input`` (items), the conversion to the common form (common_form).
"""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from ..chat_request import MAX_LOGPROBS, GenerationFields, Verbosity
from ..thinking_fields import Budget, ReasoningEffort, ReasoningOptions
from ..validation import MAX_NAMES, Exact, Items, TextOr, refuse_fields, unknown_type, unsupported
from .configuration import CompactionTriggerItem, ConfigurationItem
from .items import InputItem
from .tools import ResponseTextFormat, ResponseTool, ToolChoice

#: OpenAI's bounds on ``metadata``, and a bound on other texts that a response repeats
MAX_METADATA, KEY_CHARS, VALUE_CHARS = 16, 64, 512
#: OpenAI's bound on ``personality``
PERSONALITY_CHARS = 64
#: characters of a response's id
RESPONSE_ID_CHARS = 128

RESPONSES_UNSUPPORTED: dict[str, tuple[Any, ...]] = {
    "background_options": (None,),
    "moderation": (None,),
    "prompt": (None,),
}
#: the value of ``include`` that asks for log probabilities
LOGPROBS = "message.output_text.logprobs"
#: the value of ``include`` that asks for sealed reasoning
SEALED_REASONING = "reasoning.encrypted_content"
#: ignored fields that ask for what only OpenAI's server does; answers name them
RESPONSES_NAMED = ("access_programs", "context_management", "image")
#: ``client_metadata`` is the Codex CLI's own
RESPONSES_SILENT = ("client_metadata", "prompt_cache_options", "service_tier")
RESPONSES_IGNORED = (*RESPONSES_SILENT, *RESPONSES_NAMED)
MOVED = {
    "function_call": "tool_choice",
    "functions": "tools",
    "max_completion_tokens": "max_output_tokens",
    "max_tokens": "max_output_tokens",
    "messages": "input",
    "reasoning_effort": "reasoning.effort",
    "response_format": "text.format",
    "verbosity": "text.verbosity",
}
#: known values of ``include`` without effect: they concern tools and images that are not served
INERT_INCLUDES = (
    "code_interpreter_call.outputs",
    "computer_call_output.output.image_url",
    "file_search_call.results",
    "message.input_image.image_url",
    "web_search_call.action.sources",
    "web_search_call.results",
)


#: fields of ``reasoning`` without effect; answers name other values than these
REASONING_OFF: dict[str, tuple[Any, ...]] = {
    "context": (None, "auto"),
    "exclude": (None, False),
    "mode": (None, "standard"),
}


class ResponseStreamOptions(Exact):
    include_obfuscation: bool | None = None


class Reasoning(Exact):
    """``summary``, ``generate_summary``: without effect, answers have the reasoning itself.
    ``enabled``, ``max_tokens``, ``exclude``: of OpenRouter.
    """

    effort: ReasoningEffort | None = None
    enabled: bool | None = None
    max_tokens: Budget | None = None
    exclude: bool | None = None
    context: Any = None
    mode: Any = None
    summary: Literal["auto", "concise", "detailed"] | None = None
    generate_summary: Literal["auto", "concise", "detailed"] | None = None


class TextConfig(Exact):
    format: ResponseTextFormat | None = None
    verbosity: Verbosity | None = None


ShortText = Annotated[str, Field(max_length=VALUE_CHARS)]
Metadata = Annotated[
    dict[Annotated[str, Field(max_length=KEY_CHARS)], ShortText], Field(max_length=MAX_METADATA)
]


ConversationId = Annotated[str, Field(min_length=1, max_length=RESPONSE_ID_CHARS)]


class ConversationRef(Exact):
    id: ConversationId


class ResponseRequest(GenerationFields):
    """A response. It needs `input`, `previous_response_id` or `conversation`."""

    ignored = RESPONSES_IGNORED
    silent = RESPONSES_SILENT
    input: TextOr[InputItem] | None = None
    """A text, or items of a conversation."""
    instructions: str | None = None
    """A system message at the beginning."""
    previous_response_id: (
        Annotated[str, Field(min_length=1, max_length=RESPONSE_ID_CHARS)] | None
    ) = None
    """A stored response that this one continues."""
    conversation: ConversationId | ConversationRef | None = None
    """A stored conversation, by its id: its items stand before the input, and those of this
    response are added to it."""
    tools: Annotated[list[ResponseTool], Field(fail_fast=True)] | None = None
    """Functions and custom tools that the model may call."""
    tool_choice: ToolChoice | None = None
    """Which tools must or may be called."""
    text: TextConfig | None = None
    """The form of the text."""
    reasoning: Reasoning | None = None
    """How much the model reasons."""
    max_output_tokens: int | None = Field(None, ge=1)
    """Maximum tokens of the output, with reasoning."""
    max_tool_calls: int | None = Field(None, ge=1)
    """No effect: it limits built-in tools."""
    include: Items[ShortText] | None = None
    """`message.output_text.logprobs` adds log probabilities, `reasoning.encrypted_content` sealed
    reasoning; others have no effect."""
    top_logprobs: int | None = Field(None, ge=0, le=MAX_LOGPROBS)
    """Adds log probabilities, also of so many most likely tokens."""
    truncation: Literal["auto", "disabled"] | None = None
    """No effect: a conversation is never cut."""
    background: bool | None = None
    """`true` answers at once, and the response runs on."""
    store: bool | None = None
    """`false` stores nothing."""
    generate: bool | None = None
    """`false` reads and stores the input; the response has no output and can be continued."""
    metadata: Metadata | None = None
    """Repeated in the response."""
    user: ShortText | None = None
    """Repeated in the response."""
    safety_identifier: ShortText | None = None
    """Repeated in the response."""
    prompt_cache_key: ShortText | None = None
    """Repeated in the response."""
    prompt_cache_retention: Literal["in_memory", "24h"] | None = None
    """Repeated in the response."""
    stream_options: ResponseStreamOptions | None = None
    """Only with `stream`."""

    @model_validator(mode="before")
    @classmethod
    def _without_unsupported(cls, value: Any) -> Any:
        """Refuse parameters that have moved, or are not supported."""
        if not isinstance(value, dict) or len(value) > MAX_NAMES:
            return value
        for name, new in MOVED.items():
            if value.get(name) is not None:
                raise PydanticCustomError(
                    "unsupported_parameter",
                    "Unsupported parameter: '{name}'. In the Responses API, this parameter has "
                    "moved to '{new}'. Try again with the new parameter.",
                    {"name": name, "new": new},
                )
        return refuse_fields(value, RESPONSES_UNSUPPORTED)

    @property
    def reasoning_options(self) -> ReasoningOptions | None:
        """The options of reasoning beside its effort."""
        asked = self.reasoning
        if asked is None:
            return None
        return ReasoningOptions(enabled=asked.enabled, max_tokens=asked.max_tokens)

    @classmethod
    def ignored_in(cls, body: Mapping[str, Any]) -> list[str]:
        """Return the fields of a valid body that have no effect, and are named to the client."""
        asked = body.get("reasoning") or {}
        unusual = [
            *(
                f"reasoning/{name}"
                for name, off in REASONING_OFF.items()
                if asked.get(name) not in off
            ),
            *(["truncation"] if body.get("truncation") == "auto" else []),
        ]
        values = [
            f"include/{number} {unknown_type(value, 'value')}"
            for number, value in enumerate(body.get("include") or ())
            if value not in (LOGPROBS, SEALED_REASONING, *INERT_INCLUDES)
        ]
        return [*super().ignored_in(body), *(f"{name} field" for name in unusual), *values]

    @property
    def wants_logprobs(self) -> bool:
        """Whether the output has log probabilities: ``include`` or ``top_logprobs`` ask for it."""
        return bool(self.top_logprobs) or LOGPROBS in (self.include or ())

    @property
    def wants_sealed_reasoning(self) -> bool:
        """Whether reasoning items have ``encrypted_content``."""
        return SEALED_REASONING in (self.include or ())

    def configured(self, updates: Iterable[ConfigurationItem]) -> Self:
        """Return the request with the settings of these updates; later ones win."""
        changed: dict[str, Any] = {}
        for each in updates:
            if each.reasoning is not None:
                reasoning = self.reasoning or Reasoning()
                new: dict[str, Any] = {"effort": each.reasoning.effort}
                changed["reasoning"] = reasoning.model_copy(update=new)
            if each.text is not None:
                text = self.text or TextConfig()
                changed["text"] = text.model_copy(update={"format": each.text.format})
        return self.model_copy(update=changed)

    @property
    def conversation_id(self) -> str | None:
        """The id of the conversation."""
        named = self.conversation
        return named.id if isinstance(named, ConversationRef) else named

    @field_validator("conversation")
    @classmethod
    def _one_past(cls, value: Any, info: ValidationInfo) -> Any:
        if value is not None and info.data.get("previous_response_id"):
            raise unsupported("'conversation' and 'previous_response_id' cannot be used together.")
        return value

    @property
    def compacts(self) -> bool:
        """Whether the answer is the conversation in short."""
        items = self.input if isinstance(self.input, list) else []
        return bool(items) and isinstance(items[-1], CompactionTriggerItem)

    @property
    def is_immediate(self) -> bool:
        """Whether no model makes the answer."""
        return self.compacts or self.generate is False

    @property
    def runs_in_background(self) -> bool:
        return bool(self.background) and not self.is_immediate

    @field_validator("store")
    @classmethod
    def _stored_background(cls, value: bool | None, info: ValidationInfo) -> bool | None:
        if value is False and info.data.get("background"):
            raise unsupported("'store' of 'false' cannot be used with 'background' of 'true'.")
        return value


class InputTokensRequest(ResponseRequest):
    """A response whose prompt is counted; fields of the answer have no effect."""

    personality: Annotated[str, Field(max_length=PERSONALITY_CHARS)] | None = None
    """No effect: it is a style of OpenAI's models."""


class CompactRequest(ResponseRequest):
    """A conversation to compact; fields of the answer have no effect."""

    model: str
    """A served model, by name or alias."""
