"""The fields with which a request turns reasoning on or off, or bounds it.

    reasoning_effort        OpenAI
    thinking_token_budget   vLLM; -1: no bound
    thinking_budget         DashScope, VS Code Copilot: the same
    enable_thinking         DashScope, SGLang
    thinking                Anthropic, DeepSeek, GLM, Kimi: {"type": "enabled", "budget_tokens": 9}
    reasoning               OpenRouter: {"effort": "low", "enabled": true, "max_tokens": 9}

Not here   what they mean together (common_form.thinking).
"""

from typing import Annotated, Literal

from pydantic import Field

from .unserved_fields import Body
from .validation import Options

ReasoningEffort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
#: bound on ``thinking_token_budget``: more than any model's context
MAX_THINKING_TOKENS = 10_000_000
#: the budget of a request without bound
UNBOUNDED = -1
#: tokens of reasoning
Budget = Annotated[int, Field(ge=0, le=MAX_THINKING_TOKENS)]


class Thinking(Options):
    """``auto`` and ``adaptive``: as the model likes. ``clear_thinking``: GLM's variable of that
    name in its chat template.
    """

    type: Literal["enabled", "disabled", "auto", "adaptive"]
    budget_tokens: Budget | None = None
    clear_thinking: bool | None = None


class ReasoningOptions(Options):
    effort: ReasoningEffort | None = None
    enabled: bool | None = None
    max_tokens: Budget | None = None


class ThinkingFields(Body):
    """The fields that every API with chats has."""

    thinking_token_budget: int | None = Field(None, ge=UNBOUNDED, le=MAX_THINKING_TOKENS)
    """Maximum tokens of reasoning; 0 turns it off, -1: no bound."""
    thinking_budget: int | None = Field(None, ge=UNBOUNDED, le=MAX_THINKING_TOKENS)
    """The same, as with DashScope."""
    enable_thinking: bool | None = None
    """Turns reasoning on or off."""
    thinking: Thinking | None = None
    """Turns reasoning on or off, as with Anthropic and DeepSeek."""
