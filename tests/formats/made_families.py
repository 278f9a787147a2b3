"""Families derived from chat templates, of models for which no format is written by hand.

The templates are short: they write calls as the models do, in a plain frame.
"""

from dataclasses import dataclass
from functools import cache
from tempfile import TemporaryDirectory

from adapters.formats.tags import TagFamily
from app.conversation.derivation import Derivation
from app.conversation.pretrained import pretrained
from app.conversation.template import read_template
from tests.app.conversation.chat_templates import saved
from tests.app.conversation.test_derivation import ARGUMENTS, FRAMES, template_of

from .random_answers import Walker

_VALUE = "{{ value if value is string else value | tojson }}"
_PYTHON = (
    "({% for key, value in call.arguments.items() %}{{ ', ' if not loop.first }}{{ key }}="
    "{{ value | tojson }}{% endfor %})"
)
_END = "<|im_end|>"


def _elements(begin: str, end: str) -> str:
    """Return a template of arguments; ``{key}`` in ``begin`` is the key."""
    key = begin.replace("{key}", "{{ key }}")
    return f"{{% for key, value in call.arguments.items() %}}{key}{_VALUE}{end}{{% endfor %}}"


@dataclass(frozen=True)
class Made:
    """A syntax of calls.

    ``calls``     what is written before all calls, before each name, between name and arguments,
                  behind each call, between two, and behind all.
    ``arguments`` their template.
    ``marks``     those that are special tokens.
    """

    calls: tuple[str, str, str, str, str, str]
    arguments: str = ARGUMENTS["json"]
    marks: tuple[str, ...] = ()

    @property
    def specials(self) -> tuple[str, ...]:
        return (*self.marks, _END)


def _json(begin: str, end: str, between: str = "", key: str = "arguments") -> Made:
    """Return calls that are JSON between two marks."""
    calls = ("", f'{begin}{{"name": "', f'", "{key}": ', f"}}{end}", between, "")
    return Made(calls, marks=(begin.strip(), end.strip()))


_HUNYUAN = ("tool_calls", "tool_call", "tool_sep", "arg_key", "arg_value")


def _hunyuan(suffix: str) -> Made:
    section, call, middle, key, value = (f"{name}{suffix}>" for name in _HUNYUAN)
    pair = _elements(f"<{key}{{key}}</{key}\n<{value}", f"</{value}\n")
    texts = (f"<{section}\n", f"<{call}", f"<{middle}\n", f"</{call}\n", "", f"</{section}")
    return Made(texts, pair, (f"<{section}", f"</{section}"))


MADE = {
    "dots": Made(
        (
            "<dots_function_call>\n", '<invoke name="', '">\n', "</invoke>\n", "",
            "</dots_function_call>",
        ),
        _elements('<parameter name="{key}">', "</parameter>\n"),
    ),
    "exaone": _json("<tool_call>", "</tool_call>", "\n"),
    "gigachat_35": Made(
        (
            "<｜GCML｜tool_calls>\n", '<｜GCML｜invoke name="', '">\n', "</｜GCML｜invoke>\n", "",
            "</｜GCML｜tool_calls>",
        ),
        _elements(
            '<｜GCML｜parameter name="{key}" string="'
            "{{ 'true' if value is string else 'false' }}\">",
            "</｜GCML｜parameter>\n",
        ),
    ),
    "granite_20b": Made(("", '<function_call> {"name": "', '", "arguments": ', "}\n", "", "")),
    "hunyuan_a13b": Made(
        ("<tool_calls>[", '{"name": "', '", "arguments": ', "}", ", ", "]</tool_calls>"),
        marks=("<tool_calls>", "</tool_calls>"),
    ),
    "hy_3": _hunyuan(""),
    "hy_4": Made(
        (
            "<tool_calls:a1>", "<tool_call:a1>", "", "</tool_call:a1>", "", "</tool_calls:a1>",
        ),
        _elements(
            "<arg_key:a1>{key}</arg_key:a1><arg_value:a1>", "</arg_value:a1>"
        ),
        ("<tool_calls:a1>", "</tool_calls:a1>"),
    ),
    "intern_s1": _json("<|action_start|> <|plugin|>\n", "<|action_end|>", key="parameters"),
    "iquest_q1": Made(
        ("", "<iquest_tool_call>", "", "</iquest_tool_call>", "", ""),
        _elements("<arg_key>{key}</arg_key><arg_value>", "</arg_value>"),
        ("<iquest_tool_call>", "</iquest_tool_call>"),
    ),
    "jamba": Made(
        (
            " <tool_calls>[\n    ", '{"name": "', '", "arguments": ', "}", ",\n    ",
            "\n]</tool_calls>",
        ),
        marks=("<tool_calls>", "</tool_calls>"),
    ),
    "k2_horizon": Made(
        (
            "<ifm|tool_calls>\n", "<ifm|tool_call>", "\n", "</ifm|tool_call>\n", "",
            "</ifm|tool_calls>",
        ),
        _elements(
            "<ifm|arg_key>{key}</ifm|arg_key>\n<ifm|arg_value>", "</ifm|arg_value>\n"
        ),
        ("<ifm|tool_calls>", "</ifm|tool_calls>", "<ifm|tool_call>", "</ifm|tool_call>"),
    ),
    "ling_3": Made(
        ("", "<tool_call>", "\n", "</tool_call>", "\n", ""),
        _elements("<arg_key>{key}</arg_key>\n<arg_value>", "</arg_value>"),
        ("<tool_call>", "</tool_call>"),
    ),
    "longcat": _json("<longcat_tool_call>\n", "\n</longcat_tool_call>"),
    "mimo": Made(
        ("", "<tool_call>\n<function=", ">\n", "</function>\n</tool_call>", "", ""),
        _elements("<parameter={key}>", "</parameter>\n"),
        ("<tool_call>", "</tool_call>"),
    ),
    "olmo_3": Made(
        ("<function_calls>", "", "", "", "\n", "</function_calls>"), _PYTHON,
    ),
    "plamo_3": Made(
        (
            "<|plamo:begin_tool_requests:plamo|>",
            "<|plamo:begin_tool_request:plamo|><|plamo:begin_tool_name:plamo|>",
            "<|plamo:end_tool_name:plamo|><|plamo:begin_tool_arguments:plamo|>"
            "<|plamo:constrain|>json<|plamo:msg|>",
            "<|plamo:end_tool_arguments:plamo|><|plamo:end_tool_request:plamo|>",
            "",
            "<|plamo:end_tool_requests:plamo|>",
        ),
    ),
    "xlam_2": Made(("[", '{"name": "', '", "arguments": ', "}", ", ", "]")),
}  # fmt: skip


@cache
def made_family(name: str) -> TagFamily:
    """Return the family that the application derives from the template."""
    made = MADE[name]
    source = template_of(FRAMES["chatml"], made.calls, made.arguments)
    with TemporaryDirectory() as folder:
        template, _ = read_template(pretrained(saved(source, folder, made.specials)))
    assert template is not None
    return Derivation(template, set(made.specials), (_END,)).tried(8, name).family


def made_walker(name: str) -> Walker:
    return Walker(name, made_family(name), MADE[name].specials)
