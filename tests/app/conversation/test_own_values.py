"""Chat templates that change lists and objects write their prompts, and change nothing else."""

import copy
import json
import re
from pathlib import Path
from typing import Any

import jinja2
import pytest
from jinja2.sandbox import SandboxedEnvironment
from transformers import AutoTokenizer

from adapters.formats import OutputSpec, Tool
from app.conversation.kept_tools import as_functions
from app.conversation.own_values import TooManyItems
from app.conversation.template_call import TemplateCall
from app.conversation.tokenizer import HuggingFaceTokenizer
from tests.app.conversation.chat_templates import FETCH, FOLDER, TEMPLATES, tokenizer_of
from tests.app.gateway import Gateway
from tests.app.small_tokenizer import folder

#: templates written for llama.cpp
CHANGING = ["Kimi-K2-Instruct", "Kimi-K2-Thinking"]


def calls(*names: str) -> list[dict[str, Any]]:
    """An answer with calls of these tools, and their results."""
    made = [
        {"id": f"call_{n}", "type": "function", "function": {"name": name, "arguments": '{"n": 1}'}}
        for n, name in enumerate(names)
    ]
    results = [
        {"role": "tool", "tool_call_id": f"call_{n}", "name": name, "content": f"result of {name}"}
        for n, name in enumerate(names)
    ]
    return [{"role": "assistant", "content": "", "tool_calls": made}, *results]


MESSAGES = [
    {"role": "user", "content": "q"},
    *calls("a", "b"),
    *calls("c"),
    {"role": "assistant", "content": "An answer."},
    {"role": "user", "content": "And now?"},
    *calls("a", "a", "b"),
]


@pytest.fixture(scope="module", autouse=True)
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return a tokenizer; ``call_of`` gives it a template."""
    return AutoTokenizer.from_pretrained(folder(tmp_path_factory.mktemp("small"), "{{ 1 }}"))


def call_of(tokenizer: Any, source: str) -> TemplateCall:
    tokenizer = copy.copy(tokenizer)
    tokenizer.chat_template = source
    call = TemplateCall(tokenizer)
    assert call.is_direct
    return call


def freely(source: str, messages: Any = MESSAGES) -> str:
    """Return what a template writes where it may change everything."""
    environment = SandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    environment.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
    given = {"messages": copy.deepcopy(messages), "add_generation_prompt": True}
    return environment.from_string(source).render(**given)


def called(tokenizer: Any, source: str, messages: Any = MESSAGES) -> str:
    call = call_of(tokenizer, source)
    first = call(messages, {})
    # nothing is left of it
    assert call(messages, {}) == first
    return first


@pytest.mark.skipif(not TEMPLATES, reason=FETCH)
@pytest.mark.parametrize("name", CHANGING)
def test_a_template_that_changes_lists_writes_its_prompt(tokenizer: Any, name: str) -> None:
    source = (FOLDER / f"{name}.jinja").read_text("utf-8")
    assert called(tokenizer, source) == freely(source)


@pytest.mark.skipif(not TEMPLATES, reason=FETCH)
@pytest.mark.parametrize("name", CHANGING)
def test_calls_and_results_have_the_same_ids(name: str) -> None:
    """REGRESSION: calls were written as text, and all results had the id of the first call."""
    tokenizer = tokenizer_of(name)
    assert (tokenizer.evidence.format, tokenizer.evidence.basis) == ("kimi_k2", "call")
    tool = Tool("a", {"type": "object"})
    ids = tokenizer.render(MESSAGES, (tool,), OutputSpec((tool,))).prompt
    assert isinstance(ids, list)
    prompt = tokenizer.decode(ids)
    numbered = [f"functions.{each}" for each in ("a:0", "b:1", "c:2", "a:3", "a:4", "b:5")]
    for place in (r"<\|tool_call_begin\|>(\S+?)<\|", r"## Return of (\S+)"):
        assert re.findall(place, prompt) == numbered


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ("{%- set _ = ns.l.append(f(1) + ' )') -%}{{ ns.l }}", "[5, 6, '1 )']"),
        ("{% set _ = ns.l.append((1, [2])) %}{{ ns.l }}", "[5, 6, (1, [2])]"),
        ("{% set x = ns.l.pop(0) %}{{ x }} {{ ns.l }}", "5 [6]"),
        ("{%- set x = ns.l.pop() -%}{{ x }} {{ ns.l }}", "6 [5]"),
        ("{% set l = [] %}{% for n in [1] %}{% set _ = l.append(n) %}{% endfor %}{{ l }}", "[1]"),
        ("{% set _ = ns.l.extend([1]) %}{{ ns.l.pop(1) }}{{ ns.l }}", "6[5, 1]"),
        ("{% set _ = ns.l.extend(ns.l | map('string')) %}{{ ns.l }}", "[5, 6, '5', '6']"),
        ("{% set _ = ns.l.insert(0, 1) %}{% set _ = ns.l.remove(5) %}{{ ns.l }}", "[1, 6]"),
        ("{% set _ = ns.l.reverse() %}{{ ns.l }}{% set _ = ns.l.clear() %}{{ ns.l }}", "[6, 5][]"),
        ("{% set d = {} %}{% set _ = d.update({'b': 2}, c=3) %}{{ d }}", "{'b': 2, 'c': 3}"),
        ("{% set d = {'a': 1} %}{{ d.setdefault('b', 2) }}{{ d.pop('a') }}{{ d }}", "21{'b': 2}"),
        ("{% set d = {'a': 1} %}{{ d.popitem() }}{% set _ = d.clear() %}{{ d }}", "('a', 1){}"),
    ],
)
def test_a_template_may_change_its_own_values(tokenizer: Any, change: str, text: str) -> None:
    """REGRESSION: only changes of a namespace's list were possible."""
    source = "{% set ns = namespace(l=[5, 6]) %}{% macro f(n) %}{{ n }}{% endmacro %}" + change
    assert called(tokenizer, source) == text


def test_a_template_cannot_change_what_others_have(tokenizer: Any) -> None:
    """Messages, tools and variables are copies; equal prompts stay equal."""
    source = (
        "{% set _ = messages.pop() %}{% set _ = messages[0].update({'content': 'changed'}) %}"
        "{% set _ = tools.append(1) %}{% set _ = tools[0].function.parameters.clear() %}"
        "{% set _ = mine.append(1) %}{{ messages | tojson }}{{ tools | tojson }}{{ mine }}"
    )
    tools, mine = as_functions([Tool("f", {"type": "object"})]), [0]
    before = copy.deepcopy((MESSAGES, json.dumps(tools), mine))
    call = call_of(tokenizer, source)
    first = call(MESSAGES, {"tools": tools, "mine": mine})
    assert '"changed"' in first
    assert first.endswith("[0, 1]")
    assert call(MESSAGES, {"tools": tools, "mine": mine}) == first
    assert (MESSAGES, json.dumps(tools), mine) == before


@pytest.mark.parametrize(
    "attack",
    [
        "{{ messages.append.__globals__ }}",
        "{{ messages.append.__closure__ }}",
        "{{ messages.append.__self__ }}",
        "{{ (messages.append | attr('__globals__'))['sys'] }}",
        "{{ messages.append.func }}",
        "{{ [].append.__class__.__mro__ }}",
        "{% set _ = [].append(1) %}{{ ''.__class__.__mro__ }}",
        "{% set _ = [].append(1) %}{{ messages['__class__'] }}",
        "{% set _ = [].append(1) %}{{ cycler.__init__.__globals__ }}",
        "{% set _ = [].append(1) %}{{ [].sort(key=''.format) }}",
        "{% set _ = [].append(1) %}{{ '{0.__class__}'.format(messages) }}",
        "{% set _ = [].append(1) %}{{ messages['append'](1) }}",
    ],
)
def test_the_sandbox_stays_closed(tokenizer: Any, attack: str) -> None:
    """A template that may change values gets nothing else: an error, or no value."""
    call = call_of(tokenizer, attack)
    try:
        written = call(MESSAGES, {})
    except jinja2.TemplateError:
        return
    assert written == ""


@pytest.mark.parametrize(
    "endless",
    [
        "{% for x in l %}{% set _ = l.append(x) %}{% endfor %}",
        "{% for x in l %}{% set _ = l.insert(0, x) %}{% endfor %}",
        "{% set add = l.append %}{% for x in l %}{% set _ = add(x) %}{% endfor %}",
        "{% set _ = l.extend(l | map('string')) %}" * 20,
        "{% set _ = l.extend('a' * 1000000) %}",
        "{% for n in range(99999) %}{% set _ = l.extend(l) %}{% endfor %}",
        "{% set d = {} %}{% for n in range(99999) %}{% set _ = d.update({n: 1}) %}"
        "{% set _ = d.update({-n: 1}) %}{% endfor %}",
    ],
)
def test_lists_and_objects_are_bounded(tokenizer: Any, endless: str) -> None:
    call = call_of(tokenizer, "{% set l = [1] %}" + endless)
    with pytest.raises(TooManyItems):
        call(MESSAGES, {})


@pytest.mark.parametrize(
    "source", ["{{ messages | length }}", "{{ messages[0]['pop'] }} append(1)"]
)
def test_templates_that_change_nothing_get_no_copies(tokenizer: Any, source: str) -> None:
    call = call_of(tokenizer, source)
    call(MESSAGES, {})
    compiled = call._compiled[source]
    assert not compiled.changes


#: calls a method that texts do not have
FAILING = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content or '' }}"
    "{% for c in m.tool_calls or [] %}{{ c.function.name.shown() }}<tool_call>\n"
    '{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}\n'
    "</tool_call>{% endfor %}<|im_end|>\n{% endfor %}{{ tools | tojson }}<|im_start|>assistant\n"
)


def test_a_template_that_fails_at_calls_is_named_at_the_start(tmp_path: Path) -> None:
    """REGRESSION: nothing said that calls are written as text."""
    source = folder(tmp_path, FAILING)
    assert HuggingFaceTokenizer(source).evidence.basis == "marks"
    with Gateway(tokenizer=source, model_name="m") as gateway:
        (warning,) = [line for line in gateway.lines() if "fails at tool calls" in line["event"]]
        shown = gateway.get("/v1/models/m").json()["format_evidence"]
    assert shown["failure"] == warning["error"]
    assert "'shown'" in warning["error"]
