"""Requests of every API in the common form: bodies to generation.GenerationRequest.

    chat          chat completions, and the parts of them that other endpoints take
    completion    text completions
    responses     the Responses API, with its items and namespaces of tools
    anthropic     the Messages API

One file for each part of a body: messages, tools, constraints, thinking, legacy_functions.
"""

from .anthropic.request import common_count, common_message
from .chat import common_chat, common_grammar
from .completion import common_completion
from .legacy_functions import is_legacy
from .responses.compaction import is_kept, transcript
from .responses.conversation import Conversation
from .responses.response import common_response
from .responses.tool_names import ToolNames
