"""Conversation: from messages to the prompt that a model's chat template writes.

Each template is probed once for the messages that it can show (``profile_of``). A conversation is
then rewritten so that the template shows all of it (``fitted``), or refused with an error that
names the message.
"""

from .control import ControlText, DeepArguments, UnwritableText, encoded
from .detection import Evidence, FormatEvidence, detect
from .fitting import fitted, too_deep
from .history import plain_messages
from .named_template import NamedTemplate
from .pairing import paired
from .profile import Messages, TemplateError, TemplateProfile, Variables, profile_of
from .template import read_template
from .template_prompt import TemplatePrompt
from .thinking import marks_of, thought_apart, thought_at_end
from .tokenizer import Tokenizer, check_fit, load_tokenizer
