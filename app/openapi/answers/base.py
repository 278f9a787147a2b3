"""The base of answers, and objects that several of them have."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

#: the value of a field that an answer may lack
ABSENT: Any = Field(default=None)


class Answer(BaseModel):
    """An object of an answer. Clients ignore fields that they do not know."""

    model_config = ConfigDict(strict=True, extra="ignore")


class ErrorObject(Answer):
    message: str = Field(description="The problem, with the value and those that are allowed.")
    type: str = Field(examples=["invalid_request_error", "rate_limit_error", "server_error"])
    param: str | None = Field(description="The field of the request, such as `tools[0].type`.")
    code: str | None = Field(description="The reason for programs.")


class ErrorResponse(Answer):
    """The answer of every error."""

    error: ErrorObject


class FunctionText(Answer):
    name: str
    arguments: str = Field(description="JSON text.")


class CustomText(Answer):
    name: str
    input: str


class TopLogprob(Answer):
    token: str
    logprob: float
    bytes: list[int]


class TokenLogprob(TopLogprob):
    top_logprobs: list[TopLogprob]


class ChoiceLogprobs(Answer):
    content: list[TokenLogprob] | None
    refusal: None


class PromptDetails(Answer):
    cached_tokens: int
    audio_tokens: int


class CompletionDetails(Answer):
    reasoning_tokens: int
    audio_tokens: int
    accepted_prediction_tokens: int
    rejected_prediction_tokens: int


class ChatUsage(Answer):
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: PromptDetails
    completion_tokens_details: CompletionDetails


FinishReason = Literal["stop", "length", "tool_calls", "function_call"]
