"""Cases of the formats' tests: tools, special tokens, and answers with their meanings.

An Answer is a text that a model may write to an output spec, and the message it is; a Wrong one is a text
that its grammar must not let pass. Special tokens are spelled out in both. Those of Harmony are in
harmony_cases.py.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from adapters.formats import (
    ContentDelta,
    Delta,
    OutputSpec,
    ReasoningDelta,
    Tool,
    ToolArguments,
    ToolInput,
    ToolStart,
)

F = Tool(
    "f",
    {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
    "Looks a city up",
)
G = Tool(
    "g",
    {"type": "object", "properties": {"n": {"type": "integer"}}, "additionalProperties": False},
    "Takes a number",
)
#: a name that another one starts with, and no arguments
FF = Tool("ff", {})
TOOLS = (F, G, FF)

VALUE = {
    "type": "object",
    "properties": {"name": {"type": "string"}},
    "required": ["name"],
    "additionalProperties": False,
}

CHATML = ("<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>", "<think>", "</think>")
LLAMA = (
    "<|begin_of_text|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|python_tag|>",
)
DEEPSEEK = (
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁calls▁end｜>",
    "<｜tool▁call▁begin｜>",
    "<｜tool▁call▁end｜>",
    "<｜tool▁sep｜>",
)
COMMAND = ("<|START_THINKING|>", "<|END_THINKING|>", "<|START_ACTION|>", "<|END_ACTION|>")
GLM = ("<tool_call>", "</tool_call>", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>")
HARMONY = (
    "<|start|>",
    "<|end|>",
    "<|message|>",
    "<|channel|>",
    "<|constrain|>",
    "<|return|>",
    "<|call|>",
)
#: of most formats; the last one stops, or STOPS names those that do
_OTHERS = {
    "qwen_coder": CHATML,
    "seed_oss": ("<seed:tool_call>", "</seed:tool_call>", "<seed:eos>"),
    "mistral_v3": ("[TOOL_CALLS]", "</s>"),
    "mistral_v11": ("[TOOL_CALLS]", "[CALL_ID]", "[ARGS]", "</s>"),
    "mistral_v13": ("[TOOL_CALLS]", "[ARGS]", "</s>"),
    "deepseek_v3": (*DEEPSEEK, "<｜end▁of▁sentence｜>"),
    "deepseek_v31": (*DEEPSEEK, "<｜end▁of▁sentence｜>"),
    "deepseek_v32": ("｜DSML｜", "<｜end▁of▁sentence｜>"),
    "deepseek_v4": ("<｜end▁of▁sentence｜>",),
    "deepseek_v41": ("｜DSML｜", "<｜end▁of▁sentence｜>"),
    "kimi_k2": (
        "<|tool_calls_section_begin|>",
        "<|tool_calls_section_end|>",
        "<|tool_call_begin|>",
        "<|tool_call_argument_begin|>",
        "<|tool_call_end|>",
        "<|im_end|>",
    ),
    "llama4_pythonic": ("<|header_start|>", "<|eot|>"),
    "lfm2": ("<|tool_call_start|>", "<|tool_call_end|>", "<|im_end|>"),
    "olmo_3": ("<|im_start|>", "<|im_end|>"),
    "gemma_4": ("<|tool_call>", "<tool_call|>", '<|"|>', "<turn|>"),
    "functiongemma": ("<start_function_call>", "<end_function_call>", "<escape>", "<end_of_turn>"),
    "kimi_k3": ("<|open|>", "<|close|>", "<|sep|>", "<|end_of_msg|>"),
    "firefunction_v2": ("<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"),
    "command_r": ("<|START_OF_TURN_TOKEN|>", "<|CHATBOT_TOKEN|>", "<|END_OF_TURN_TOKEN|>"),
    "command_r7b": (*COMMAND, "<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|END_OF_TURN_TOKEN|>"),
    "command_a": (*COMMAND, "<|START_TEXT|>", "<|END_TEXT|>", "<|END_OF_TURN_TOKEN|>"),
    "glm_45": (*GLM, "<|observation|>"),
    "glm_47": (*GLM, "<|observation|>"),
    "hunyuan": ("<tool_calls:opensource>", "</tool_calls:opensource>", "<|eos|>"),
    "minimax_m1": ("<end_of_sentence>",),
    "minimax_m2": ("<minimax:tool_call>", "</minimax:tool_call>", "[e~["),
    "minimax_m3": ("]<]minimax[>[", "[e~["),
    "phi_4_mini": ("<|tool_call|>", "<|/tool_call|>", "<|end|>"),
    "granite_3": ("<|tool_call|>", "<|end_of_text|>"),
    "nemotron_v2": ("<SPECIAL_12>",),
    "apriel": ("<tool_calls>", "</tool_calls>", "<|end|>"),
    "apertus": ("<|tools_prefix|>", "<|tools_suffix|>", "<|assistant_end|>"),
    "solar": (
        "<|tool_calls|>",
        "<|tool_call:begin|>",
        "<|tool_call:name|>",
        "<|tool_call:args|>",
        "<|tool_call:end|>",
        "<|begin|>",
        "<|end|>",
        "<|think|>",
        "<|content|>",
        "<|flush|>",
        "<|calls|>",
    ),
    "gigachat_3": ("<|message_sep|>", "<|role_sep|>", "</s>"),
    "gigachat_31": ("<|function_call|>", "</s>"),
    "internlm": ("<|im_start|>", "<|action_start|>", "<|plugin|>", "<|action_end|>", "<|im_end|>"),
    "minicpm_5": CHATML,
    "muse": ("<|start|>", "<|message|>", "<|eom|>", "<|eot|>"),
    "step_3": (
        "<｜tool_calls_begin｜>",
        "<｜tool_calls_end｜>",
        "<｜tool_call_begin｜>",
        "<｜tool_call_end｜>",
        "<｜tool_sep｜>",
        "<|EOT|>",
    ),
    "inkling": (
        "<|message_user|>",
        "<|message_model|>",
        "<|message_system|>",
        "<|message_tool|>",
        "<|content_text|>",
        "<|content_thinking|>",
        "<|content_xml|>",
        "<|content_invoke_tool_json|>",
        "<|end_message|>",
        "<|content_model_end_sampling|>",
    ),
    # the end of an element is a token of its own
    "beam": (*HARMONY, "\n</rfl:parameter>"),
}
SPECIALS = {
    **_OTHERS,
    "plain": ("<eos>",),
    "hermes": CHATML,
    "llama3_json": LLAMA,
    "llama3_function": LLAMA,
    "functionary_v32": LLAMA,
    "harmony": HARMONY,
}
STOPS = {
    **{name: texts[-1:] for name, texts in _OTHERS.items()},
    "qwen_coder": ("<|im_end|>",),
    "minicpm_5": ("<|im_end|>",),
    "plain": ("<eos>",),
    "solar": ("<|flush|>", "<|calls|>"),
    "beam": ("<|return|>", "<|call|>"),
    "hermes": ("<|im_end|>",),
    "llama3_json": ("<|eot_id|>", "<|eom_id|>"),
    "llama3_function": ("<|eot_id|>", "<|eom_id|>"),
    "functionary_v32": ("<|eot_id|>", "<|eom_id|>"),
    "harmony": ("<|return|>", "<|call|>"),
}

AUTO = OutputSpec(TOOLS)
#: g is shown, too
BARRED = OutputSpec((F, G, FF), barred=("g",))
ONE = replace(AUTO, parallel_tool_calls=False)
NONE = replace(AUTO, tool_choice="none")
REQUIRED = replace(AUTO, tool_choice="required")
REQUIRED_ONE = replace(REQUIRED, parallel_tool_calls=False)
NAMED = replace(AUTO, tool_choice="named", tool_name="f")
VALUE_ONLY = OutputSpec(response_schema=VALUE)
VALUE_OR_CALL = replace(AUTO, response_schema=VALUE)
VALUE_NONE = replace(NONE, response_schema=VALUE)
REQUIRED_VALUE = replace(REQUIRED, response_schema=VALUE)
FREE = OutputSpec()

OUTPUTS = {
    "auto": AUTO,
    "auto, one": ONE,
    "none": NONE,
    "required": REQUIRED,
    "required, one": REQUIRED_ONE,
    "named": NAMED,
    "value": VALUE_ONLY,
    "value or call": VALUE_OR_CALL,
    "value, none": VALUE_NONE,
    "required with a value": REQUIRED_VALUE,
    "free": FREE,
}


def quiet(output: OutputSpec) -> OutputSpec:
    """The same without reasoning."""
    return replace(output, reasoning="off")


@dataclass
class Said:
    """A message: what an answer's deltas add up to."""

    content: str = ""
    reasoning: str = ""
    calls: list[tuple[str, str]] = field(default_factory=list)

    def add(self, deltas: Iterable[Delta]) -> "Said":
        for delta in deltas:
            match delta:
                case ContentDelta(text):
                    self.content += text
                case ReasoningDelta(text):
                    self.reasoning += text
                case ToolStart(index, name):
                    assert index == len(self.calls)
                    self.calls.append((name, ""))
                case ToolArguments(index, text) | ToolInput(index, text):
                    assert index == len(self.calls) - 1
                    self.calls[index] = (self.calls[index][0], self.calls[index][1] + text)
        return self

    def starts(self, whole: "Said") -> bool:
        """Whether this can be an earlier state of ``whole``."""
        if len(self.calls) > len(whole.calls):
            return False
        pairs = list(zip(self.calls, whole.calls, strict=False))
        return (
            whole.content.startswith(self.content)
            and whole.reasoning.startswith(self.reasoning)
            and all(mine == theirs for mine, theirs in pairs[:-1])
            and all(m[0] == t[0] and t[1].startswith(m[1]) for m, t in pairs[-1:])
        )


@dataclass(frozen=True)
class Answer:
    format: str
    output: OutputSpec
    text: str
    means: Said


@dataclass(frozen=True)
class Wrong:
    format: str
    output: OutputSpec
    text: str
    why: str


OSLO = '{"city": "Oslo"}'
TWO = '{"n": 2}'
BOTH = [("f", OSLO), ("g", TWO)]
JUST_F = [("f", OSLO)]

_H_F = '<tool_call>\n{"name": "f", "arguments": ' + OSLO + "}\n</tool_call>"
_H_G = '<tool_call>\n{"name": "g", "arguments": ' + TWO + "}\n</tool_call>"
_H_FF = '<tool_call>\n{"name": "ff", "arguments": {}}\n</tool_call>'
_THINK = "<think>\nWhich city?\n</think>\n\n"

_P_F = '<tool_call>{"name": "f", "arguments": ' + OSLO + "}</tool_call>"
_P_G = '<tool_call>{"name": "g", "arguments": ' + TWO + "}</tool_call>"

_L_F = '{"name": "f", "parameters": ' + OSLO + "}"
_L_G = '{"name": "g", "parameters": ' + TWO + "}"

_C_NONE = 'Action:\n```json\n[\n    {\n        "tool_name": "directly-answer",\n        "parameters": {}\n    }\n]```'

#: spelled as no member of the family does
_L_F_SHORT = '{"name":"f","parameters":{"city":"Oslo"}}'
_PACKAGE = '{"name": "my-package", "version": "1.0.0"}'

_X_F = f"<function=f>{OSLO}</function>"
_X_G = f"<function=g>{TWO}</function>"

ANSWERS = [
    # plain
    Answer("plain", FREE, "Hi <tool_call> there\n", Said("Hi <tool_call> there\n")),
    Answer("plain", AUTO, "", Said()),
    Answer("plain", AUTO, "Hm <tool", Said("Hm <tool")),
    Answer("plain", AUTO, f"Let me see.\n{_P_F}\n{_P_G}", Said("Let me see.\n", "", BOTH)),
    Answer("plain", AUTO, f"{_P_F}\nand {_P_G} so", Said("\nand  so", "", BOTH)),
    Answer("plain", REQUIRED, f"{_P_F}\n{_P_G}", Said("", "", BOTH)),
    Answer("plain", NAMED, _P_F, Said("", "", JUST_F)),
    Answer("plain", VALUE_OR_CALL, '{"name":"x"}', Said('{"name":"x"}')),
    Answer("plain", VALUE_OR_CALL, _P_F, Said("", "", JUST_F)),
    # hermes
    Answer("hermes", FREE, "Zażółć 漢字 😀", Said("Zażółć 漢字 😀")),
    Answer("hermes", FREE, f"{_THINK}Oslo.", Said("Oslo.", "Which city?")),
    Answer("hermes", FREE, "<think></think>", Said()),
    Answer("hermes", FREE, "<think>a\n\nb\n\n</think>\n\n\nc", Said("\nc", "a\n\nb\n")),
    Answer("hermes", AUTO, "No call needed.", Said("No call needed.")),
    Answer("hermes", AUTO, f"I'll check.\n\n{_H_F}", Said("I'll check.\n\n", "", JUST_F)),
    Answer("hermes", AUTO, f"{_THINK}{_H_F}\n{_H_G}", Said("", "Which city?", BOTH)),
    Answer("hermes", AUTO, f"{_H_F}{_H_G}\n", Said("", "", BOTH)),
    Answer("hermes", AUTO, f"{_H_F}\nDone.", Said("\nDone.", "", JUST_F)),
    Answer("hermes", AUTO, _H_FF, Said("", "", [("ff", "{}")])),
    Answer("hermes", ONE, f"One.{_H_F}", Said("One.", "", JUST_F)),
    Answer("hermes", NONE, "Words { only }", Said("Words { only }")),
    Answer("hermes", REQUIRED, f"{_THINK}{_H_F}\n{_H_G}", Said("", "Which city?", BOTH)),
    Answer("hermes", REQUIRED_ONE, _H_F, Said("", "", JUST_F)),
    Answer("hermes", NAMED, f"{_THINK}{_H_F}", Said("", "Which city?", JUST_F)),
    Answer("hermes", VALUE_ONLY, f'{_THINK}{{"name": "é"}}', Said('{"name": "é"}', "Which city?")),
    Answer("hermes", VALUE_OR_CALL, '{"name": "x"}', Said('{"name": "x"}')),
    Answer("hermes", VALUE_OR_CALL, f"{_H_F}\n{_H_G}", Said("", "", BOTH)),
    Answer("hermes", VALUE_NONE, '{"name": "x"}', Said('{"name": "x"}')),
    Answer("hermes", REQUIRED_VALUE, _H_F, Said("", "", JUST_F)),
    Answer("hermes", quiet(REQUIRED), _H_F, Said("", "", JUST_F)),
    # llama3_json
    Answer("llama3_json", FREE, '{"name": 1}', Said('{"name": 1}')),
    Answer("llama3_json", AUTO, "Hello", Said("Hello")),
    Answer("llama3_json", AUTO, f"<|python_tag|>{_L_F}; {_L_G}", Said("", "", BOTH)),
    Answer("llama3_json", AUTO, f"{_L_F};{_L_G}", Said("", "", BOTH)),
    Answer("llama3_json", AUTO, f"So: {_L_F}", Said("So: ", "", JUST_F)),
    Answer("llama3_json", AUTO, '{"names": []}'[:6], Said('{"name')),
    # REGRESSION: {"name" alone opened a call
    *(
        Answer("llama3_json", output, text, Said(text))
        for output in (AUTO, ONE, NONE)
        for text in (_PACKAGE, '{"name": "fff"}', '{"name": "f', '{"name": 1}', _L_F_SHORT)
    ),
    Answer("llama3_json", AUTO, f"{_PACKAGE}\n{_L_F}", Said(f"{_PACKAGE}\n", "", JUST_F)),
    Answer("llama3_json", AUTO, f'{{"name": "{_L_G}', Said('{"name": "', "", [("g", TWO)])),
    Answer("llama3_json", BARRED, f"{_PACKAGE} {_L_F}", Said(f"{_PACKAGE} ", "", JUST_F)),
    Answer("llama3_json", NONE, '{"title": 1}', Said('{"title": 1}')),
    Answer("llama3_json", REQUIRED, f"{_L_F}; {_L_G}", Said("", "", BOTH)),
    Answer("llama3_json", REQUIRED, f"<|python_tag|>{_L_F}", Said("", "", JUST_F)),
    Answer("llama3_json", NAMED, f"<|python_tag|>{_L_F}", Said("", "", JUST_F)),
    Answer("llama3_json", VALUE_OR_CALL, '{"name": "f"}', Said('{"name": "f"}')),
    Answer("llama3_json", VALUE_OR_CALL, f"<|python_tag|>{_L_F}", Said("", "", JUST_F)),
    # llama3_function
    Answer("llama3_function", AUTO, f"{_X_F}{_X_G}", Said("", "", BOTH)),
    Answer("llama3_function", AUTO, f"a < b\n{_X_F}\n{_X_G}", Said("a < b\n", "", BOTH)),
    Answer("llama3_function", ONE, _X_F, Said("", "", JUST_F)),
    # REGRESSION: <function= alone opened a call
    *(
        Answer("llama3_function", output, text, Said(text))
        for output in (AUTO, ONE, NONE)
        for text in ("<function=h>{}</function>", "<function=fff>", "<function=f", "<function= f>")
    ),
    Answer("llama3_function", AUTO, f"<function={_X_F}", Said("<function=", "", JUST_F)),
    Answer("llama3_function", REQUIRED, f"{_X_F}{_X_G}", Said("", "", BOTH)),
    Answer("llama3_function", NAMED, _X_F, Said("", "", JUST_F)),
    Answer("llama3_function", VALUE_OR_CALL, _X_F, Said("", "", JUST_F)),
    Answer("llama3_function", VALUE_OR_CALL, '{"name": ""}', Said('{"name": ""}')),
    # Command R calls `directly-answer` if it needs no tool
    Answer("command_r", AUTO, _C_NONE, Said("")),
    Answer("command_r", AUTO, f"{_C_NONE}\nOslo.", Said("\nOslo.")),
    Answer("command_r", ONE, "So. " + _C_NONE.replace("\n", " ", 1) + "Oslo.", Said("So. Oslo.")),
]

WRONG = [
    Wrong("plain", AUTO, _P_F.replace("f", "h", 1), "an unknown tool"),
    Wrong("plain", NONE, _P_F, "a call where none may be"),
    Wrong("plain", REQUIRED, "Hi", "no call where one must be"),
    Wrong("plain", REQUIRED, f"Hi {_P_F}", "text before a call that must be"),
    Wrong("plain", REQUIRED, f"{_P_F} Hi", "text behind the calls"),
    Wrong("plain", NAMED, _P_G, "another tool than the named one"),
    Wrong("plain", NAMED, f"{_P_F}\n{_P_F}", "the named tool twice"),
    Wrong("plain", VALUE_OR_CALL, f'{{"name":"x"}}{_P_F}', "both a value and a call"),
    Wrong("hermes", FREE, "a</think>", "the end of reasoning in text"),
    Wrong("hermes", FREE, "a<think>b</think>", "reasoning in the middle"),
    Wrong("hermes", FREE, "<think>a</think><think>b</think>", "reasoning twice"),
    Wrong("hermes", FREE, "a<|im_start|>b", "a special token in text"),
    Wrong("hermes", FREE, "a</tool_call>", "the end of a call in text"),
    Wrong("hermes", AUTO, _H_F.replace('"f"', '"h"'), "an unknown tool"),
    Wrong("hermes", AUTO, _H_F.replace('"Oslo"', "1"), "arguments that break the schema"),
    Wrong("hermes", AUTO, _H_F.replace(OSLO, "[1]"), "arguments that are no object"),
    Wrong("hermes", AUTO, _H_FF.replace("{}}", '{"a": 1}}'), "arguments where there are none"),
    Wrong("hermes", AUTO, "<tool_call>\n", "half a call"),
    Wrong("hermes", ONE, f"{_H_F}\n{_H_G}", "two calls where one may be"),
    Wrong("hermes", ONE, f"{_H_F}\nDone.", "text behind the only call"),
    Wrong("hermes", NONE, _H_F, "a call where none may be"),
    Wrong("hermes", NONE, "a <tool_call>", "the mark of a call where none may be"),
    Wrong("hermes", REQUIRED, "", "nothing where a call must be"),
    Wrong("hermes", REQUIRED, _THINK, "only reasoning where a call must be"),
    Wrong("hermes", REQUIRED, f"Hi {_H_F}", "text before a call that must be"),
    Wrong("hermes", REQUIRED, f"{_H_F}\n\n", "two line feeds behind the last call"),
    Wrong("hermes", REQUIRED_ONE, f"{_H_F}\n", "a line feed behind the only call"),
    Wrong("hermes", REQUIRED, f"{_H_F}{_H_G}", "calls without their separator"),
    Wrong("hermes", REQUIRED_ONE, f"{_H_F}\n{_H_G}", "two calls where one must be"),
    Wrong("hermes", NAMED, _H_G, "another tool than the named one"),
    Wrong("hermes", NAMED, f"{_H_F}\n{_H_F}", "the named tool twice"),
    Wrong("hermes", VALUE_ONLY, "Hi", "text where a value must be"),
    Wrong("hermes", VALUE_ONLY, _H_F, "a call without tools"),
    Wrong("hermes", VALUE_OR_CALL, "Hi", "text where a value or a call must be"),
    Wrong("hermes", VALUE_OR_CALL, f'{{"name": "x"}}\n{_H_F}', "both a value and a call"),
    Wrong("hermes", REQUIRED_VALUE, '{"name": "x"}', "a value where a call must be"),
    Wrong("hermes", VALUE_NONE, _H_F, "a call where none may be"),
    Wrong("hermes", quiet(REQUIRED), f"{_THINK}{_H_F}", "reasoning that is off"),
    Wrong("hermes", quiet(FREE), f"{_THINK}Hi", "reasoning that is off"),
    Wrong("llama3_json", AUTO, '{"name": "f"}', "a call's beginning as text"),
    Wrong("llama3_json", AUTO, '{"name": "f", "arguments": {}}', "a call of another shape"),
    Wrong("llama3_json", AUTO, '<|python_tag|>{"name": "h"', "an unknown tool"),
    Wrong("llama3_json", BARRED, _L_G, "a tool that may not be called"),
    Wrong("llama3_function", BARRED, _X_G, "a tool that may not be called"),
    Wrong("llama3_json", NONE, _L_F, "a call where none may be"),
    Wrong("llama3_json", NONE, "<|python_tag|>x", "the mark of a call where none may be"),
    Wrong("llama3_json", REQUIRED, f"<|python_tag|>{_L_F}; Hi", "text behind the calls"),
    Wrong("llama3_json", REQUIRED, "<|python_tag|>", "a mark without a call"),
    Wrong("llama3_json", VALUE_OR_CALL, _L_F, "a call without the mark that tells it apart"),
    Wrong("llama3_function", REQUIRED, "<function=h>{}</function>", "an unknown tool"),
    Wrong("llama3_function", AUTO, "<function=f>{}</function>", "a missing argument"),
    Wrong("llama3_function", ONE, f"{_X_F}{_X_G}", "two calls where one may be"),
    Wrong("llama3_function", NONE, "x <function=f>", "a call's beginning where none may be"),
    Wrong("llama3_function", REQUIRED, f"{_X_F}\n", "text behind the calls"),
    Wrong("command_r", REQUIRED, _C_NONE, "no call where one must be"),
    Wrong("command_r", NAMED, _C_NONE, "no call where one must be"),
    Wrong("command_r", AUTO, f"{_C_NONE}{_C_NONE}", "a mark in text"),
    Wrong("command_r", NONE, _C_NONE, "the mark of a call where none may be"),
]
