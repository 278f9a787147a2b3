"""A tokenizer's chat template.

Not here    the profile of a template (profile), the messages that it gets (fitting), its call
            (template_call).
"""

import copy
import inspect
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .constants import with_constants
from .inputs import inputs_of, undeclared
from .profile import REASONING_KEYS, Messages, TemplateError, Variables
from .template_call import TemplateCall

_NAME = re.compile(r"[A-Za-z_]\w*")
#: what makes a prompt depend on more than its inputs: the clock, and numbers drawn at random
_UNSTEADY = re.compile(r"strftime_now|lipsum|random")
#: the thought of past answers without one, where the template refuses them
LEFT_OUT = "(left out)"


class ChatTemplate:
    """Render a tokenizer's chat template; see profile.Render.

    Clients of OpenAI's API send no thoughts, but some templates refuse past answers without one:
    these get LEFT_OUT.
    """

    def __init__(self, tokenizer: Any, source: str) -> None:
        self._tokenizer = tokenizer
        self._call = TemplateCall(tokenizer)
        self._reads = _variables_of(source) - {"messages", *tokenizer.special_tokens_map}
        #: variables that replace the tokenizer's own
        self._fixed: dict[str, str] = {}
        self._inputs = inputs_of(self._rendered, source)
        #: whether equal inputs make equal prompts at any time
        self.is_steady = not self._inputs.dates and _UNSTEADY.search(source) is None
        #: the variables that the template reads and does not set
        self.variables = frozenset(undeclared(source))
        self._thought: str | None = None
        self._thought = self._needed_thought()

    def rewritten(self, change: Callable[[str], str]) -> "ChatTemplate":
        """Return a template with these changes of its constants and of the tokenizer's variables.

        Raises:
            ValueError: the source is no template.
        """
        made = copy.copy(self)
        made._tokenizer = copy.copy(self._tokenizer)
        made._tokenizer.chat_template = _changed(
            self._tokenizer.chat_template, lambda source: with_constants(source, change)
        )
        made._call = TemplateCall(made._tokenizer)
        special = self._tokenizer.special_tokens_map
        made._fixed = {n: change(text) for n, text in special.items() if isinstance(text, str)}
        return made

    def __call__(
        self, messages: Messages, tools: Sequence[Any] | None, variables: Variables
    ) -> str:
        values = self._inputs.values(tools)
        known = {name: value for name, value in variables.items() if name in self._reads}
        if tools:
            known.pop(self._inputs.tools, None)
        if self._thought is not None:
            messages = [_with_thought(message, self._thought) for message in messages]
        return self._rendered(messages, {**values, **known})

    def _needed_thought(self) -> str | None:
        """Return the key of the thought without which the template refuses past answers; None: it
        takes them, or refuses them with a thought, too.
        """
        user, answer = ({"role": role, "content": "word"} for role in ("user", "assistant"))
        thoughts = ({key: LEFT_OUT} for key in REASONING_KEYS)
        for thought in ({}, *thoughts):
            try:
                self([user, {**answer, **thought}, user], None, {})
            except TemplateError:
                continue
            return next(iter(thought), None)
        return None

    def _rendered(self, messages: Messages, variables: Variables) -> str:
        import jinja2

        try:
            return self._call(messages, {**self._fixed, **variables})
        except Exception as error:
            # a template is a program and may raise anything; raise_exception raises this class
            is_own = type(error) is jinja2.TemplateError
            raise TemplateError(str(error) if is_own else "") from error


def _with_thought(message: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return a message with a thought if it is an answer."""
    if message.get("role") != "assistant" or any(map(message.get, REASONING_KEYS)):
        return message
    return {**message, key: LEFT_OUT}


def read_template(tokenizer: Any) -> tuple[ChatTemplate | None, str]:
    """Return a tokenizer's chat template and its source, several templates as JSON; None and "" if
    it has none.
    """
    known = getattr(tokenizer, "chat_template", None)
    if not known:
        return None, ""
    source = known if isinstance(known, str) else json.dumps(known, default=str)
    return ChatTemplate(tokenizer, source), source


def _changed(template: Any, change: Callable[[str], str]) -> Any:
    """Return a template, or several templates, with changed sources."""
    if isinstance(template, dict):
        return {name: change(source) for name, source in template.items()}
    return change(template) if isinstance(template, str) else template


def _variables_of(source: str) -> frozenset[str]:
    """Return the variables that a request may set: names in the template without the fixed ones."""
    from transformers import PreTrainedTokenizerBase

    given = inspect.signature(PreTrainedTokenizerBase.apply_chat_template).parameters
    return frozenset(_NAME.findall(source)) - given.keys()
