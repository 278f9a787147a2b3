"""Model families that no format is written for, and that are derived: the calls that each makes,
its thoughts and what ends its answers.

The templates are short ones with the syntax of the models, in a frame like theirs.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import jsonschema
import pytest

from adapters.formats import OutputSpec, PastCall, TagFamily
from app.conversation.tokenizer import HuggingFaceTokenizer
from tests.app.conversation.chat_templates import saved
from tests.app.conversation.test_made_formats import PARAMETERS, TOOLS
from tests.app.gateway import Gateway

_JSON = "{{ call.arguments | tojson }}"
_RAW = "{{ value if value is string else value | tojson }}"
_FOR = "{% for key, value in call.arguments.items() %}"
_END = "{% endfor %}"


@dataclass(frozen=True, kw_only=True)
class Case:
    """One family.

    ``before``, ``call``, ``between``, ``behind``  of its calls, in Jinja.
    ``one``, ``two``  the texts of f(city="Oslo"), and of this and g(n=2).
    ``turn``          begins a turn; ``end``: ends one. ``opened``: ends the prompt.
    ``thought``       the texts around a past thought.
    """

    before: str = ""
    call: str
    between: str = ""
    behind: str = ""
    one: str
    two: str
    turn: str = "<|im_start|>{{ m.role }}\n"
    end: str = "<|im_end|>\n"
    stop: str = "<|im_end|>"
    opened: str = ""
    thought: tuple[str, str] = ("", "")
    special: tuple[str, ...] = ()

    @property
    def template(self) -> str:
        thought = "{{ m.reasoning_content }}".join(self.thought) if self.thought[0] else ""
        return (
            "{% if tools %}{{ tools | tojson }}\n{% endif %}{% for m in messages %}"
            + self.turn
            + f"{{% if m.reasoning_content %}}{thought}{{% endif %}}{{{{ m.content or '' }}}}"
            + f"{{% if m.tool_calls %}}{self.before}{{% for each in m.tool_calls %}}"
            + f"{{% set call = each.function %}}{{{{ {self.between!r} if not loop.first }}}}"
            + f"{self.call}{{% endfor %}}{self.behind}{{% endif %}}{self.end}{{% endfor %}}"
            + self.turn.replace("{{ m.role }}", "assistant")
            + self.opened
        )


def _typed(name: str) -> str:
    return f"{{{{ {name!r} if value is string else 'false' }}}}"


_GCML = "｜GCML｜"
_PLAMO = "<|plamo:{}:plamo|>"
_HY = ":6124c78e"

CASES = {
    "gigachat_35": Case(
        before=f"<{_GCML}tool_calls>\n",
        call=(
            f'<{_GCML}invoke name="{{{{ call.name }}}}">\n{_FOR}<{_GCML}parameter '
            f'name="{{{{ key }}}}" string="{_typed("true")}">{_RAW}</{_GCML}parameter>\n'
            f"{_END}</{_GCML}invoke>\n"
        ),
        behind=f"</{_GCML}tool_calls>",
        one=(
            f'<{_GCML}tool_calls>\n<{_GCML}invoke name="f">\n<{_GCML}parameter name="city"'
            f' string="true">Oslo</{_GCML}parameter>\n</{_GCML}invoke>\n</{_GCML}tool_calls>'
        ),
        two=(
            f'<{_GCML}tool_calls>\n<{_GCML}invoke name="f">\n<{_GCML}parameter name="city"'
            f' string="true">Oslo</{_GCML}parameter>\n</{_GCML}invoke>\n<{_GCML}invoke name="g">\n'
            f'<{_GCML}parameter name="n" string="false">2</{_GCML}parameter>\n</{_GCML}invoke>\n'
            f"</{_GCML}tool_calls>"
        ),
        turn="{{ m.role }}<|role_sep|>",
        end="<|message_sep|>\n\n",
        stop="<|message_sep|>",
        opened="<think>",
        thought=("<think>", "</think>\n\n"),
    ),
    "iquest_q1": Case(
        call=(
            f"<iquest_tool_call>{{{{ call.name }}}}{_FOR}<arg_key>{{{{ key }}}}</arg_key>"
            f"<arg_value>{_RAW}</arg_value>{_END}</iquest_tool_call>"
        ),
        one=(
            "<iquest_tool_call>f<arg_key>city</arg_key><arg_value>Oslo</arg_value>"
            "</iquest_tool_call>"
        ),
        two=(
            "<iquest_tool_call>f<arg_key>city</arg_key><arg_value>Oslo</arg_value>"
            "</iquest_tool_call><iquest_tool_call>g<arg_key>n</arg_key><arg_value>2</arg_value>"
            "</iquest_tool_call>"
        ),
        turn="<|iquest_{{ m.role }}|>",
        end="<|iquest_end|>",
        stop="<|iquest_end|>",
        opened="<think>",
        thought=("<think>", "</think>"),
    ),
    "dots": Case(
        before="<dots_function_call>\n",
        call=(
            f'<invoke name="{{{{ call.name }}}}">\n{_FOR}<parameter name="{{{{ key }}}}">{_RAW}'
            f"</parameter>\n{_END}</invoke>\n"
        ),
        behind="</dots_function_call>",
        one=(
            '<dots_function_call>\n<invoke name="f">\n<parameter name="city">Oslo</parameter>\n'
            "</invoke>\n</dots_function_call>"
        ),
        two=(
            '<dots_function_call>\n<invoke name="f">\n<parameter name="city">Oslo</parameter>\n'
            '</invoke>\n<invoke name="g">\n<parameter name="n">2</parameter>\n'
            "</invoke>\n</dots_function_call>"
        ),
        thought=("<think>", "</think>\n"),
    ),
    "plamo_3": Case(
        before=_PLAMO.format("begin_tool_requests"),
        call=(
            _PLAMO.format("begin_tool_request")
            + _PLAMO.format("begin_tool_name")
            + "{{ call.name }}"
            + _PLAMO.format("end_tool_name")
            + _PLAMO.format("begin_tool_arguments")
            + _PLAMO.format("constrain")
            + "json<|plamo:msg|>"
            + _JSON
            + _PLAMO.format("end_tool_arguments")
            + _PLAMO.format("end_tool_request")
        ),
        behind=_PLAMO.format("end_tool_requests"),
        one=(
            "<|plamo:begin_tool_requests:plamo|><|plamo:begin_tool_request:plamo|>"
            "<|plamo:begin_tool_name:plamo|>f<|plamo:end_tool_name:plamo|>"
            "<|plamo:begin_tool_arguments:plamo|><|plamo:constrain:plamo|>json<|plamo:msg|>"
            '{"city": "Oslo"}<|plamo:end_tool_arguments:plamo|><|plamo:end_tool_request:plamo|>'
            "<|plamo:end_tool_requests:plamo|>"
        ),
        two=(
            "<|plamo:begin_tool_requests:plamo|><|plamo:begin_tool_request:plamo|>"
            "<|plamo:begin_tool_name:plamo|>f<|plamo:end_tool_name:plamo|>"
            "<|plamo:begin_tool_arguments:plamo|><|plamo:constrain:plamo|>json<|plamo:msg|>"
            '{"city": "Oslo"}<|plamo:end_tool_arguments:plamo|><|plamo:end_tool_request:plamo|>'
            "<|plamo:begin_tool_request:plamo|>"
            "<|plamo:begin_tool_name:plamo|>g<|plamo:end_tool_name:plamo|>"
            "<|plamo:begin_tool_arguments:plamo|><|plamo:constrain:plamo|>json<|plamo:msg|>"
            '{"n": 2}<|plamo:end_tool_arguments:plamo|><|plamo:end_tool_request:plamo|>'
            "<|plamo:end_tool_requests:plamo|>"
        ),
        turn="<|plamo:tag|>{{ m.role }}\n",
        end="",
        stop="<|plamo:tag|>",
        thought=("<|plamo:begin_think:plamo|>", "<|plamo:end_think:plamo|>"),
    ),
    "hunyuan_4": Case(
        before=f"<tool_calls{_HY}>",
        call=(
            f"<tool_call{_HY}>{{{{ call.name }}}}{_FOR}<arg_key{_HY}>{{{{ key }}}}</arg_key{_HY}>"
            f"<arg_value{_HY}>{_RAW}</arg_value{_HY}>{_END}</tool_call{_HY}>"
        ),
        behind=f"</tool_calls{_HY}>",
        one=(
            f"<tool_calls{_HY}><tool_call{_HY}>f<arg_key{_HY}>city</arg_key{_HY}>"
            f"<arg_value{_HY}>Oslo</arg_value{_HY}></tool_call{_HY}></tool_calls{_HY}>"
        ),
        two=(
            f"<tool_calls{_HY}><tool_call{_HY}>f<arg_key{_HY}>city</arg_key{_HY}>"
            f"<arg_value{_HY}>Oslo</arg_value{_HY}></tool_call{_HY}>"
            f"<tool_call{_HY}>g<arg_key{_HY}>n</arg_key{_HY}>"
            f"<arg_value{_HY}>2</arg_value{_HY}></tool_call{_HY}></tool_calls{_HY}>"
        ),
        turn="<｜hy_{{ m.role }}｜>",
        end="<｜hy_eos｜>",
        stop="<｜hy_eos｜>",
        opened=f"<think{_HY}>",
        thought=(f"<think{_HY}>", f"</think{_HY}>"),
    ),
    "hunyuan_3_preview": Case(
        before="<tool_calls>\n",
        call=(
            f"<tool_call>{{{{ call.name }}}}<tool_sep>\n{_FOR}<arg_key>{{{{ key }}}}</arg_key>\n"
            f"<arg_value>{_RAW}</arg_value>\n{_END}</tool_call>\n"
        ),
        behind="</tool_calls>",
        one=(
            "<tool_calls>\n<tool_call>f<tool_sep>\n<arg_key>city</arg_key>\n"
            "<arg_value>Oslo</arg_value>\n</tool_call>\n</tool_calls>"
        ),
        two=(
            "<tool_calls>\n<tool_call>f<tool_sep>\n<arg_key>city</arg_key>\n"
            "<arg_value>Oslo</arg_value>\n</tool_call>\n<tool_call>g<tool_sep>\n"
            "<arg_key>n</arg_key>\n<arg_value>2</arg_value>\n</tool_call>\n</tool_calls>"
        ),
        turn="<｜hy_{{ m.role }}｜>",
        end="<｜hy_eos｜>",
        stop="<｜hy_eos｜>",
        thought=("<think>", "</think>"),
    ),
    "k2_horizon": Case(
        before="<ifm|tool_calls>\n",
        call=(
            f"<ifm|tool_call>{{{{ call.name }}}}\n{_FOR}<ifm|arg_key>{{{{ key }}}}</ifm|arg_key>\n"
            f"<ifm|arg_value>{_RAW}</ifm|arg_value>\n{_END}</ifm|tool_call>\n"
        ),
        behind="</ifm|tool_calls>",
        one=(
            "<ifm|tool_calls>\n<ifm|tool_call>f\n<ifm|arg_key>city</ifm|arg_key>\n"
            "<ifm|arg_value>Oslo</ifm|arg_value>\n</ifm|tool_call>\n</ifm|tool_calls>"
        ),
        two=(
            "<ifm|tool_calls>\n<ifm|tool_call>f\n<ifm|arg_key>city</ifm|arg_key>\n"
            "<ifm|arg_value>Oslo</ifm|arg_value>\n</ifm|tool_call>\n<ifm|tool_call>g\n"
            "<ifm|arg_key>n</ifm|arg_key>\n<ifm|arg_value>2</ifm|arg_value>\n</ifm|tool_call>\n"
            "</ifm|tool_calls>"
        ),
        opened=(
            "{% if reasoning_effort == 'low' %}<ifm|think_faster>"
            "{% elif reasoning_effort == 'medium' %}<ifm|think_fast>{% else %}<ifm|think>"
            "{% endif %}"
        ),
        thought=("<ifm|think>", "</ifm|think>"),
        special=("</ifm|think_fast>", "</ifm|think_faster>"),
    ),
    "longcat": Case(
        call=(
            '<longcat_tool_call>\n{"name": "{{ call.name }}", "arguments": '
            f"{_JSON}}}\n</longcat_tool_call>"
        ),
        one=(
            '<longcat_tool_call>\n{"name": "f", "arguments": {"city": "Oslo"}}\n'
            "</longcat_tool_call>"
        ),
        two=(
            '<longcat_tool_call>\n{"name": "f", "arguments": {"city": "Oslo"}}\n'
            '</longcat_tool_call><longcat_tool_call>\n{"name": "g", "arguments": {"n": 2}}\n'
            "</longcat_tool_call>"
        ),
        turn=" [{{ m.role }}]:",
        end="{{ '</longcat_s>' if m.role == 'assistant' }}",
        stop="</longcat_s>",
        opened="{% if enable_thinking %}<longcat_think>\n{% endif %}",
        thought=("<longcat_think>\n", "\n</longcat_think>\n"),
    ),
    "longcat_2": Case(
        call=(
            f"<longcat_tool_call>{{{{ call.name }}}}\n{_FOR}<longcat_arg_key>{{{{ key }}}}"
            f"</longcat_arg_key>\n<longcat_arg_value>{_RAW}</longcat_arg_value>\n{_END}"
            "</longcat_tool_call>"
        ),
        between="\n",
        one=(
            "<longcat_tool_call>f\n<longcat_arg_key>city</longcat_arg_key>\n"
            "<longcat_arg_value>Oslo</longcat_arg_value>\n</longcat_tool_call>"
        ),
        two=(
            "<longcat_tool_call>f\n<longcat_arg_key>city</longcat_arg_key>\n"
            "<longcat_arg_value>Oslo</longcat_arg_value>\n</longcat_tool_call>\n"
            "<longcat_tool_call>g\n<longcat_arg_key>n</longcat_arg_key>\n"
            "<longcat_arg_value>2</longcat_arg_value>\n</longcat_tool_call>"
        ),
        turn=" [{{ m.role }}]:",
        end="{{ '</longcat_s>' if m.role == 'assistant' }}",
        stop="</longcat_s>",
        thought=("<longcat_think>\n", "\n</longcat_think>\n"),
    ),
    "jamba": Case(
        before="{{ '<tool_calls>[\\n    ' }}",
        call=f'{{"name": "{{{{ call.name }}}}", "arguments": {_JSON}}}',
        between=",\n    ",
        behind="{{ '\\n]</tool_calls>' }}",
        one='<tool_calls>[\n    {"name": "f", "arguments": {"city": "Oslo"}}\n]</tool_calls>',
        two=(
            '<tool_calls>[\n    {"name": "f", "arguments": {"city": "Oslo"}},\n'
            '    {"name": "g", "arguments": {"n": 2}}\n]</tool_calls>'
        ),
        turn="<|bom|><|{{ m.role }}|> ",
        end="<|eom|>",
        stop="<|eom|>",
    ),
    "xlam_2": Case(
        before="[",
        call=f'{{"name": "{{{{ call.name }}}}", "arguments": {_JSON}}}',
        between=", ",
        behind="]",
        one='[{"name": "f", "arguments": {"city": "Oslo"}}]',
        two=(
            '[{"name": "f", "arguments": {"city": "Oslo"}}, {"name": "g", "arguments": {"n": 2}}]'
        ),
    ),
}

FIRST = PastCall("call_0123456789abcdef01234567", "f", '{"city": "Oslo"}')
SECOND = PastCall("call_123456789abcdef012345678", "g", '{"n": 2}')


@pytest.mark.parametrize("name", CASES)
def test_the_derived_family(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    tokenizer = HuggingFaceTokenizer(saved(case.template, str(tmp_path), case.special, case.stop))
    evidence = tokenizer.evidence
    assert (evidence.format, evidence.basis) == ("derived", "derived"), evidence
    assert evidence.notes == ()
    family = tokenizer.wire
    assert isinstance(family, TagFamily)
    assert family.calls_text([FIRST]) == case.one
    assert family.calls_text([FIRST, SECOND]) == case.two
    assert family.stop_texts == (case.stop,)
    begin, end = (mark.strip() for mark in case.thought)
    assert (family.thinking and family.thinking.pairs[0]) == ((begin, end) if begin else None)


@pytest.mark.parametrize("name", CASES)
def test_a_gateway_serves_the_family(name: str, tmp_path: Path) -> None:
    """Calls are valid, thoughts come apart, and neither has marks."""
    case = CASES[name]
    folder = saved(case.template, str(tmp_path), case.special, case.stop)
    body = {
        "model": "m",
        "messages": [{"role": "user", "content": "hi"}],
        "tools": TOOLS,
        "tool_choice": "required",
        "thinking_token_budget": 20 if case.thought[0] else None,
    }
    with Gateway(tokenizer=folder, reasoning="on", model_name="m") as gateway:
        for seed in range(4):
            answer = gateway.post(body | {"seed": seed})
            assert answer.status_code == 200, answer.text
            message = answer.json()["choices"][0]["message"]
            assert not message["content"]
            assert bool(message.get("reasoning_content")) <= bool(case.thought[0])
            assert message["tool_calls"]
            for call in message["tool_calls"]:
                assert call["function"]["name"] == "look_up"
                jsonschema.validate(json.loads(call["function"]["arguments"]), PARAMETERS)


@pytest.mark.parametrize(
    ("effort", "begin"),
    [("high", "<ifm|think>"), ("medium", "<ifm|think_fast>"), ("low", "<ifm|think_faster>")],
)
def test_the_effort_says_which_mark_a_prompt_ends_with(
    effort: str, begin: str, tmp_path: Path
) -> None:
    case = CASES["k2_horizon"]
    tokenizer = HuggingFaceTokenizer(saved(case.template, str(tmp_path), case.special, case.stop))
    messages = [{"role": "user", "content": "hi"}]
    rendered = tokenizer.render(messages, (), OutputSpec(), {"reasoning_effort": effort})
    assert tokenizer.decode(rendered.prompt).endswith(begin)
    assert rendered.thought == "open"
