"""Families whose calls are tags in text: their grammar, arguments and prompts, made from data."""

from .chat_prompt import (
    PLAIN_CHAT,
    Chat,
    choice_text,
    offers,
    render_chat,
    tool_json,
    tool_object,
)
from .notation import JSON, Elements, GemmaArguments, Notation, PythonArguments
from .tag_family import TagFamily
from .tag_syntax import CallIds, Section, TextMarks
from .unknown import UnknownSyntax
