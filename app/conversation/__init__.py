"""Conversation: from messages to the prompt that a model's chat template writes.

Each template is probed once for the messages that it can show (``profile_of``). A conversation is
then rewritten so that the template shows all of it (``fitted``), or refused with an error that
names the message.
"""

from .control import ControlText, DeepArguments, UnwritableText, encoded
from .detection import Evidence, FormatEvidence, detect
from .fitting import fitted, too_deep
from .history import check_messages, left_out, plain_messages
from .named_template import NamedTemplate
from .pairing import paired
from .profile import Messages, TemplateError, TemplateProfile, Variables, profile_of
from .template import read_template
from .template_prompt import TemplatePrompt
from .thinking import marks_of, thought_apart, thought_at_end
from .tokenizer import Tokenizer, check_fit, load_tokenizer

__all__ = [
    "ControlText",
    "DeepArguments",
    "Evidence",
    "FormatEvidence",
    "Messages",
    "NamedTemplate",
    "TemplateError",
    "TemplateProfile",
    "TemplatePrompt",
    "Tokenizer",
    "UnwritableText",
    "Variables",
    "check_fit",
    "check_messages",
    "detect",
    "encoded",
    "fitted",
    "left_out",
    "load_tokenizer",
    "marks_of",
    "paired",
    "plain_messages",
    "profile_of",
    "read_template",
    "thought_apart",
    "thought_at_end",
    "too_deep",
]
