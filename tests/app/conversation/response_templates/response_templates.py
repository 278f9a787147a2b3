"""Response templates in the forms in which checkpoints, transformers and its clients write them.

A Case has a template, and a conversation's calls as the model's chat template renders them. The
comment names where the form comes from.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from adapters.formats import PastCall, TagFamily
from app.conversation.response_templates import family_of

FUNCTION = {"type": "function", "function": "{content}"}
NAMED = {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}}
THINK = {"open": "<think>", "close": "</think>", "content": "text"}
IM_END = {"close": "<|im_end|>", "content": "text"}
CHATML = "<|im_start|>assistant\n"
#: of Beam
STOPS = ("<|call|>", "<|return|>")
#: the calls in ``Case.rendered``
CALLS = (
    PastCall("call_0123456789", "wordtool", '{"city": "wordargument0"}'),
    PastCall("call_1234567890", "wordtool", '{"city": "wordargument1"}'),
)


@dataclass(frozen=True)
class Case:
    """A response template and its model.

    ``rendered``  CALLS in a conversation; "": the chat template shows none.
    ``answer``    a call of ``f`` with the city Oslo, as the model writes it.
    ``specials``  special tokens; the last one stops. ``stops``: texts of stop tokens that the
                  template does not name as the end of content.
    """

    template: Mapping[str, Any]
    rendered: str
    answer: str
    specials: tuple[str, ...] = ("<|im_end|>",)
    stops: tuple[str, ...] = ()

    @property
    def family(self) -> TagFamily:
        found = family_of(self.template, stops=self.stops, rendered=self.rendered, calls=CALLS)
        return found.family


def template(fields: Mapping[str, Any], anchor: str | list[str] = CHATML, **more: Any) -> Any:
    return {"defaults": {"role": "assistant"}, "start_anchor": anchor, "fields": fields, **more}


def xml(tag_pattern: str, parser: Mapping[str, Any] | None = None) -> dict[str, Any]:
    read = {"name": "json", "args": {"allow_non_json": True}} if parser is None else parser
    return {"tag_pattern": tag_pattern, "value_parser": read}


def calls(**keys: Any) -> dict[str, Any]:
    return {"repeats": True, "content": "json", "transform": FUNCTION, **keys}


def _json_call(number: int) -> str:
    return json.dumps({"name": "wordtool", "arguments": {"city": f"wordargument{number}"}})


CASES = {
    # SmolLM3, Granite 4: <tool_call>{...}</tool_call>
    "smollm": Case(
        template(
            {
                "thinking": THINK,
                "tool_calls": calls(open="<tool_call>", close="</tool_call>"),
                "content": IM_END,
            }
        ),
        "".join(f"<tool_call>{_json_call(n)}</tool_call>" for n in (0, 1)) + "<|im_end|>\n",
        answer='<tool_call>{"name": "f", "arguments": {"city": "Oslo"}}</tool_call>',
    ),
    # transformers serve for Qwen 2 and 3; the white space is the chat template's
    "qwen serve": Case(
        template(
            {
                "thinking": THINK,
                "tool_calls": calls(open_pattern=r"\s*<tool_call>", close="</tool_call>"),
                "content": {
                    "close_pattern": r"\s*(?:<\|im_end\|>|<\|endoftext\|>|<\|eot_id\|>)",
                    "content": "text",
                },
            }
        ),
        CHATML
        + "\n".join(f"<tool_call>\n{_json_call(n)}\n</tool_call>" for n in (0, 1))
        + "<|im_end|>\n",
        answer='<tool_call>\n{"name": "f", "arguments": {"city": "Oslo"}}\n</tool_call>',
    ),
    # TRL for Qwen 3
    "qwen trl": Case(
        template(
            {
                "reasoning_content": {"open": "<think>", "close_pattern": r"</think>\s*"},
                "tool_calls": calls(open="<tool_call>", close_pattern=r"</tool_call>\s*"),
                "content": {"close_pattern": r"<\|im_end\|>\s*", "content": "text"},
            }
        ),
        rendered="",
        answer='<tool_call>{"name": "f", "arguments": {"city": "Oslo"}}</tool_call>',
    ),
    # transformers' tests and documentation for Qwen3-Coder
    "qwen coder": Case(
        template(
            {
                "thinking": THINK,
                "tool_calls": calls(
                    open_pattern=r"<tool_call>\s*<function=(?P<name>\w+)>",
                    close="</tool_call>",
                    content="xml-inline",
                    content_args=xml(r"<parameter=(?P<key>\w+)>\s*(?P<value>.*?)\s*</parameter>"),
                    transform=NAMED,
                ),
            }
        ),
        CHATML
        + "\n".join(
            f"<tool_call>\n<function=wordtool>\n<parameter=city>\nwordargument{n}\n</parameter>\n"
            "</function>\n</tool_call>"
            for n in (0, 1)
        )
        + "<|im_end|>\n",
        answer="<tool_call>\n<function=f>\n<parameter=city>\nOslo\n</parameter>\n</function>\n"
        "</tool_call>",
    ),
    # transformers serve for Qwen 3.5
    "qwen 3.5 serve": Case(
        template(
            {
                "thinking": THINK,
                "tool_calls": calls(
                    open_pattern=r"\s*<tool_call>\s*<function=(?P<name>[^>\n]+)>",
                    close_pattern=r"</function>\s*</tool_call>",
                    content="xml-inline",
                    content_args={
                        "tag_pattern": r"<parameter=(?P<key>[^>\n]+)>\s*(?P<value>.*?)\s*"
                        "</parameter>"
                    },
                    transform=NAMED,
                ),
                "content": {
                    "close_pattern": r"\s*(?:<\|im_end\|>|<\|endoftext\|>)",
                    "content": "text",
                },
            }
        ),
        "<tool_call>\n<function=wordtool>\n<parameter=city>\nwordargument0\n</parameter>\n"
        "</function>\n</tool_call>",
        answer="<tool_call>\n<function=f>\n<parameter=city>\nOslo\n</parameter>\n</function>\n"
        "</tool_call>",
    ),
    # TRL for GLM 4.5
    "glm trl": Case(
        template(
            {
                "reasoning_content": {"open": "<think>", "close_pattern": r"</think>\s*"},
                "tool_calls": calls(
                    open_pattern=r"<tool_call>(?P<name>\S+)\n?",
                    close_pattern=r"</tool_call>\s*",
                    content="xml-inline",
                    content_args=xml(
                        r"<arg_key>(?P<key>[^<]+)</arg_key>\s*\n"
                        r"<arg_value>(?P<value>.*?)</arg_value>"
                    ),
                    transform=NAMED,
                ),
                "content": {"close_pattern": r"<\|user\|>\s*|$", "content": "text"},
            },
            "<|assistant|>",
        ),
        "<|assistant|>\n<think></think>\n"
        + "\n".join(
            f"<tool_call>wordtool\n<arg_key>city</arg_key>\n<arg_value>wordargument{n}"
            "</arg_value>\n</tool_call>"
            for n in (0, 1)
        )
        + "<|observation|>\n",
        specials=("<|observation|>", "<|user|>"),
        answer="<tool_call>f\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n</tool_call>",
    ),
    # TRL for Llama 3
    "llama trl": Case(
        template(
            {
                "tool_calls": calls(
                    open_pattern=r'\{"name":\s*"(?P<name>[^"]+)",\s*"parameters":\s*',
                    close_pattern=r"\}<\|eot_id\|>\s*",
                    transform=NAMED,
                ),
                "content": {"close_pattern": r"<\|eot_id\|>\s*", "content": "text"},
            },
            "<|start_header_id|>assistant<|end_header_id|>\n\n",
        ),
        '{"name": "wordtool", "parameters": {"city": "wordargument0"}}<|eot_id|>',
        specials=("<|eot_id|>",),
        answer='{"name": "f", "parameters": {"city": "Oslo"}}',
    ),
    # transformers' tests for Cohere, but without the number of the call
    "list": Case(
        template(
            {
                "content": {"open": "<|START_RESPONSE|>", "close": "<|END_RESPONSE|>"},
                "thinking": {"open": "<|START_THINKING|>", "close": "<|END_THINKING|>"},
                "tool_calls": {
                    "open": "<|START_ACTION|>",
                    "close": "<|END_ACTION|>",
                    "content": "json",
                    "transform_each": True,
                    "transform": {
                        "type": "function",
                        "function": {"name": "{tool_name}", "arguments": "{parameters}"},
                    },
                },
            },
            "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>",
        ),
        "<|START_ACTION|>[\n"
        '    {"tool_name": "wordtool", "parameters": {"city": "wordargument0"}},\n'
        '    {"tool_name": "wordtool", "parameters": {"city": "wordargument1"}}\n'
        "]<|END_ACTION|><|END_OF_TURN_TOKEN|>",
        specials=("<|START_ACTION|>", "<|END_ACTION|>", "<|END_OF_TURN_TOKEN|>"),
        answer='<|START_ACTION|>[\n    {"tool_name": "f", "parameters": {"city": "Oslo"}}\n]'
        "<|END_ACTION|>",
    ),
    # transformers.js' tests for Granite 3.3: the stop token ends the list
    "granite 3.3": Case(
        template(
            {
                "thinking": THINK,
                "tool_calls": {
                    "open": "<|tool_call|>",
                    "close": "<|end_of_text|>",
                    "content": "json",
                    "transform_each": True,
                    "transform": {
                        "type": "function",
                        "function": {"name": "{name}", "arguments": "{arguments}"},
                    },
                },
                "content": {"close": "<|end_of_text|>", "content": "text"},
            },
            "<|start_of_role|>assistant<|end_of_role|>",
        ),
        f"<|tool_call|>[{_json_call(0)}, {_json_call(1)}]<|end_of_text|>",
        specials=("<|tool_call|>", "<|end_of_text|>"),
        answer='<|tool_call|>[{"name": "f", "arguments": {"city": "Oslo"}}]',
    ),
    # transformers' tests for Gemma 4
    "gemma": Case(
        template(
            {
                "thinking": {"open": "<|channel>thought\n", "close": "<channel|>"},
                "tool_calls": calls(
                    open_pattern=r"<\|tool_call>call:(?P<name>\w+)",
                    close="<tool_call|>",
                    content_args={
                        "unquoted_keys": True,
                        "string_delims": [['<|"|>', '<|"|>']],
                    },
                    transform=NAMED,
                ),
                "content": {
                    "close": ["<turn|>", "<|tool_response>", "<eos>"],
                    "content": "text",
                },
            },
            ["<|turn>model\n", "<tool_response|>"],
        ),
        '<|tool_call>call:wordtool{city:<|"|>wordargument0<|"|>}<tool_call|>'
        '<|tool_call>call:wordtool{city:<|"|>wordargument1<|"|>}<tool_call|>',
        specials=("<|tool_call>", "<tool_call|>", '<|"|>', "<turn|>"),
        answer='<|tool_call>call:f{city:<|"|>Oslo<|"|>}<tool_call|>',
    ),
    # transformers' tests for ERNIE 4.5: content between marks, the thought may be open
    "ernie": Case(
        template(
            {
                "thinking": {"open_pattern": r"(?:^|<think>\s*)", "close": "</think>"},
                "content": {"open": "<response>\n", "close_pattern": r"\n?</response>"},
                "tool_calls": calls(open="<tool_call>", close="</tool_call>"),
            },
            "Assistant:",
        ),
        f"<tool_call>\n{_json_call(0)}\n</tool_call>\n<tool_call>\n{_json_call(1)}\n</tool_call>\n",
        specials=("</s>",),
        answer='<tool_call>\n{"name": "f", "arguments": {"city": "Oslo"}}\n</tool_call>',
    ),
    # Mistral 13: the next call or the end of the answer closes a call
    "mistral": Case(
        template(
            {
                "thinking": {"open": "[THINK]", "close": "[/THINK]"},
                "tool_calls": calls(
                    open_pattern=r"\[TOOL_CALLS\](?P<name>[A-Za-z0-9_.:-]+)\[ARGS\]",
                    close_pattern=r"(?=\[TOOL_CALLS\]|</s>)",
                    transform=NAMED,
                ),
                "content": {"close": "</s>", "content": "text"},
            },
            ["[/INST]", "[/TOOL_RESULTS]"],
        ),
        '[TOOL_CALLS]wordtool[ARGS]{"city": "wordargument0"}'
        '[TOOL_CALLS]wordtool[ARGS]{"city": "wordargument1"}</s>',
        specials=("[TOOL_CALLS]", "[ARGS]", "</s>"),
        answer='[TOOL_CALLS]f[ARGS]{"city": "Oslo"}',
    ),
    # transformers' tests for LFM2 (5.24): a list of Python's calls
    "lfm2": Case(
        template(
            {
                "thinking": THINK,
                "tool_calls": {
                    "open": "<|tool_call_start|>",
                    "close": "<|tool_call_end|>",
                    "content": "python-call-list",
                    "transform_each": True,
                    "transform": {
                        "type": "function",
                        "function": {"name": "{name}", "arguments": "{arguments}"},
                    },
                },
                "content": IM_END,
            }
        ),
        "<|tool_call_start|>[wordtool(city='wordargument0'), wordtool(city='wordargument1')]"
        "<|tool_call_end|><|im_end|>\n",
        specials=("<|tool_call_start|>", "<|tool_call_end|>", "<|im_end|>"),
        answer="<|tool_call_start|>[f(city='Oslo')]<|tool_call_end|>",
    ),
    # a response template of a router's tests: elements of a form of its own
    "arg": Case(
        template(
            {
                "thinking": {"open_pattern": r"<\|think\|>", "close": "<|done|>"},
                "content": {"open_pattern": r"<\|say\|>", "close": "<|done|>"},
                "tool_calls": calls(
                    open_pattern=r"(?:<\|turn\|>bot)?<\|tool\|>(?P<name>[A-Za-z_][A-Za-z0-9_.]*)"
                    r"<\|args\|>",
                    close=["<|done|>", "<|eos|>"],
                    content="xml-inline",
                    content_args=xml(
                        '<arg name="(?P<key>[^"]+)">(?P<value>.*?)</arg>',
                        {"name": "text", "args": {"strip": False}},
                    ),
                    transform=NAMED,
                ),
            },
            "<|turn|>bot",
        ),
        '<|tool|>wordtool<|args|><arg name="city">wordargument0</arg><|done|><|turn|>bot'
        '<|tool|>wordtool<|args|><arg name="city">wordargument1</arg><|done|>',
        specials=(
            "<|tool|>",
            "<|args|>",
            "<|done|>",
            "<|say|>",
            "<|think|>",
            "<|turn|>",
            "<|eos|>",
        ),
        stops=("<|eos|>",),
        answer='<|tool|>f<|args|><arg name="city">Oslo</arg>',
    ),
    # SGLang for Beam: a text between messages, elements, two ends of a call
    "beam": Case(
        {
            "start_anchor_pattern": r"<\|start\|>assistant",
            "fields": {
                "thinking": {
                    "open": "<|channel|>analysis<|message|>",
                    "close": "<|end|><|start|>assistant",
                },
                "content": {
                    "open": "<|channel|>final<|message|>",
                    "close": ["<|return|>", "<|end|>", "<|call|>"],
                },
                "tool_calls": calls(
                    open_pattern=r" to=(?P<name>[^\s<]+)"
                    r"<\|channel\|>analysis <\|constrain\|>xml<\|message\|>",
                    close=["<|end|><|start|>assistant", "<|call|>"],
                    content="xml-inline",
                    content_args=xml(
                        r'<rfl:parameter name="(?P<key>[^"]+)">'
                        r"\n(?P<value>.*?)\n"
                        r'(?:</rfl:parameter>|(?=<rfl:parameter name="))',
                        {"name": "text", "args": {"strip": False}},
                    ),
                    transform=NAMED,
                ),
            },
        },
        "<|start|>assistant to=wordtool<|channel|>analysis <|constrain|>xml<|message|>"
        '<rfl:parameter name="city">\nwordargument0\n</rfl:parameter><|end|><|start|>assistant'
        " to=wordtool<|channel|>analysis <|constrain|>xml<|message|>"
        '<rfl:parameter name="city">\nwordargument1\n</rfl:parameter><|call|>',
        specials=(
            *[
                "<|start|>",
                "<|channel|>",
                "<|constrain|>",
                "<|message|>",
                "<|end|>",
                "<|call|>",
                "<|return|>",
            ],
        ),
        stops=STOPS,
        answer=" to=f<|channel|>analysis <|constrain|>xml<|message|>"
        '<rfl:parameter name="city">\nOslo\n</rfl:parameter>',
    ),
    # the documentation's lines of keys and values, as arguments
    "lines": Case(
        template(
            {
                "tool_calls": calls(
                    open_pattern=r"<call:(?P<name>\w+)>\n",
                    close="</call>",
                    content="kv-lines",
                    transform=NAMED,
                ),
                "content": IM_END,
            }
        ),
        "<call:wordtool>\ncity: wordargument0\n</call>\n<call:wordtool>\ncity: wordargument1\n"
        "</call><|im_end|>",
        answer="<call:f>\ncity: Oslo\n</call>",
    ),
    # an id in the mark
    "id": Case(
        template(
            {
                "tool_calls": calls(
                    open_pattern=r"<call (?P<tool>\w+) (?P<id>[a-z0-9_]{4,40})>",
                    close="</call>",
                    transform={
                        "type": "function",
                        "id": "{id}",
                        "function": {"name": "{tool}", "arguments": "{content}"},
                    },
                ),
                "content": IM_END,
            }
        ),
        '<call wordtool call_0123456789>{"city": "wordargument0"}</call>\n'
        '<call wordtool call_1234567890>{"city": "wordargument1"}</call><|im_end|>',
        answer='<call f abcd>{"city": "Oslo"}</call>',
    ),
    # an id in the JSON behind the arguments, as Mistral 3 writes it
    "json id": Case(
        template(
            {
                "tool_calls": {
                    "open": "[TOOL_CALLS]",
                    "close": "</s>",
                    "content": "json",
                    "transform_each": True,
                    "transform": {
                        "type": "function",
                        "id": "{id}",
                        "function": {"name": "{name}", "arguments": "{arguments}"},
                    },
                },
                "content": {"close": "</s>"},
            },
            "[/INST]",
        ),
        '[TOOL_CALLS][{"name": "wordtool", "arguments": {"city": "wordargument0"}, '
        '"id": "call_0123456789"}, {"name": "wordtool", "arguments": {"city": "wordargument1"}, '
        '"id": "call_1234567890"}]</s>',
        specials=("[TOOL_CALLS]", "</s>"),
        answer='[TOOL_CALLS][{"name": "f", "arguments": {"city": "Oslo"}, "id": "abcd"}]',
    ),
    # members with dotted paths (5.24)
    "nested": Case(
        template(
            {
                "tool_calls": calls(
                    open="<|call|>",
                    close="<|end_call|>",
                    transform={
                        "type": "function",
                        "function": {
                            "name": "{content.call.name}",
                            "arguments": "{content.call.args}",
                        },
                    },
                ),
                "content": IM_END,
            }
        ),
        "",
        answer='<|call|>{"call": {"name": "f", "args": {"city": "Oslo"}}}<|end_call|>',
    ),
}
