"""The bodies of requests of every API, as validated types."""

from .anthropic.content import (
    BLOCKS,
    RESULT_BLOCKS,
    SYSTEM_BLOCKS,
    InputMessage,
    LeftOutBlock,
    MediaBlock,
    MessageBlock,
    ResultBlock,
    SearchResultBlock,
    SystemBlock,
    TextBlock,
    ThinkingBlock,
    ToolChangeBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from .anthropic.request import (
    MESSAGES_IGNORED,
    NO_THREADS,
    CountRequest,
    MessagesRequest,
    PromptFields,
)
from .anthropic.tools import (
    ClientFunction,
    DefinedTool,
    MessagesTool,
    MessagesToolChoice,
    ServerTool,
    tool_family,
)
from .chat_request import ChatRequest, GenerationFields
from .check_request import CheckRequest
from .completion_request import CompletionRequest
from .explain_request import ExplainRequest
from .extensions import ConstraintFields, StructuralTagFormat, StructuredOutputs
from .ignored_fields import ignored_fields
from .json_text import has_more_values, parse_json, write_json
from .media import IMAGES, MEDIA, Detail, MediaPart, media_chars
from .messages import (
    PARTS,
    AssistantMessage,
    CalledFunction,
    ChatMessage,
    ContentPart,
    FunctionMessage,
    OtherCall,
    PastCustomCall,
    PastToolCall,
    ToolMessage,
)
from .operator_requests import (
    DrainRequest,
    LoadAdapterRequest,
    ModeRequest,
    UndrainRequest,
    UnloadAdapterRequest,
)
from .responses.client_items import (
    CLIENT_CALLS,
    CLIENT_RESULTS,
    ClientCallItem,
    ClientResultItem,
)
from .responses.client_tools import CLIENT_TOOLS, ClientTool, OfferedClientTool
from .responses.configuration import CompactionTriggerItem, ConfigurationItem
from .responses.conversations import (
    ConversationItemsRequest,
    ConversationRequest,
    ConversationUpdate,
)
from .responses.ids import is_response_id, item_id, new_response_id, pointer, response_of
from .responses.items import (
    ITEMS,
    KINDS,
    CompactionItem,
    ContentItem,
    CustomCallItem,
    CustomCallOutputItem,
    FunctionCallItem,
    FunctionCallOutputItem,
    InputItem,
    ItemPart,
    ItemReference,
    LeftOutItem,
    MessageItem,
    ReasoningItem,
    thought_of,
)
from .responses.items_query import ItemsQuery, RetrieveQuery
from .responses.listing import listed
from .responses.loaded_tools import LOADED_TOOLS, LoadedToolsItem
from .responses.request import (
    RESPONSES_IGNORED,
    RESPONSES_UNSUPPORTED,
    CompactRequest,
    InputTokensRequest,
    ResponseRequest,
)
from .responses.tools import (
    RESPONSES_TOOL_OFF,
    AllowedNamespace,
    CustomTool,
    FunctionTool,
    HostedTool,
    NamespaceTool,
    ResponseAllowedTools,
    ResponseGrammarInput,
    ResponseJsonSchemaFormat,
    ResponseNamedTool,
    ResponseTextFormat,
    ResponseTool,
    ToolName,
    shown_format,
)
from .sampling_fields import MAX_BIASES, SamplingFields, StreamOptions
from .thinking_fields import UNBOUNDED, ReasoningEffort, ReasoningOptions, ThinkingFields
from .tokenize_request import CHAT_ONLY, DetokenizeRequest, TokenizeRequest
from .tools import (
    TOOL_HINTS,
    AllowedToolsChoice,
    AnyToolDefinition,
    ChatToolChoice,
    CustomToolDefinition,
    FunctionName,
    GrammarInput,
    JsonObjectFormat,
    JsonSchema,
    JsonSchemaFormat,
    NamedCustomTool,
    NamedTool,
    ResponseFormat,
    TextFormat,
    ToolDefinition,
)
from .unknown_fields import UnknownFields
from .unserved_fields import OPENAI_IGNORED, OPENAI_UNSUPPORTED, Body
from .validation import MAX_ITEMS, unknown_type
from .warmup_request import GrammarRequest, WarmupRequest
