"""The body of POST /v1/chat/completions.

Values are never converted to another type. Validation of an array ends at the first error: a body
of 4 MiB could have a million, and an answer names one.

Not here   fields that are ignored, or refused by name (unserved_fields), rules that span several
           fields (constraints, conversation), the wording of validation errors
           (api.validation_errors).
"""

from collections.abc import Hashable
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, Tag

from adapters.formats import LayoutName

from .extensions import ConstraintFields
from .messages import Messages
from .sampling_fields import ChoiceFields, SamplingFields
from .thinking_fields import ReasoningEffort, ReasoningOptions, ThinkingFields
from .tools import (
    AnyToolDefinition,
    ChatToolChoice,
    FunctionChoice,
    FunctionDefinition,
    ResponseFormat,
)
from .unserved_fields import IGNORED
from .validation import MAX_NAMES, by_type

#: entries of ``chat_template_kwargs`` or of a list in it, and characters of a name or a text
MAX_VARIABLES, VARIABLE_CHARS = 32, 256
#: OpenAI's bound on ``top_logprobs``
MAX_LOGPROBS = 20

#: how long answers are; "medium" is the model's own way
Verbosity = Literal["low", "medium", "high"]
_Short = Annotated[str, Field(max_length=VARIABLE_CHARS)]
_ShortList = Annotated[list[_Short], Field(max_length=MAX_VARIABLES, fail_fast=True)]
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
TemplateVariables = Annotated[dict[_Short, _Variable], Field(max_length=MAX_VARIABLES)]


class GenerationFields(ThinkingFields, SamplingFields):
    """The fields of every API with chats; most are extensions of their workers."""

    parallel_tool_calls: bool | None = None
    """`false` allows one call."""
    include_schema_in_prompt: bool | None = None
    """`false` leaves the response format out of the prompt."""
    json_layout: LayoutName | None = None
    """The white space of JSON, in arguments, too."""
    chat_template_kwargs: TemplateVariables | None = None
    """Variables of the chat template."""
    chat_template_args: TemplateVariables | None = None
    """The same, as with Baseten."""
    preserve_thinking: bool | None = None
    """The variable of this name, as with DashScope."""

    @property
    def template_variables(self) -> dict[str, Any]:
        """The variables of the chat template that the fields set; the first one overrides."""
        clear = self.thinking.clear_thinking if self.thinking else None
        alone = {"preserve_thinking": self.preserve_thinking, "clear_thinking": clear}
        given = {name: value for name, value in alone.items() if value is not None}
        return given | (self.chat_template_args or {}) | (self.chat_template_kwargs or {})


class ChatFields(GenerationFields, ChoiceFields, ConstraintFields):
    """The fields of a chat completion without its messages."""

    tools: Annotated[list[AnyToolDefinition], Field(fail_fast=True)] | None = None
    """Functions and custom tools that the model may call."""
    tool_choice: ChatToolChoice | None = None
    """Which tools must or may be called."""
    functions: Annotated[list[FunctionDefinition], Field(fail_fast=True)] | None = None
    """Deprecated: use `tools`."""
    function_call: FunctionChoice | None = None
    """Deprecated: use `tool_choice`."""
    response_format: ResponseFormat | None = None
    """The form of the content, enforced by a grammar."""
    logprobs: bool | None = None
    """Log probabilities of the content's tokens."""
    top_logprobs: int | None = Field(None, ge=0, le=MAX_LOGPROBS)
    """Also of so many most likely tokens; only with `logprobs`."""
    max_tokens: int | None = Field(None, ge=1)
    """Deprecated: use `max_completion_tokens`."""
    max_completion_tokens: int | None = Field(None, ge=1)
    """Maximum tokens of the answer, with reasoning."""
    reasoning_effort: ReasoningEffort | None = None
    """How much the model reasons; `none` turns it off."""
    reasoning: ReasoningOptions | None = None
    """The same as an object, as with OpenRouter."""
    service_tier: Annotated[str, Field(max_length=VARIABLE_CHARS)] | None = None
    """No effect; the answer then names its own, `default`."""
    verbosity: Verbosity | None = None
    """How long the answer is."""


class ChatRequest(ChatFields):
    """A chat completion. Null stands for an absent field."""

    messages: Messages
    """The conversation."""
    _made: dict[Hashable, Any] | None = PrivateAttr(None)

    @property
    def made(self) -> dict[Hashable, Any] | None:
        """The results of steps that read all fields but messages; None: none is kept."""
        # as ``self._made``, which takes 3 us
        return (self.__pydantic_private__ or {}).get("_made")

    @classmethod
    def repeated_in(cls, body: Any) -> dict[str, Any] | None:
        """Return all of a body but messages and fields that are not read; None: it is invalid."""
        if not isinstance(body, dict) or "messages" not in body or len(body) > MAX_NAMES:
            return None
        return {name: value for name, value in body.items() if name not in _UNREAD}

    def repeating(self) -> "ChatRequest":
        """Return this request for ``with_messages``: from now on, what steps make is kept."""
        self._made = {}
        return self.model_copy(update={"messages": []})

    def with_messages(self, messages: Any) -> "ChatRequest":
        """Return a request with these messages and all other fields of this one. Raises
        ValidationError.
        """
        said = _Conversation.model_validate({"messages": messages})
        return self.model_copy(update={"messages": said.messages})


_UNREAD = frozenset(("messages", *IGNORED)) - frozenset(ChatFields.model_fields)


class _Conversation(BaseModel):
    """The messages of a request, alone."""

    model_config = ConfigDict(strict=True)
    messages: Messages
