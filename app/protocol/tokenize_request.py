"""The bodies of POST /tokenize and POST /detokenize, as vLLM has them.

/tokenize takes a text (``prompt``), or the body of a chat completion, whose prompt it shows. Its
fields that no prompt depends on, such as those of sampling, have no effect.
"""

from typing import Annotated

from pydantic import Field

from ..errors import bad_request, unsupported_parameter
from .chat_request import ChatFields, ChatRequest
from .messages import Messages
from .sampling_fields import ChoiceFields, TokenId
from .unserved_fields import Body

#: values at which the parameters of a chat are off; the gateway's templates know no others
_FIXED = {
    "add_generation_prompt": (None, True),
    "continue_final_message": (None, False),
    "chat_template": (None,),
}
#: fields of a chat completion that no prompt depends on
_WITHOUT_EFFECT = {
    *ChoiceFields.model_fields,
    *("parallel_tool_calls", "logprobs", "top_logprobs", "max_completion_tokens", "service_tier"),
}
#: fields that only a chat may have
CHAT_ONLY = (*_FIXED, *(name for name in ChatFields.model_fields if name not in _WITHOUT_EFFECT))


class TokenizeRequest(ChatFields):
    """A text (`prompt`), or a chat completion, whose prompt is wanted."""

    prompt: str | None = None
    messages: Messages | None = None
    """The conversation."""
    chat_template: str | None = None
    add_generation_prompt: bool | None = None
    continue_final_message: bool | None = None
    add_special_tokens: bool | None = None
    """`true` by default for a text; the template of a chat decides."""
    return_token_strs: bool | None = None
    """The text of each token, too."""

    @property
    def chat(self) -> ChatRequest | None:
        """The chat completion whose prompt is wanted; None: a text is."""
        if self.messages is None:
            return None
        values = {name: getattr(self, name) for name in ChatRequest.model_fields}
        return ChatRequest.model_construct(self.model_fields_set, **values)

    def check(self) -> None:
        """Raise ApiError 400 unless this is either a text or a chat that the gateway can write."""
        if (self.prompt is None) == (self.messages is None):
            raise bad_request(
                "Expected either 'prompt' or 'messages'.",
                "prompt",
                "missing_required_parameter" if self.prompt is None else "invalid_value",
            )
        for name in CHAT_ONLY if self.messages is None else ():
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
