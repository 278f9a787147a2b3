"""The bodies of requests of every API, as validated types."""

from .chat_request import MOST_BIASES, ChatRequest
from .check_request import CheckRequest
from .completion_request import CompletionRequest
from .explain_request import ExplainRequest
from .extensions import OPTIONS, StructuralTagFormat, StructuredOutputs
from .ignored_fields import ignored_fields
from .json_text import has_more_values, parse_json
from .legacy_functions import is_legacy, legacy_error, with_tools
from .messages import (
    AssistantMessage,
    Message,
    PastCustomCall,
    PastToolCall,
    ToolMessage,
    content_text,
    mentions_json,
)
from .operator_requests import DrainRequest, ModeRequest, UndrainRequest
from .responses.common_form import common_form, renamed, renamed_places
from .responses.conversation import Conversation
from .responses.ids import is_response_id, item_id, new_response_id, pointer, response_of
from .responses.items import ITEMS, ContentItem, ItemReference, LeftOutItem, MessageItem, listed
from .responses.items_query import ItemsQuery
from .responses.request import RESPONSES_IGNORED, RESPONSES_UNSUPPORTED, ResponseRequest
from .responses.tool_names import ToolName, ToolNames
from .responses.tools import RESPONSES_TOOL_OFF, HostedTool, shown_format
from .thinking_fields import UNBOUNDED, ReasoningEffort, ReasoningOptions
from .tokenize_request import DetokenizeRequest, TokenizeRequest
from .tools import (
    TOOL_HINTS,
    TOOL_OFF,
    AllowedToolsChoice,
    CustomToolDefinition,
    GrammarInput,
    JsonObjectFormat,
    JsonSchemaFormat,
    NamedCustomTool,
    NamedTool,
    TextFormat,
    ToolDefinition,
    ToolMode,
)
from .unserved_fields import OPENAI_IGNORED, OPENAI_UNSUPPORTED
from .validation import MOST_ITEMS
from .warmup_request import GrammarRequest, WarmupRequest

__all__ = [
    "ITEMS",
    "MOST_BIASES",
    "MOST_ITEMS",
    "OPENAI_IGNORED",
    "OPENAI_UNSUPPORTED",
    "OPTIONS",
    "RESPONSES_IGNORED",
    "RESPONSES_TOOL_OFF",
    "RESPONSES_UNSUPPORTED",
    "TOOL_HINTS",
    "TOOL_OFF",
    "UNBOUNDED",
    "AllowedToolsChoice",
    "AssistantMessage",
    "ChatRequest",
    "CheckRequest",
    "CompletionRequest",
    "ContentItem",
    "Conversation",
    "CustomToolDefinition",
    "DetokenizeRequest",
    "DrainRequest",
    "ExplainRequest",
    "GrammarInput",
    "GrammarRequest",
    "HostedTool",
    "ItemReference",
    "ItemsQuery",
    "JsonObjectFormat",
    "JsonSchemaFormat",
    "LeftOutItem",
    "Message",
    "MessageItem",
    "ModeRequest",
    "NamedCustomTool",
    "NamedTool",
    "PastCustomCall",
    "PastToolCall",
    "ReasoningEffort",
    "ReasoningOptions",
    "ResponseRequest",
    "StructuralTagFormat",
    "StructuredOutputs",
    "TextFormat",
    "TokenizeRequest",
    "ToolDefinition",
    "ToolMessage",
    "ToolMode",
    "ToolName",
    "ToolNames",
    "UndrainRequest",
    "WarmupRequest",
    "common_form",
    "content_text",
    "has_more_values",
    "ignored_fields",
    "is_legacy",
    "is_response_id",
    "item_id",
    "legacy_error",
    "listed",
    "mentions_json",
    "new_response_id",
    "parse_json",
    "pointer",
    "renamed",
    "renamed_places",
    "response_of",
    "shown_format",
    "with_tools",
]
