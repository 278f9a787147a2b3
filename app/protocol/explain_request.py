"""The body of POST /v1/grammars/explain: a constraint, and an output to try."""

from pydantic import Field

from .warmup_request import GrammarRequest

#: characters of an output; reading it takes up to two seconds for the worst grammars
MAX_OUTPUT = 8_192
#: characters of a rule's name; names that the engine makes are shorter
MAX_NAME = 1_024


class ExplainRequest(GrammarRequest):
    """Fields of a chat completion that determine its grammar; ``model``: the only model may stay
    unnamed.

    ``format``  a format instead of the model's. ``output``: the text of an answer. ``at``: the
                token of the output before which allowed tokens are listed; without it, after the
                last accepted one. ``rule``: the one whose automaton is drawn; without it, rows.
    """

    model: str | None = None
    format: str | None = Field(default=None, max_length=64)
    output: str | None = Field(default=None, max_length=MAX_OUTPUT)
    at: int | None = Field(default=None, ge=0, le=MAX_OUTPUT)
    rule: str | None = Field(default=None, max_length=MAX_NAME)
