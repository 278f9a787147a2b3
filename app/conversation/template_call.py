"""The call of a chat template, as ``apply_chat_template`` of transformers calls it.

That method copies all messages and tools three times, because its callers may pass objects with
methods. A gateway has JSON only, so the compiled template is called with its values directly: a
prompt of ten tools takes 0.29 ms instead of 0.60 with Qwen 3's template. The compiled template is
that of transformers, with its functions, filters and sandbox. No template can change a value there,
unless it gets copies (own_values). Its members of dicts are looked up without a search for a method
of that name first, which fails by an exception: 0.58 ms instead of 0.92 with the template of
gpt-oss. Those of texts, loops and namespaces are known to be safe, which the sandbox finds out for
each again: eight messages take 0.1 ms less with the template of Qwen 3.

Invariants   I1 a template gets what ``apply_chat_template`` gives it, and writes the same; where
             that method forbids a change of a value, it may go on. Other versions of
             transformers may give it something else, so a template that writes all of its inputs
             is called both ways at startup; if they differ, every call is one of that method.
             I2 a template is compiled once, or a few times if several threads call it first.
Threads      safe.
Not here     the variables (inputs), errors of templates (template).
"""

import copy
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from .kept_tools import KeptObject, kept_json
from .own_values import change_of, changes_values, copied

Values = Mapping[str, Any]

#: attributes that all dicts have
_OF_DICTS = frozenset(dir({}))
#: attributes that the sandbox does not guard, as it guards ``format``
_OF_TEXTS = {name for name in dir("") if not name.startswith("_")} - {"format", "format_map"}
_OF_LOOPS = {"first", "last", "index", "index0", "length", "revindex", "revindex0"}
#: stands for a member that a dict has not
_NOTHING = object()
#: keys for a past answer's reasoning, the first that has a value wins
_REASONING = ("reasoning_content", "thinking", "reasoning")
#: a template that writes all of its inputs
_WRITES_INPUTS = (
    "{{ [messages, tools, documents, add_generation_prompt, given, eos_token, bos_token]"
    " | map('string') | join('\n') }}{{ messages | tojson }}{{ dict(a=1) }}"
    "{% for each in messages %}{{ each.role }}{{ each.values is callable }}"
    "{{ each.none is defined }}{% endfor %}"
)
_TOOL = {"type": "function", "function": {"name": "f", "description": None, "parameters": {}}}
_CALL = {"id": "", "function": {"name": "f", "arguments": {"a": [1, None, 0.5, True]}}}
_PROBES: Sequence[Sequence[Values]] = (
    [{"role": "user", "content": "é"}],
    [
        {"role": "user", "content": [{"type": "text", "text": None}], "name": None},
        {"role": "assistant", "content": None, "tool_calls": [_CALL], "reasoning_content": "a"},
        {"role": "tool", "content": "", "tool_call_id": ""},
        {"role": "assistant", "content": "", "thinking": "b", "reasoning": "c"},
        {"role": "assistant", "reasoning": "d", "tool_calls": None},
        {"role": "assistant", "reasoning": "", "thinking": None},
    ],
)
_GIVEN: Sequence[Values] = ({"tools": [_TOOL], "given": [None, "x"]}, {"tools": []}, {})


class _Compiled(NamedTuple):
    """A template with its functions. ``changes``: it changes values, so it gets copies."""

    template: Any
    functions: dict[str, Any]
    changes: bool


class TemplateCall:
    """See the file's header."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._special = dict(tokenizer.special_tokens_map)
        self._environment = _environment()
        #: for templates that change values
        self._changing = _environment(may_change=True)
        self._compiled: dict[str, _Compiled] = {}
        if self._environment is not None and not self._is_exact():
            self._environment = None

    @property
    def is_direct(self) -> bool:
        """Whether transformers' own method is left out."""
        return self._environment is not None

    def __call__(self, messages: Sequence[Values], variables: Values) -> str:
        """Return the prompt up to the beginning of the answer. Raises anything."""
        # that method refuses a conversation without messages
        if self._environment is None or not messages:
            return self._applied(self._tokenizer, messages, variables)
        tools = variables.get("tools")
        source = self._tokenizer.get_chat_template(None, tools)
        return self._direct(source, messages, variables)

    def _applied(self, tokenizer: Any, messages: Sequence[Values], variables: Values) -> str:
        text: str = tokenizer.apply_chat_template(
            list(messages), add_generation_prompt=True, tokenize=False, **variables
        )
        return text

    def _direct(self, source: str, messages: Sequence[Values], variables: Values) -> str:
        found = self._compiled.get(source)
        if found is None:
            found = self._compiled[source] = self._compile(source)
        template, functions, changes = found
        special, given = self._special, [_as_given(message) for message in messages]
        if changes:
            special, variables, given = map(copied, (special, dict(variables), given))
        # as ``render`` does it, which looks each function up in two dicts
        context = template.new_context(
            {
                **functions,
                "tools": None,
                **special,
                **variables,
                "messages": given,
                "documents": None,
                "add_generation_prompt": True,
            },
            shared=True,
        )
        return "".join(template.root_render_func(context))

    def _compile(self, source: str) -> "_Compiled":
        assert self._environment is not None
        changes = changes_values(self._environment, source)
        environment = self._changing if changes else self._environment
        template = environment.from_string(source)
        return _Compiled(template, dict(template.globals), changes)

    def _is_exact(self) -> bool:
        probing = copy.copy(self._tokenizer)
        probing.chat_template = _WRITES_INPUTS
        for messages in _PROBES:
            for variables in _GIVEN:
                try:
                    applied = self._applied(probing, messages, variables)
                    direct = self._direct(_WRITES_INPUTS, messages, variables)
                except Exception:
                    # another version may refuse such a message, or lack what the template uses
                    return False
                if applied != direct:
                    return False
        return True


def _environment(*, may_change: bool = False) -> Any:
    """Return the environment of templates; None: this version of transformers has another.

    ``may_change``: for templates that may change lists and objects.
    """
    from transformers.utils import chat_template_utils

    compiled = getattr(chat_template_utils, "_compile_jinja_template", None)
    if compiled is None:
        return None
    made = compiled("").environment.overlay()
    made.filters = {**made.filters, "tojson": partial(kept_json, made.filters["tojson"])}
    made.getattr = _members_of(made)
    if may_change:
        made.getattr = _with_changes(made.getattr)
    return made


def _with_changes(members: Callable[[Any, str], Any]) -> Callable[[Any, str], Any]:
    """Return the same function with methods that change values."""

    def member(of: Any, name: str) -> Any:
        change = change_of(of, name)
        return members(of, name) if change is None else change

    return member


def _members_of(environment: Any) -> Callable[[Any, str], Any]:
    """Return the function that returns what ``of.name`` means in a template."""
    from jinja2.runtime import LoopContext

    others, missing = environment.getattr, environment.undefined
    safe = {str: _OF_TEXTS, LoopContext: _OF_LOOPS}
    namespace = environment.globals["namespace"]

    def member(of: Any, name: str) -> Any:
        kind = type(of)
        if kind is dict or kind is KeptObject:
            if name in _OF_DICTS:
                return others(of, name)
            found = of.get(name, _NOTHING)
            return missing(obj=of, name=name) if found is _NOTHING else found
        if kind in safe and name in safe[kind]:
            return getattr(of, name)
        if kind is namespace and not name.startswith("_"):
            value = getattr(of, name, None)
            # a method may be guarded, and None may stand for no value
            if value is not None and not callable(value):
                return value
        return others(of, name)

    return member


def _as_given(message: Values) -> dict[str, Any]:
    """Return a message as templates get it: without null, and with reasoning under two names."""
    given = {name: value for name, value in message.items() if value is not None}
    for name in _REASONING:
        if name in given:
            return {"thinking": given[name], **given, "reasoning_content": given[name]}
    return given
