"""The bodies of POST /tokenize and POST /detokenize, as vLLM has them.

/tokenize takes a text (``prompt``), or a chat (``messages``, ``tools``, ``chat_template_kwargs``,
fields of reasoning), whose tokens are those of the prompt of a chat completion.
"""

from typing import Annotated

from pydantic import Field

from ..errors import bad_request, unsupported_parameter
from .chat_request import TemplateVariables
from .messages import Messages
from .sampling_fields import TokenId
from .thinking_fields import ReasoningEffort, ReasoningOptions, ThinkingFields
from .tools import ToolDefinition
from .unserved_fields import Body

#: values at which the parameters of a chat are off; the gateway's templates know no others
_FIXED = {
    "add_generation_prompt": (None, True),
    "continue_final_message": (None, False),
    "chat_template": (None,),
}
#: parameters of a chat that its prompt depends on
_SHOWN = (
    *ThinkingFields.model_fields,
    *("reasoning_effort", "reasoning", "chat_template_kwargs"),
)


class TokenizeRequest(ThinkingFields):
    """A text (`prompt`), or a chat (`messages`), whose tokens are those of a chat completion."""

    model: str | None = None
    """A served model, by name or alias."""
    prompt: str | None = None
    messages: Messages | None = None
    """The conversation."""
    tools: Annotated[list[ToolDefinition], Field(fail_fast=True)] | None = None
    """Functions and custom tools that the model may call."""
    reasoning_effort: ReasoningEffort | None = None
    """How much the model reasons; `none` turns it off."""
    reasoning: ReasoningOptions | None = None
    """The same as an object, as with OpenRouter."""
    chat_template_kwargs: TemplateVariables | None = None
    """Variables of the chat template."""
    chat_template: str | None = None
    add_generation_prompt: bool | None = None
    continue_final_message: bool | None = None
    add_special_tokens: bool | None = None
    """`true` by default for a text; the template of a chat decides."""
    return_token_strs: bool | None = None
    """The text of each token, too."""

    def check(self) -> None:
        """Raise ApiError 400 unless this is either a text or a chat that the gateway can write."""
        if (self.prompt is None) == (self.messages is None):
            raise bad_request(
                "Expected either 'prompt' or 'messages'.",
                "prompt",
                "missing_required_parameter" if self.prompt is None else "invalid_value",
            )
        chat_only = [*_FIXED, "tools", *_SHOWN]
        for name in chat_only if self.messages is None else ():
            if getattr(self, name) is not None:
                raise bad_request(
                    f"Invalid value for '{name}': only allowed beside 'messages'.",
                    name,
                    "invalid_value",
                )
        for name, off in _FIXED.items():
            if getattr(self, name) not in off:
                raise unsupported_parameter(name)
        if self.messages is not None and self.add_special_tokens:
            raise unsupported_parameter("add_special_tokens")


class DetokenizeRequest(Body):
    """Token ids."""

    model: str | None = None
    tokens: Annotated[list[TokenId], Field(fail_fast=True)]
