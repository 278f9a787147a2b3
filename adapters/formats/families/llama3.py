"""Llama 3.1, 3.2, 3.3, in the two call syntaxes they were trained on.

    <|python_tag|>{"name": "f", "parameters": {...}}; {"name": "g", "parameters": {...}}<|eom_id|>
    <function=f>{...}</function><|eot_id|>

llama3_json: the leading mark is optional, and either stop token ends the answer.

Neither ``{"name": "`` nor ``<function=`` is a special token, and answers contain them for other
reasons, for instance in a package.json. So a call opens where the name of an offered tool is
complete, including the quote or bracket after it; with another name or spelling it is text.
<|python_tag|> alone opens a call.

Checked against llama.cpp's copies of the chat templates of Llama-3.1-8B-Instruct,
Llama-3.2-3B-Instruct, Llama-3.3-70B-Instruct and functionary-medium-v3.1 (llama-cpp-python 0.3.36).
"""

import json
from dataclasses import replace

from ..output_spec import Tool
from ..spelling import word_name
from ..tags import Chat, TagFamily, tool_object

_CHAT = Chat(
    start="<|begin_of_text|>",
    begin="<|start_header_id|>{role}<|end_header_id|>\n\n",
    end="<|eot_id|>",
    roles={"tool": "ipython"},
    before_call="",
    tells_choice=False,
    tool_separator="\n\n",
)
_STOPS = ("<|eot_id|>", "<|eom_id|>")
_OWN = ("<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>")


def _indented(tool: Tool) -> str:
    return json.dumps(tool_object(tool), ensure_ascii=False, indent=4)


def _use_to(tool: Tool) -> str:
    shown = json.dumps(tool_object(tool)["function"], ensure_ascii=False)
    return f"Use the function '{tool.name}' to '{tool.description}':\n{shown}"


LLAMA3_JSON = TagFamily(
    name="llama3_json",
    begin='{"name": "{name}", "parameters": ',
    end="}",
    trigger='{"name": "{name}"',
    lead="<|python_tag|>",
    separator="; ",
    between="; \n",
    stop_texts=_STOPS,
    prompt_tokens=_OWN,
    marks=("<|start_header_id|>",),
    chat=replace(
        _CHAT,
        tool=_indented,
        tools=(
            "You have access to the following functions. To call a function, please respond with "
            "JSON for a function call. Respond in the format "
            '{"name": function name, "parameters": dictionary of argument name and its value}. '
            "Do not use variables.\n\n{tools}"
        ),
    ),
)

LLAMA3_FUNCTION = TagFamily(
    name="llama3_function",
    begin="<function={name}>",
    end="</function>",
    trigger="<function={name}>",
    separator="",
    between=" \n",
    spell=word_name,
    stop_texts=_STOPS,
    prompt_tokens=_OWN,
    marks=("<function=", "<|start_header_id|>"),
    chat=replace(
        _CHAT,
        tool=_use_to,
        tools=(
            "You have access to the following functions:\n\n{tools}\n\n"
            "If you choose to call a function ONLY reply in the following format with no prefix or "
            "suffix:\n\n"
            '<function=example_function_name>{"example_name": "example_value"}</function>\n\n'
            "Reminder:\n"
            "- Function calls MUST follow the specified format, start with <function= and end with "
            "</function>\n"
            "- Required parameters MUST be specified\n"
            "- Put the entire function call reply on one line"
        ),
    ),
)
