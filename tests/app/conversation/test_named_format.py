"""Instructions that are kept are those that the format writes, and clients share none."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from adapters.formats import JsonRules, OutputSpec, ResponseGrammar, Tool, get_format
from app.conversation.control import ControlText
from app.conversation.named_format import NamedFormat

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}, "<|im_end|>": {}}}
OUTPUT = OutputSpec(response_schema=SCHEMA, response_name="n", response_description="told")
TOOLS = (Tool("look_up", {"type": "object"}),)
#: outputs with instructions of their own, of which none may get those of another one
OUTPUTS = [
    OUTPUT,
    replace(OUTPUT, response_schema={**SCHEMA, "title": "x"}),
    replace(OUTPUT, response_schema={**SCHEMA, "properties": {"<|im_end|>": {}, "a": {}}}),
    replace(OUTPUT, response_schema={"const": 1}),
    replace(OUTPUT, response_schema={"const": True}),
    replace(OUTPUT, response_schema={"const": 1.0}),
    replace(OUTPUT, response_schema=True),
    replace(OUTPUT, response_name="other"),
    replace(OUTPUT, response_description="other"),
    replace(OUTPUT, schema_style="json_schema"),
    replace(OUTPUT, instructions="Be brief."),
    replace(OUTPUT, json_rules=JsonRules(max_items=3)),
    replace(OUTPUT, effort="high"),
    replace(OUTPUT, tools=TOOLS),
    replace(OUTPUT, tools=TOOLS, tool_choice="required"),
    replace(OUTPUT, response_schema=None, schema_in_prompt=False, instructions="Be brief."),
]


class Watched(NamedFormat):
    """Counts what is written."""

    def __init__(self, name: str = "hermes") -> None:
        super().__init__(get_format(name), ControlText(None, ["<|im_start|>", "<|im_end|>"]))
        self.written = Counter[str]()

    def _output(self, output: OutputSpec) -> OutputSpec:
        self.written["outputs"] += 1
        return super()._output(output)


@pytest.mark.parametrize("wire", ["hermes", "harmony", "llama3_json", "deepseek_v31", "command_r"])
def test_kept_instructions_are_those_that_the_format_writes(wire: str) -> None:
    kept, fresh = Watched(wire), Watched(wire)
    for _ in range(2):
        for output in OUTPUTS:
            # a template shows tools, or the instructions do
            for tools in ((), output.tools):
                written = fresh.instructions(tools, output)
                assert kept.instructions(tools, output, "me") == written
                assert kept.instructions(tools, output, "me") == written
    assert kept.written["outputs"] < fresh.written["outputs"] * 2


@pytest.mark.parametrize(
    ("client", "again", "is_kept"),
    [("me", "me", True), ("me", "you", False), (None, None, False), (None, "me", False)],
)
def test_a_client_gets_only_its_own_instructions(client: Any, again: Any, is_kept: bool) -> None:
    watched = Watched()
    watched.instructions((), OUTPUT, client)
    watched.written.clear()
    watched.instructions((), OUTPUT, again)
    assert watched.written["outputs"] == (0 if is_kept else 1)


def test_instructions_beside_a_grammar_are_not_kept() -> None:
    watched, grammar = Watched(), ResponseGrammar("choice", ["a"], "guided_choice")
    output = OutputSpec(response_grammar=grammar, instructions="Be brief.")
    first, second = (watched.instructions((), output, "me") for _ in range(2))
    assert first == second
    assert watched.written["outputs"] == 2
