"""Conversation: messages to prompt, in the words of a model's chat template.

A template is probed once for what it can show (``profile_of``). Each conversation is then written
so that the template shows all of it (``fitted``), or refused with the message named.
"""

from .control import ControlText, DeepArguments, UnwritableText
from .fitting import INSTRUCTING, fitted
from .profile import Messages, Render, TemplateError, TemplateProfile, Tools, Variables, profile_of
from .template import ChatTemplate, template_text
from .thinking import marks_of, thought_apart, thought_at_end

__all__ = [
    "INSTRUCTING",
    "ChatTemplate",
    "ControlText",
    "DeepArguments",
    "Messages",
    "Render",
    "TemplateError",
    "TemplateProfile",
    "Tools",
    "UnwritableText",
    "Variables",
    "fitted",
    "marks_of",
    "profile_of",
    "template_text",
    "thought_apart",
    "thought_at_end",
]
