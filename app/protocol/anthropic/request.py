"""The bodies of POST /v1/messages and POST /v1/messages/count_tokens.

``MESSAGES_IGNORED`` has the fields of Anthropic's API that have no effect here: hints for caches
and bills, and features that only its server has. An answer names those of them that were used.

Not here   the blocks of messages (content), tools (tools), the conversion to the common form.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from ...errors import bad_request
from ..chat_request import GenerationFields
from ..sampling_fields import StopString
from ..thinking_fields import Thinking
from ..validation import Exact, Items, TextOr
from .content import InputMessage, SystemBlock
from .tools import MessagesTool, MessagesToolChoice

MAX_STOP_SEQUENCES = 16
#: Anthropic's code for a request that no thread can have
NO_THREADS = "thread_unsupported_request"

MESSAGES_IGNORED = (
    *("betas", "billing_policy", "cache_control", "compaction", "container"),
    *("context_management", "diagnostics", "fallback_credit_token", "fallbacks", "inference_geo"),
    *("mcp_servers", "metadata", "service_tier", "speed", "user_profile_id"),
    "workspace_id",
)
#: those without a bearing on the answer: they are dropped without a word
SILENT = frozenset(("betas", "cache_control", "diagnostics", "metadata", "service_tier"))


class ShownThinking(Thinking):
    """``between_tools``: as the model likes. ``display``: "omitted": thoughts are sealed only;
    others: they are shown. Claude Code asks for "updates" where a program reads its stream.
    """

    type: Literal["enabled", "disabled", "auto", "adaptive", "between_tools"]  # type: ignore[assignment]
    display: Literal["summarized", "omitted", "updates"] | None = None


class OutputFormat(Exact):
    type: Literal["json_schema"]
    schema_: dict[str, Any] = Field(alias="schema")


class OutputConfig(Exact):
    """``task_budget``: without effect."""

    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = None
    format: OutputFormat | None = None
    task_budget: Any = None


class PromptFields(GenerationFields):
    """The fields from which the prompt is made."""

    ignored = MESSAGES_IGNORED
    silent = SILENT
    messages: Items[InputMessage] = Field(min_length=1)
    """The conversation."""
    system: TextOr[SystemBlock] | None = None
    """The instructions."""
    tools: Annotated[list[MessagesTool], Field(fail_fast=True)] | None = None
    """Functions that the model may call."""
    tool_choice: MessagesToolChoice | None = None
    """Whether and which tools must be called."""
    thinking: ShownThinking | None = None
    """Turns reasoning on or off; `display: omitted` shows its seal only."""
    output_config: OutputConfig | None = None
    """How much the model reasons, and the form of the text."""
    output_format: OutputFormat | None = None
    """Deprecated: use `output_config.format`."""

    @classmethod
    def ignored_in(cls, body: Mapping[str, Any]) -> list[str]:
        """Return the fields of a valid body that have no effect, and are named to the client."""
        ignored = super().ignored_in(body)
        if (body.get("output_config") or {}).get("task_budget"):
            ignored.append("output_config/task_budget field")
        return ignored


class CountRequest(PromptFields):
    """A message whose prompt is counted; fields of the answer have no effect."""

    max_tokens: int | None = None
    """No effect."""
    stop_sequences: list[str] | None = None
    """No effect."""


class MessagesRequest(PromptFields):
    """A message to write."""

    max_tokens: int = Field(ge=1)
    """Maximum tokens of the message, with reasoning."""
    stop_sequences: (
        Annotated[list[StopString], Field(max_length=MAX_STOP_SEQUENCES, fail_fast=True)] | None
    ) = None
    """Strings that end the text."""
    thread: Any = None
    """Not served: send the whole conversation."""

    def check(self) -> None:
        """Refuse a thread: its next turn would lack what only Anthropic's server keeps. By the
        code, Anthropic's tool runner knows that it must send the whole conversation.
        """
        if self.thread is not None:
            raise bad_request(
                "Unsupported parameter: 'thread'. This server keeps no conversations; 'messages' "
                "must have all of it.",
                "thread",
                NO_THREADS,
            )

    @property
    def stops(self) -> tuple[str, ...]:
        """The stop strings without duplicates."""
        return tuple(dict.fromkeys(self.stop_sequences or ()))
