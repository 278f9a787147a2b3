"""A template's own system message is kept for a client's next requests, if it depends on nothing
else than their tools and variables.
"""

from pathlib import Path
from typing import Any

import pytest

from adapters.formats import OutputSpec, Tool
from app.conversation.template_prompt import TemplatePrompt
from app.conversation.tokenizer import HuggingFaceTokenizer
from tests.app.small_tokenizer import TEMPLATE, folder

OWN = (
    "{% if messages[0].role != 'system' %}<|im_start|>system\n"
    "You are {{ [persona or ''] | tojson }}{{ tools | tojson }}.<|im_end|>\n{% endif %}"
)
OUTPUT = OutputSpec(response_schema={"type": "object"})
USER = {"role": "user", "content": "Hello"}
DEEP: dict[str, Any] = {}
for _ in range(3000):
    DEEP = {"a": DEEP}
#: tools and variables of requests, of which none may get the message of another one
ASKED: list[tuple[tuple[Tool, ...], dict[str, Any]]] = [
    ((), {}),
    ((), {"persona": 1}),
    ((), {"persona": True}),
    ((), {"persona": 1.0}),
    ((), {"persona": "1"}),
    ((), {"persona": [1]}),
    ((Tool("a", {"x": 1, "y": 2}),), {"persona": 1}),
    ((Tool("a", {"y": 2, "x": 1}),), {"persona": 1}),
    ((Tool("a", {"x": 1, "y": 2}, "about"),), {"persona": 1}),
]


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """Grows with each own message that is found by rendering."""
    calls, original = list[None](), TemplatePrompt._shown_instructions

    def counted(self: TemplatePrompt) -> str:
        calls.append(None)
        return original(self)

    monkeypatch.setattr(TemplatePrompt, "_shown_instructions", counted)
    return calls


def tokenizer_of(path: Path, template: str = OWN + TEMPLATE) -> HuggingFaceTokenizer:
    return HuggingFaceTokenizer(folder(path, template))


def test_equal_requests_of_a_client_get_what_others_find(tmp_path: Path, shown: list[None]) -> None:
    tokenizer = tokenizer_of(tmp_path)
    wanted = [tokenizer.render([USER], tools, OUTPUT, given) for tools, given in ASKED]
    assert len({tokenizer.decode(each.prompt) for each in wanted}) == len(ASKED)
    for is_known in (False, True):
        shown.clear()
        got = [tokenizer.render([USER], tools, OUTPUT, given, "me") for tools, given in ASKED]
        assert got == wanted
        assert len(shown) == (0 if is_known else len(ASKED))


@pytest.mark.parametrize(
    ("template", "again", "is_kept"),
    [
        (OWN + TEMPLATE, "me", True),
        (OWN + TEMPLATE, "you", False),
        (OWN + TEMPLATE, None, False),
        ("{% set now = strftime_now('%H:%M') %}" + OWN + TEMPLATE, "me", False),
        ("{% set some = [1, 2] | random %}" + OWN + TEMPLATE, "me", False),
    ],
    ids=["same client", "another client", "no client", "clock", "chance"],
)
def test_only_a_client_that_has_it_is_spared_a_steady_message(
    tmp_path: Path, shown: list[None], template: str, again: str | None, is_kept: bool
) -> None:
    tokenizer = tokenizer_of(tmp_path, template)
    tokenizer.render([USER], (), OUTPUT, {}, "me")
    tokenizer.render([USER], (), OUTPUT, {}, again)
    assert len(shown) == (1 if is_kept else 2)


def test_nothing_is_kept_of_tools_nested_too_deeply(tmp_path: Path, shown: list[None]) -> None:
    tokenizer = tokenizer_of(tmp_path, OWN.replace(" | tojson", " | length") + TEMPLATE)
    for _ in range(2):
        tokenizer.render([USER], (Tool("a", DEEP),), OUTPUT, {}, "me")
    assert len(shown) == 2
