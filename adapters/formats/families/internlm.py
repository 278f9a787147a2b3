"""InternLM 2, 2.5 and 3: ChatML, one call an answer, as JSON between tokens.

    Let me see.<|action_start|><|plugin|>\n{"name": "f", "parameters": {...}}<|action_end|>

<|action_start|> alone opens a call: no other action follows it, so code for the interpreter is
never written.

Checked against the parsers of SGLang 0.5.23 and vLLM 0.33: the chat templates of internlm2-chat-7b
and, at 790e9def, internlm3-8b-instruct show no calls.
"""

from dataclasses import replace

from ..tags import TagFamily
from .hermes import CHATML

INTERNLM = TagFamily(
    name="internlm",
    begin='<|action_start|><|plugin|>\n{"name": "{name}", "parameters": ',
    end="}<|action_end|>",
    trigger="<|action_start|>",
    separator="",
    is_parallel=False,
    stop_texts=("<|im_end|>",),
    prompt_tokens=("<|im_start|>", "<|im_end|>"),
    marks=("<|action_start|>", "<|plugin|>"),
    # the system message shows tools in words: a Chat has no message of its own for them
    chat=replace(
        CHATML,
        roles={"tool": "environment name=<|plugin|>"},
        before_call="",
        result="{text}",
        results_together=False,
    ),
)
