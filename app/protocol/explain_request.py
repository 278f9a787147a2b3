"""The body of POST /v1/grammars/explain: a constraint, and an output to try."""

from pydantic import Field

from .warmup_request import GrammarRequest

#: characters of an output; reading it takes up to two seconds for the worst grammars
MAX_OUTPUT = 8_192
#: characters of a rule's name; names that the engine makes are shorter
MAX_NAME = 1_024


class ExplainRequest(GrammarRequest):
    """The fields of a chat completion that determine its grammar, and an output to try."""

    model: str | None = None
    """A served model, by name or alias."""
    format: str | None = Field(default=None, max_length=64)
    """A format instead of the model's."""
    output: str | None = Field(default=None, max_length=MAX_OUTPUT)
    """The text of an answer."""
    at: int | None = Field(default=None, ge=0, le=MAX_OUTPUT)
    """The token before which allowed tokens are listed; by default, after the last accepted one."""
    rule: str | None = Field(default=None, max_length=MAX_NAME)
    """The rule that is drawn; by default, the rows."""
