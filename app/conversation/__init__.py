"""Conversation: from messages to the prompt that a model's chat template writes.

Each template is probed once for the messages that it can show. A conversation is then rewritten so
that the template shows all of it, or refused with an error that names the message.

    history          messages as the plain dicts that templates read
    pairing          calls and their results
    profile          what a template can show; call_layout: the white space of calls
    fitting          a conversation as a template can show it; call_ids
    template         reading a template; template_call: its call; inputs: its variables;
                     own_values: lists and objects that it changes;
                     named_template: control tokens
    named_format     prompts and parts of prompts that the model's format writes
    template_prompt  the prompt, and the errors of templates
    media            the images that a prompt shows; image_profile, image_marks: how
    control          control tokens in client text
    prompt_segments  ids of the parts of prompts that clients send again
    thinking         marks of reasoning
    detection        which format a template writes
    derivation       a format made of a chat template; response_templates: of a response template;
                     made_family
    pretrained       tokenizers of Hugging Face
    tokenizer        all of these behind one object
"""

from .call_ids import call_ids_in
from .detection import FormatEvidence
from .history import plain_messages
from .media import Loaded, ShownMedia, has_media, newest_images, shown_media
from .pairing import paired
from .profile import shown_answers
from .tokenizer import Tokenizer, UnshownImages, check_fit, load_tokenizer
