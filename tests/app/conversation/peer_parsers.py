"""The tool-call parsers of SGLang and vLLM, and how the gateway serves the models behind them.

A row has the names of parsers of one syntax, a model, and what the checkpoint shows: a real chat
template, or a short one that writes exactly this syntax, because none can be downloaded. Detection
finds the format. `python -m tests.app.conversation.peer_parsers` prints the table of
docs/formats.md.

Not here    which texts the parsers read (tests/formats/foreign_detectors).
"""

import html
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from app.conversation.detection import Basis, Evidence
from app.conversation.tokenizer import HuggingFaceTokenizer
from tests.app.conversation.chat_templates import saved, tokenizer_of

#: the releases whose names these are
SGLANG, VLLM = "0.5.23", "0.33"
#: how a model is served, by the basis of the evidence
SERVED: dict[Basis, str] = {
    "call": "file",
    "marks": "file",
    "response_template": "response template",
    "derived": "derived",
    "none": "taught",
    "taught": "taught",
}


@dataclass(frozen=True, slots=True)
class Written:
    """A short chat template. ``special``: special tokens of the vocabulary that do not look like
    ones, or that the template does not write; ``described``: the response template.
    """

    source: str
    special: tuple[str, ...] = ()
    described: Any = None


@dataclass(frozen=True, slots=True)
class Peer:
    """Parsers of one syntax: their names, with spaces between them. ``shown``: the name of a real
    chat template, or a short one; ``remark``: what is not as the model writes it.
    """

    sglang: str
    vllm: str
    model: str
    shown: str | Written
    remark: str = ""


def text(literal: str) -> str:
    """Return an expression: blocks would take the line feeds behind them."""
    return "{{ " + repr(literal) + " }}"


JSON = "{{ call.arguments | tojson }}"
#: raw strings, and other values as JSON
VALUE = "{{ value if value is string else value | tojson }}"


def each_argument(open_: str, close: str, *, items: str = "call.arguments.items()") -> str:
    """Return arguments as elements. KEY stands for the name, IS for whether it is a string."""
    begin = open_.replace("KEY", "' ~ key ~ '").replace(
        "IS", "' ~ ('true' if value is string else 'false') ~ '"
    )
    begin = "{{ '" + begin.replace("\n", "\\n") + "' }}"
    return f"{{% for key, value in {items} %}}{begin}{VALUE}{text(close)}{{% endfor %}}"


#: Python's keyword arguments
KEYWORDS = (
    "{% for key, value in call.arguments.items() %}{{ ', ' if not loop.first }}{{ key }}="
    "{{ value | tojson }}{% endfor %}"
)


def written(
    begin: str,
    middle: str,
    arguments: str,
    end: str,
    *,
    before: str = "",
    between: str = "",
    behind: str = "",
    turn: tuple[str, str] = ("<|im_start|>{role}\n", "<|im_end|>\n"),
    shows_calls: bool = True,
) -> str:
    """Return a chat template that writes calls so: ``begin`` NAME ``middle`` ARGUMENTS ``end``."""
    opened, closed = turn
    first, _, last = opened.partition("{role}")
    calls = (
        f"{text(before)}{{% for each in m.tool_calls %}}{{% set call = each.function %}}"
        f"{{{{ {between!r} if not loop.first }}}}{text(begin)}{{{{ call.name }}}}{text(middle)}"
        f"{arguments}{text(end)}{{% endfor %}}{text(behind)}"
    )
    return (
        "{% if tools %}{{ tools | tojson }}{% endif %}{% for m in messages %}"
        f"{text(first)}{{{{ m.role }}}}{text(last)}{{{{ m.content or '' }}}}"
        + (f"{{% if m.tool_calls %}}{calls}{{% endif %}}" if shows_calls else "")
        + f"{text(closed)}{{% endfor %}}{text(first)}assistant{text(last)}"
    )


_NAMED = '{"name": "'
_ARGUMENTS = '", "arguments": '
_PAIR = ("<arg_key>KEY</arg_key><arg_value>", "</arg_value>")
_GEMMA = (
    "{% for key, value in call.arguments | dictsort %}{{ ',' if not loop.first }}{{ key }}:"
    "{{ '<escape>' ~ value ~ '<escape>' if value is string else value | tojson }}{% endfor %}"
)
#: a response template of a short chat template
_DESCRIBED = {
    "fields": {
        "content": {"close": "<|im_end|>"},
        "tool_calls": {
            "open_pattern": "<invoke:(?P<name>[^>]+)>",
            "close": "</invoke>",
            "repeats": True,
            "content": "json",
            "transform": {
                "type": "function",
                "function": {"name": "{name}", "arguments": "{content}"},
            },
        },
    },
}


def _plamo(name: str) -> str:
    return f"<|plamo:{name}:plamo|>"


def _dsml(mark: str) -> str:
    """Elements of DeepSeek and GigaChat: ``mark`` stands before each name."""
    return each_argument(f'<{mark}parameter name="KEY" string="IS">', f"</{mark}parameter>\n")


def _hunyuan(suffix: str) -> tuple[str, str]:
    return (
        f"<arg_key{suffix}>KEY</arg_key{suffix}><arg_value{suffix}>",
        f"</arg_value{suffix}>",
    )


#: the text of an answer of ERNIE
_RESPONSE = (
    "{% if m.role != 'assistant' %}{{ m.content }}{% elif m.content %}"
    "{{ '<response>\n' ~ m.content ~ '\n</response>\n' }}{% endif %}"
)
#: messages on channels, with elements; text is on a channel of its own
_BEAM = (
    "{{ tools | tojson if tools }}{% for m in messages %}{% if m.content %}"
    "<|start|>{{ m.role }}<|channel|>final<|message|>{{ m.content }}<|end|>{% endif %}"
    "{% for each in m.tool_calls or [] %}{% set call = each.function %}"
    "<|start|>assistant to={{ call.name }}<|channel|>analysis <|constrain|>xml<|message|>"
    + each_argument(
        '<rfl:parameter name="KEY">\n',
        "\n</rfl:parameter>",
        items="call.arguments | dictsort",
    )
    + "{{ '<|call|>' if loop.last else '<|end|>' }}{% endfor %}{% endfor %}<|start|>assistant"
)

PEERS = (
    Peer("apertus2509", "apertus", "Apertus 8B Instruct", "Apertus-8B-Instruct"),
    Peer(
        "beam",
        "beam",
        "Beam 1.0",
        Written(_BEAM),
    ),
    Peer("", "cohere_command3", "Command A", "axolotl-command_a_tool_use"),
    Peer("cohere_command4", "cohere_command4", "Command A Plus", "Cohere2MoE"),
    Peer("deepseekv3", "deepseek_v3", "DeepSeek V3, R1", "trl-deepseekv3"),
    Peer("deepseekv31", "deepseek_v31", "DeepSeek V3.1", "deepseek-ai-DeepSeek-V3.1"),
    Peer("deepseekv32", "deepseek_v32", "DeepSeek V3.2", "deepseek-ai-DeepSeek-V3.2"),
    Peer("deepseekv4", "deepseek_v4", "DeepSeek V4", "deepseek-ai-DeepSeek-V4"),
    Peer(
        "deepseekv41",
        "deepseek_v41",
        "DeepSeek V4.1",
        Written(
            written(
                '<｜DSML｜ invoke name="',
                '">\n',
                _dsml("｜DSML｜ "),
                "</｜DSML｜ invoke>\n",
                before="\n\n<｜DSML｜ calls>\n",
                behind="</｜DSML｜ calls>",
                turn=("<｜{role}｜>", "<｜end▁of▁sentence｜>"),
            )
        ),
    ),
    Peer(
        "dots",
        "dots",
        "dots 3",
        Written(
            written(
                '<invoke name="',
                '">\n',
                each_argument('<parameter name="KEY">', "</parameter>\n"),
                "</invoke>\n",
                before="<dots_function_call>\n",
                behind="</dots_function_call>",
            )
        ),
    ),
    Peer(
        "",
        "ernie45",
        "ERNIE 4.5 Thinking",
        Written(
            written(
                "<tool_call>\n" + _NAMED,
                _ARGUMENTS,
                JSON,
                "}\n</tool_call>\n",
                turn=("<|{role}|>", "</s>"),
            ).replace("{{ m.content or '' }}", _RESPONSE)
        ),
    ),
    Peer(
        "",
        "functiongemma",
        "functiongemma",
        Written(
            written(
                "<start_function_call>call:",
                "{",
                _GEMMA,
                "}<end_function_call>",
                turn=("<start_of_turn>{role}\n", "<end_of_turn>\n"),
            )
        ),
    ),
    Peer("gemma4", "gemma4", "Gemma 4", "trl-gemma4_v5"),
    Peer("gigachat3", "gigachat3", "GigaChat 3.1", "GigaChat3.1-10B-A1.8B"),
    Peer(
        "gigachat35",
        "",
        "GigaChat 3.5",
        Written(
            written(
                '<｜GCML｜invoke name="',
                '">\n',
                _dsml("｜GCML｜"),
                "</｜GCML｜invoke>\n",
                before="<｜GCML｜tool_calls>\n",
                behind="</｜GCML｜tool_calls>",
                turn=("{role}<|role_sep|>\n", "<|message_sep|>\n\n"),
            )
        ),
    ),
    Peer("glm glm45", "glm45", "GLM 4.5, 4.6", "trl-glm4moe"),
    Peer("glm47", "glm47", "GLM 4.7", "GLM-4.7-Flash"),
    Peer("gpt-oss", "openai", "gpt-oss", "openai-gpt-oss-120b"),
    Peer("", "granite", "Granite 3.3", "ibm-granite-granite-3.3-2B-Instruct"),
    Peer(
        "",
        "granite-20b-fc",
        "Granite 20B Function Calling",
        Written(
            written(
                "<function_call> " + _NAMED,
                _ARGUMENTS,
                JSON,
                "}\n",
                turn=("{role}:\n", "<|endoftext|>"),
            )
        ),
        remark="as vLLM's own template writes calls",
    ),
    Peer("", "granite4", "Granite 4", "ibm-granite-granite-4.0"),
    Peer(
        "hermes qwen qwen25 trinity",
        "hermes qwen3_json",
        "Qwen 3",
        "trl-qwen3",
        remark="calls that Trinity writes inside of a thought are text of the thought",
    ),
    Peer(
        "",
        "hunyuan_a13b",
        "Hunyuan A13B",
        Written(
            written(
                _NAMED,
                _ARGUMENTS,
                JSON,
                "}",
                before="<tool_calls>[",
                between=", ",
                behind="]</tool_calls>",
                turn=("<|{role}|>", "<|eos|>"),
            )
        ),
    ),
    Peer(
        "hunyuan",
        "hy_v3",
        "Hunyuan 3",
        "tencent-Hy3",
        remark="with another suffix than `:opensource`, or none: derived",
    ),
    Peer(
        "",
        "hy_v4",
        "Hunyuan 4",
        Written(
            written(
                "<tool_call:6124c78e>",
                "",
                each_argument(*_hunyuan(":6124c78e")),
                "</tool_call:6124c78e>",
                before="<tool_calls:6124c78e>",
                behind="</tool_calls:6124c78e>",
            )
        ),
    ),
    Peer(
        "inkling",
        "inkling",
        "Inkling",
        Written(
            "",
            special=(
                *("<|message_system|>", "<|message_user|>", "<|message_model|>"),
                *("<|message_tool|>", "<|content_text|>", "<|content_thinking|>"),
                *("<|content_xml|>", "<|content_invoke_tool_json|>", "<|end_message|>"),
                "<|content_model_end_sampling|>",
            ),
        ),
        remark="it has no chat template: the format writes prompts as its makers' program does",
    ),
    Peer(
        "interns1",
        "internlm",
        "InternLM 2.5, Intern-S1",
        Written(
            written(
                "<|action_start|><|plugin|>\n" + _NAMED,
                '", "parameters": ',
                JSON,
                "}<|action_end|>\n",
            )
        ),
    ),
    Peer(
        "iquest_q1",
        "",
        "IQuest Q1",
        Written(written("<iquest_tool_call>", "", each_argument(*_PAIR), "</iquest_tool_call>")),
    ),
    Peer("", "jamba", "Jamba 1.6", "axolotl-jamba"),
    Peer(
        "k2_horizon",
        "k2_horizon",
        "K2 Horizon",
        Written(
            written(
                "<ifm|tool_call>",
                "\n",
                each_argument(
                    "<ifm|arg_key>KEY</ifm|arg_key>\n<ifm|arg_value>", "</ifm|arg_value>\n"
                ),
                "</ifm|tool_call>\n",
                before="<ifm|tool_calls>\n",
                behind="</ifm|tool_calls>",
            ),
            special=("<ifm|tool_calls>", "</ifm|tool_calls>"),
        ),
    ),
    Peer("kimi_k2", "kimi_k2", "Kimi K2", "moonshotai-Kimi-K2"),
    Peer("kimi_k3", "kimi_k3", "Kimi K3", "Kimi-K3"),
    Peer("lfm2", "lfm2", "LFM2, LFM2.5", "trl-lfm2_v2"),
    Peer("ling3", "ling3", "Ling 3.0", "inclusionai-ling-3.0-flash"),
    Peer("llama3", "llama3_json", "Llama 3.1 to 3.3", "meta-llama-Llama-3.1-8B-Instruct"),
    Peer(
        "",
        "llama4_json",
        "Llama 4",
        "axolotl-llama4",
        remark="without the marks that the template writes around a text before calls",
    ),
    Peer(
        "",
        "longcat",
        "LongCat Flash Chat",
        Written(
            written(
                "<longcat_tool_call>\n" + _NAMED,
                _ARGUMENTS,
                JSON,
                "}\n</longcat_tool_call>",
                turn=("{role}:", "</longcat_s>"),
            ),
            special=("<longcat_tool_call>", "</longcat_tool_call>", "</longcat_s>"),
        ),
    ),
    Peer(
        "mimo",
        "mimo",
        "MiMo V2",
        Written(
            written(
                "<tool_call>\n<function=",
                ">\n",
                each_argument("<parameter=KEY>", "</parameter>\n"),
                "</function>\n</tool_call>",
                turn=("<|im_start|>{role}\n", "<|im_end|>"),
            )
        ),
    ),
    Peer("minicpm5", "minicpm5", "MiniCPM 5", "openbmb-MiniCPM5-1B"),
    Peer("minimax-m2", "minimax_m2", "MiniMax M2", "MiniMax-M2"),
    Peer("minimax-m3", "minimax_m3", "MiniMax M3", "MiniMax-M3"),
    Peer("mistral", "mistral", "Ministral 3", "mistralai-Ministral-3-14B-Reasoning-2512"),
    Peer(
        "muse",
        "muse muse_glimmer musespark1x",
        "Muse Glimmer",
        "muse-glimmer",
        remark="Muse Spark's further channels, and its recipients with a dot, are unknown",
    ),
    Peer(
        "",
        "olmo3",
        "Olmo 3 Instruct",
        Written(
            written(
                "",
                "(",
                KEYWORDS,
                ")",
                before="<function_calls>",
                between="\n",
                behind="</function_calls>",
            )
        ),
        remark="the template of Olmo 3 Think shows no tools and no calls: its prompts do",
    ),
    Peer(
        "",
        "phi4_mini_json",
        "Phi-4-mini",
        Written(
            written("", "", "", "", shows_calls=False, turn=("<|{role}|>", "<|end|>")),
            special=("<|tool_call|>", "<|/tool_call|>"),
        ),
        remark="vLLM's parser reads the calls of a template of its own (`functools[...]`)",
    ),
    Peer(
        "",
        "plamo3",
        "PLaMo 3",
        Written(
            written(
                _plamo("begin_tool_request") + _plamo("begin_tool_name"),
                _plamo("end_tool_name")
                + _plamo("begin_tool_arguments")
                + _plamo("constrain")
                + "json<|plamo:msg|>",
                JSON,
                _plamo("end_tool_arguments") + _plamo("end_tool_request"),
                before=_plamo("begin_tool_requests"),
                behind=_plamo("end_tool_requests"),
                turn=("<|plamo:tag|>{role}\n", ""),
            )
        ),
    ),
    Peer("poolside_v1", "poolside_v1", "Laguna XS", "poolside-Laguna-XS-2.1"),
    Peer(
        "pythonic",
        "pythonic llama4_pythonic",
        "Llama 4, ToolACE",
        Written(
            written(
                "",
                "(",
                KEYWORDS,
                ")",
                before="[",
                between=", ",
                behind="]",
                turn=("<|header_start|>{role}<|header_end|>\n\n", "<|eot|>"),
            )
        ),
    ),
    Peer("qwen3_coder nanbeige", "qwen3_coder qwen3_xml step5", "Qwen 3.8", "trl-qwen3_8"),
    Peer(
        "response_template",
        "hf",
        "any with a response template",
        Written(written("<invoke:", ">", JSON, "</invoke>"), described=_DESCRIBED),
    ),
    Peer("", "seed_oss", "Seed-OSS", "ByteDance-Seed-OSS"),
    Peer("spark25", "", "Spark X2.5", "Spark2.5"),
    Peer(
        "step3",
        "step3",
        "Step 3",
        Written(
            written(
                '<｜tool_call_begin>｜>\nfunction<｜tool_sep｜><steptml:invoke name="',
                '">',
                each_argument('<steptml:parameter name="KEY">', "</steptml:parameter>"),
                "</steptml:invoke><｜tool_call_end｜>\n",
                before="<｜tool_calls_begin｜>\n",
                behind="<｜tool_calls_end｜>",
                turn=("<|BOT|>{role}\n", "<|EOT|>"),
            )
        ),
        remark=(
            "the maker's template misspells `<｜tool_call_begin｜>` in past calls; "
            "prompts here do not"
        ),
    ),
    Peer("step3p5", "step3p5", "Step 3.5", "StepFun3.5-Flash"),
    Peer(
        "",
        "xlam",
        "xLAM 2",
        Written(written(_NAMED, _ARGUMENTS, JSON, "}", before="[", between=", ", behind="]")),
    ),
)


def evidence_of(peer: Peer) -> Evidence:
    """Return what detection finds in the checkpoint."""
    if isinstance(peer.shown, str):
        return tokenizer_of(peer.shown).evidence
    with TemporaryDirectory(prefix="peer-parsers-") as folder:
        saved(peer.shown.source, folder, peer.shown.special)
        if peer.shown.described is not None:
            file = Path(folder) / "tokenizer_config.json"
            config = json.loads(file.read_text("utf-8"))
            config["response_template"] = peer.shown.described
            file.write_text(json.dumps(config), "utf-8")
        return HuggingFaceTokenizer(folder).evidence


def _escaped(note: str) -> str:
    return html.escape(note).replace("|", "&#124;")


def row(peer: Peer) -> str:
    """Return the row of a table for these parsers."""
    evidence = evidence_of(peer)
    names = [", ".join(f"`{each}`" for each in of.split()) for of in (peer.sglang, peer.vllm)]
    served = SERVED[evidence.basis]
    if served in ("file", "taught"):
        served = f"{served}: `{evidence.format}`"
    remarks = "; ".join(filter(None, (peer.remark, *map(_escaped, evidence.notes))))
    line = f"| {names[0]} | {names[1]} | {peer.model} | {served} | {remarks} |"
    return line.replace("|  |", "| |")


def table() -> Iterator[str]:
    """Yield the lines of the table in docs/formats.md."""
    yield "| SGLang | vLLM | model | served by | remark |"
    yield "|---|---|---|---|---|"
    for peer in PEERS:
        yield row(peer)


if __name__ == "__main__":
    sys.stdout.writelines(f"{line}\n" for line in table())
