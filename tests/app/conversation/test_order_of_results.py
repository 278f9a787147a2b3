"""Results of parallel calls in the order of the calls, in the prompts of all templates.

Most templates show no ids, so that the order alone tells which result is whose.
"""

import re
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from adapters.formats import OutputSpec, Tool
from app.conversation import paired
from app.conversation.tokenizer import HuggingFaceTokenizer
from tests.app.conversation.chat_templates import FETCH, TEMPLATES, tokenizer_of
from tests.app.small_tokenizer import INVENTED, folder

TOOL = Tool("look_up", {"type": "object", "properties": {"n": {"type": "integer"}}})
NUMBERS = (0, 1, 2)


def conversation(order: tuple[int, ...]) -> list[dict[str, Any]]:
    """Two rounds of three parallel calls; the results come back in this order."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "q"}]
    for turn in "ab":
        calls = [
            {
                "id": f"call_{turn}{number}",
                "type": "function",
                "function": {"name": "look_up", "arguments": f'{{"n": {number}}}'},
            }
            for number in NUMBERS
        ]
        messages.append({"role": "assistant", "content": None, "tool_calls": calls})
        for number in order:
            name = f"call_{turn}{number}"
            content = f"wordresult{turn}{number}"
            messages.append({"role": "tool", "tool_call_id": name, "content": content})
    return messages


def results_in(tokenizer: HuggingFaceTokenizer, order: tuple[int, ...]) -> list[str]:
    messages = paired(conversation(order)).messages
    prompt = tokenizer.render(messages, (TOOL,), OutputSpec((TOOL,))).prompt
    return re.findall(r"wordresult(\w\d)", tokenizer.decode(prompt))


IN_ORDER = [f"{turn}{number}" for turn in "ab" for number in NUMBERS]


@pytest.mark.share
@pytest.mark.skipif(not TEMPLATES, reason=FETCH)
@pytest.mark.parametrize("name", TEMPLATES)
def test_results_stand_in_the_order_of_their_calls(name: str) -> None:
    tokenizer = tokenizer_of(name)
    prompts = {tuple(results_in(tokenizer, order)) for order in permutations(NUMBERS)}
    assert prompts == {tuple(IN_ORDER)}


def test_results_stand_in_this_order_in_a_taught_syntax_too(tmp_path: Path) -> None:
    tokenizer = HuggingFaceTokenizer(folder(tmp_path, INVENTED))
    assert tokenizer.evidence.basis == "taught"
    for order in permutations(NUMBERS):
        assert results_in(tokenizer, order) == IN_ORDER
