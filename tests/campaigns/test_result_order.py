"""A slice of the campaign of results in any order, and what it finds."""

import pytest

from tests.app.conversation.chat_templates import FETCH, TEMPLATES
from tests.campaigns.result_order import complaint, run

#: templates without ids of calls, and formats
SLICE = [
    "Qwen-Qwen3-0.6B",
    "Qwen3-Coder",
    "GLM-4.6",
    "MiniMax-M2",
    "format hermes",
    "format harmony",
]


@pytest.mark.skipif(not TEMPLATES, reason=FETCH)
def test_each_result_stands_beside_its_call() -> None:
    report = run(20, 1, SLICE)
    assert report.findings == []
    assert report.counts["prompts"] > 100


def test_a_swapped_result_is_found() -> None:
    wanted = ["result0end", "result1end"]
    assert complaint("result0end result1end", wanted) == ""
    assert complaint("result1end result0end", wanted) != ""
    assert complaint("result0end", wanted) != ""
