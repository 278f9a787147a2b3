"""A template that is called directly writes the prompts of ``apply_chat_template``."""

import json
from pathlib import Path
from typing import Any

import pytest
from jinja2.sandbox import SecurityError
from transformers import AutoTokenizer
from transformers.utils import chat_template_utils

from app.conversation.inputs import inputs_of
from app.conversation.profile import CALL_IDS, TOOL, Messages, TemplateError, Variables, loop_of
from app.conversation.template_call import TemplateCall
from tests.app.conversation.chat_templates import FETCH, TEMPLATES, folder_of
from tests.app.small_tokenizer import TEMPLATE, folder

USER, SYSTEM = {"role": "user", "content": "é <b>"}, {"role": "system", "content": "wordsystem"}
ANSWER = {"role": "assistant", "content": "wordanswer", "name": None}


def conversations() -> list[Messages]:
    """Conversations that templates show in part."""
    found: list[Messages] = [[USER], [SYSTEM, USER, ANSWER, USER], [USER, USER], []]
    for ids in CALL_IDS.values():
        for form in ("object", "text"):
            for content in ("", "wordtext", None):
                loop = loop_of(ids[:1], form, "", ("reasoning_content", "wordthought"))
                found.append([SYSTEM, *loop, {**ANSWER, "reasoning": "wordreason"}, USER])
                found[-1][2]["content"] = content  # type: ignore[index]
    return found


def outcome(render: Any, *asked: Any, **options: Any) -> Any:
    try:
        return render(*asked, **options)
    except Exception as error:
        return type(error), str(error)


@pytest.mark.share
@pytest.mark.skipif(not TEMPLATES, reason=FETCH)
@pytest.mark.parametrize("name", TEMPLATES)
def test_every_template_writes_the_same(name: str) -> None:
    tokenizer = AutoTokenizer.from_pretrained(folder_of(name))
    call = TemplateCall(tokenizer)
    assert call.is_direct

    def applied(messages: Messages, variables: Variables) -> Any:
        asked: Any = {"add_generation_prompt": True, "tokenize": False, **variables}
        return tokenizer.apply_chat_template(list(messages), **asked)

    def shown(messages: Messages, variables: Variables) -> str:
        try:
            return str(applied(messages, variables))
        except Exception as error:
            raise TemplateError from error

    inputs = inputs_of(shown, tokenizer.chat_template)
    prompts = 0
    for messages in conversations():
        for tools in (None, [], [TOOL]):
            for more in ({}, {"enable_thinking": False}, {"bos_token": "<other>"}):
                variables = {**inputs.values(tools), **more}
                wanted = outcome(applied, messages, variables)
                written = outcome(call, messages, variables)
                if wanted[0] is SecurityError:
                    # it changes a list of its own (test_own_values)
                    assert isinstance(written, str)
                else:
                    assert written == wanted
                prompts += isinstance(wanted, str)
    assert prompts


@pytest.mark.parametrize(
    "source",
    [
        "{{ 'a{}'.format('b') }}",
        "{{ 'a{0.__class__}'.format(messages) }}",
        "{% set ns = namespace(f='a{0.__class__}'.format) %}{{ ns.f(messages) }}",
        "{{ '%s'.join(['a', 'b']) }}{{ 'a b'.split()[0].title() }}{{ ' a'.strip() }}",
        "{{ 'a'.__class__ }}",
        "{{ 'a'.nothing }}{{ 'a'.nothing is defined }}",
        "{{ ('a' | string).upper() }}{{ ('<' | escape).upper() }}",
        "{% set ns = namespace(a=none, b=0, items=[1]) %}{{ ns.a }}{{ ns.b }}{{ ns.items }}"
        "{{ ns.c is defined }}{{ ns.c }}",
        "{% set ns = namespace(a=1) %}{{ ns.__class__ }}",
        "{% set ns = namespace(a=1) %}{{ ns._Namespace__attrs }}",
        "{% set ns = namespace(a=[]['append']) %}{{ ns.a }}",
        "{% for a in [1, 2, 3] %}{{ loop.index }}{{ loop.last }}{{ loop.previtem }}"
        "{{ loop.nextitem }}{{ loop.cycle('x', 'y') }}{{ loop.changed(a) }}"
        "{{ loop.none is defined }}{% endfor %}",
        "{% for a in [1] %}{{ loop._iterator }}{% endfor %}",
        "{{ messages['append'](1) }}",
        "{{ (messages | attr('append'))(1) }}",
        "{{ messages[0]['update'](a=1) }}",
        "{% macro f(a) %}{{ a }}{{ caller is defined }}{% endmacro %}{{ f.name }}{{ f(1) }}",
        "{{ range(3) | list }}{{ raise_exception('no') }}",
        "{{ strftime_now('%Y') }}{{ self._TemplateReference__context }}",
        "{% set messages = [1] %}{{ messages }}{{ tools }}{% set tools = 1 %}{{ tools }}",
    ],
)
def test_the_sandbox_guards_the_same(tmp_path: Path, source: str) -> None:
    tokenizer = AutoTokenizer.from_pretrained(folder(tmp_path, source))
    call = TemplateCall(tokenizer)
    assert call.is_direct
    said: Any = [USER]
    wanted = outcome(tokenizer.apply_chat_template, said, tokenize=False)
    assert outcome(call, said, {}) == wanted


def test_of_several_templates_that_for_tools_is_called(tmp_path: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(folder(tmp_path, TEMPLATE))
    tokenizer.chat_template = {"default": "plain", "tool_use": "tools {{ tools | length }}"}
    call = TemplateCall(tokenizer)
    assert call([USER], {}) == "plain"
    assert call([USER], {"tools": [TOOL]}) == "tools 1"


def test_another_version_of_transformers_that_gives_other_values_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one that compiles templates elsewhere."""
    tokenizer = AutoTokenizer.from_pretrained(folder(tmp_path, "{{ messages | tojson }}"))
    given = [{"role": "assistant", "content": "x", "reasoning": "why"}]
    assert json.loads(TemplateCall(tokenizer)(given, {}))[0]["thinking"] == "why"
    with monkeypatch.context() as patch:
        patch.delattr(chat_template_utils, "_compile_jinja_template")
        patch.setattr(type(tokenizer), "apply_chat_template", lambda *_, **__: "theirs")
        assert TemplateCall(tokenizer)(given, {}) == "theirs"
    monkeypatch.setattr(chat_template_utils, "_alias_reasoning_fields", lambda chat: chat)
    call = TemplateCall(tokenizer)
    assert not call.is_direct
    assert json.loads(call(given, {})) == given
