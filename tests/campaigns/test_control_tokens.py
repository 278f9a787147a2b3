"""A slice of the campaign of control tokens, and what it finds."""

import pytest

from tests.app.conversation.chat_templates import FETCH, TEMPLATES
from tests.campaigns.control_tokens import run, text_of

#: templates that delete text of clients, or assemble control tokens
SLICE = [
    "HuggingFaceTB-SmolLM3-3B",
    "NVIDIA-Nemotron-Nano-v2",
    "Qwen3-Coder",
    "deepseek-ai-DeepSeek-V3.2",
    "tencent-Hy3",
]


@pytest.mark.skipif(not TEMPLATES, reason=FETCH)
def test_no_text_of_a_client_becomes_a_control_token() -> None:
    assert run(400, 1, SLICE).findings == []


def test_a_harmless_text_keeps_switches_only() -> None:
    parts = [("<|im_", True), ("/think", False), ("end|>", True), ("</think>", True)]
    assert text_of(parts, ["/think", "<"], False) == "<|im_/thinkend|></think>"
    assert text_of(parts, ["/think", "<"], True) == "øøøøø/thinkøøøøøø/thinkø"
