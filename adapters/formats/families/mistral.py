"""Mistral: calls after the token [TOOL_CALLS], in the three forms of its tokenizer versions.

    v3, v7   [TOOL_CALLS][{"name": "f", "arguments": {...}, "id": "abcdef123"}, ...]</s>
    v11      [TOOL_CALLS]f[CALL_ID]abcdef123[ARGS]{...}[TOOL_CALLS]g...</s>
    v13      [TOOL_CALLS]f[ARGS]{...}[TOOL_CALLS]g...</s>

Ids have nine letters and digits. In v3 and v7 the id follows the arguments, when a stream has
already begun the call, so clients get an id of the gateway there.

Checked against llama.cpp's copies of the chat templates of Mistral-Nemo-Instruct-2407,
Mistral-Small-3.2-24B-Instruct-2506, Devstral-Small-2507 (of unsloth) and
Ministral-3-14B-Reasoning-2512 (llama-cpp-python 0.3.36).
"""

from ..spelling import word_name
from ..tags import CallIds, Chat, Section, TagFamily, tool_json

_STOPS = ("</s>",)
_IDS = CallIds(pattern="[a-zA-Z0-9]{9}")
_CHAT = Chat(
    start="<s>",
    begin="[{role}]",
    end="",
    tools="[AVAILABLE_TOOLS][{tools}][/AVAILABLE_TOOLS]",
    tells_choice=False,
    tool=tool_json,
    tool_separator=", ",
    before_call="",
)

MISTRAL_V3 = TagFamily(
    name="mistral_v3",
    section=Section(begin="[TOOL_CALLS][", end="]", trigger="[TOOL_CALLS]"),
    begin='{"name": "{name}", "arguments": ',
    end=', "id": "{id}"}',
    separator=", ",
    ids=_IDS,
    stop_texts=_STOPS,
    marks=("[TOOL_CALLS]",),
    chat=_CHAT,
)

MISTRAL_V11 = TagFamily(
    name="mistral_v11",
    begin="[TOOL_CALLS]{name}[CALL_ID]{id}[ARGS]",
    end="",
    trigger="[TOOL_CALLS]",
    separator="",
    ids=_IDS,
    spell=word_name,
    stop_texts=_STOPS,
    marks=("[TOOL_CALLS]", "[ARGS]", "[CALL_ID]"),
    chat=_CHAT,
)

MISTRAL_V13 = TagFamily(
    name="mistral_v13",
    begin="[TOOL_CALLS]{name}[ARGS]",
    end="",
    trigger="[TOOL_CALLS]",
    separator="",
    spell=word_name,
    stop_texts=_STOPS,
    marks=("[TOOL_CALLS]", "[ARGS]"),
    chat=_CHAT,
)
