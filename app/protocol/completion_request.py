"""The body of POST /v1/completions, OpenAI's endpoint for text without a chat template.

Values are never converted to another type.

Not here   the prompts' tokens and the constraint (service.completion_service).
"""

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag

from adapters.formats import LayoutName

from ..errors import bad_request, unsupported_parameter
from .extensions import ConstraintFields
from .sampling_fields import ChoiceFields, TokenId
from .tools import ResponseFormat

#: OpenAI's bound on ``logprobs``
MAX_LEGACY_LOGPROBS = 5
#: texts of one request; each is a generation, or ``n`` of them
MAX_PROMPTS = 128

Ids = Annotated[list[TokenId], Field(fail_fast=True)]


def _prompt_kind(value: Any) -> str | None:
    if isinstance(value, str):
        return "text"
    if not isinstance(value, list):
        return None
    first = value[0] if value else ""
    if isinstance(first, list):
        return "lists"
    return "texts" if isinstance(first, str) else "ids"


PromptField = Annotated[
    Annotated[str, Tag("text")]
    | Annotated[
        list[str], Field(min_length=1, max_length=MAX_PROMPTS, fail_fast=True), Tag("texts")
    ]
    | Annotated[list[TokenId], Field(min_length=1, fail_fast=True), Tag("ids")]
    | Annotated[
        list[Ids], Field(min_length=1, max_length=MAX_PROMPTS, fail_fast=True), Tag("lists")
    ],
    Discriminator(
        _prompt_kind,
        custom_error_type="unexpected_type",
        custom_error_message="a string, an array of strings, an array of token ids, or an "
        "array of arrays of token ids",
    ),
]


class CompletionRequest(ChoiceFields, ConstraintFields):
    """A text completion."""

    prompt: PromptField | None = ""
    """A text or token ids, or several of either."""
    add_special_tokens: bool | None = None
    """`false`: no token such as BOS before a text."""
    response_format: ResponseFormat | None = None
    """The form of the content, enforced by a grammar."""
    json_layout: LayoutName | None = None
    """The white space of JSON."""
    suffix: str | None = None
    echo: bool | None = None
    """The prompt before the text."""
    max_tokens: int | None = Field(None, ge=1)
    """Maximum tokens of the text; default 16."""
    best_of: int | None = Field(None, ge=1)
    """Must equal `n`."""
    logprobs: int | None = Field(None, ge=0, le=MAX_LEGACY_LOGPROBS)
    """Log probabilities of so many most likely tokens."""

    @property
    def prompts(self) -> Sequence[str | list[int]]:
        """The prompts, each a text or token ids."""
        prompt = self.prompt or ""
        if isinstance(prompt, str):
            return [prompt]
        if isinstance(prompt[0], int):
            return [prompt]
        return prompt

    def place(self, number: int) -> str:
        """Return the place of prompt ``number`` in the body."""
        is_one = not isinstance(self.prompt, list) or self.prompts[0] is self.prompt
        return "prompt" if is_one else f"prompt[{number}]"

    @property
    def choices(self) -> int:
        """The number of texts to generate."""
        return len(self.prompts) * (self.n or 1)

    def check(self) -> None:
        """Raise ApiError 400 for parameters that are not served, or contradict each other."""
        if self.suffix:
            raise unsupported_parameter("suffix")
        if self.best_of is not None and self.best_of != (self.n or 1):
            raise unsupported_parameter(
                "best_of", "is not supported by this server, unless it equals 'n'."
            )
        if self.echo and self.logprobs is not None:
            raise unsupported_parameter(
                "echo",
                "is not supported beside 'logprobs': the workers report no log probabilities of "
                "prompts.",
            )
        if self.choices > MAX_PROMPTS:
            raise bad_request(
                f"Invalid 'n': {len(self.prompts)} prompts with {self.n or 1} completions each are "
                f"{self.choices}, at most {MAX_PROMPTS} are allowed.",
                "n",
                "integer_above_max_value",
            )
