"""Conversation: from messages to the prompt that a model's chat template writes.

Each template is probed once for the messages that it can show (``profile_of``). A conversation is
then rewritten so that the template shows all of it (``fitted``), or refused with an error that
names the message.
"""

from .control import ControlText, DeepArguments, UnwritableText, encoded
from .detection import Evidence, detect
from .fitting import INSTRUCTING, fitted, too_deep
from .named_template import NamedTemplate
from .profile import Messages, Render, TemplateError, TemplateProfile, Tools, Variables, profile_of
from .template import ChatTemplate, read_template
from .template_prompt import TemplatePrompt
from .thinking import marks_of, thought_apart, thought_at_end

__all__ = [
    "INSTRUCTING",
    "ChatTemplate",
    "ControlText",
    "DeepArguments",
    "Evidence",
    "Messages",
    "NamedTemplate",
    "Render",
    "TemplateError",
    "TemplateProfile",
    "TemplatePrompt",
    "Tools",
    "UnwritableText",
    "Variables",
    "detect",
    "encoded",
    "fitted",
    "marks_of",
    "profile_of",
    "read_template",
    "thought_apart",
    "thought_at_end",
    "too_deep",
]
