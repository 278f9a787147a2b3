"""Models whose calls no format writes: the gateway makes a format of their response template or of
their chat template, and serves them as it serves others.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoTokenizer

from app.conversation.derivation.trial import Trial
from app.conversation.tokenizer import HuggingFaceTokenizer
from tests.app.conversation.chat_templates import saved
from tests.app.conversation.test_derivation import ARGUMENTS, CALLS, FRAMES, template_of
from tests.app.gateway import Gateway

SOURCE = template_of(FRAMES["chatml"], CALLS["name in a tag"], ARGUMENTS["elements"])
#: describes the calls of SOURCE
DESCRIBED = {
    "fields": {
        "content": {"close": "<|im_end|>"},
        "tool_calls": {
            "open_pattern": "<invoke:(?P<name>[^>]+)>",
            "close": "</invoke>",
            "repeats": True,
            "content": "xml-inline",
            "content_args": {
                "tag_pattern": '<arg name="(?P<key>[^"]+)">(?P<value>.*?)</arg>',
            },
            "transform": {
                "type": "function",
                "function": {"name": "{name}", "arguments": "{content}"},
            },
        },
    },
}
PARAMETERS = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "pattern": "^[a-z]{1,6}$"},
        "days": {"type": "integer", "minimum": 0, "maximum": 9},
    },
    "required": ["city", "days"],
    "additionalProperties": False,
}
TOOLS = [{"type": "function", "function": {"name": "look_up", "parameters": PARAMETERS}}]


def model(path: Path, response_template: Any = None, source: str = SOURCE) -> str:
    """The folder of a model with this response template."""
    folder = saved(source, str(path))
    if response_template is not None:
        file = path / "tokenizer_config.json"
        config = json.loads(file.read_text("utf-8"))
        file.write_text(json.dumps(config | {"response_template": response_template}), "utf-8")
        assert AutoTokenizer.from_pretrained(folder).response_template == response_template
    return folder


def test_a_response_template_that_describes_the_rendered_calls(tmp_path: Path) -> None:
    evidence = HuggingFaceTokenizer(model(tmp_path, DESCRIBED)).evidence
    assert evidence.basis == "response_template"
    assert evidence.family is not None
    assert (evidence.family.begin, evidence.family.end) == ("<invoke:{name}>", "</invoke>")


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (["not", "an", "object"], "must be an object"),
        ({"fields": {}}, "fields: must be an object of 1 to"),
        (
            {"fields": {"tool_calls": {"open": "<call>", "close": "</call>", "content": "json"}}},
            "fields.tool_calls",
        ),
    ],
)
def test_the_chat_template_decides_if_the_response_template_says_something_else(
    other: Any, reason: str, tmp_path: Path
) -> None:
    evidence = HuggingFaceTokenizer(model(tmp_path, other)).evidence
    assert evidence.basis == "derived"
    (note,) = evidence.notes
    assert note.startswith("the response template is not used: ") and reason in note


def test_a_known_format_stays_if_it_writes_the_calls(tmp_path: Path) -> None:
    hermes = template_of(
        FRAMES["chatml"],
        ("", '<tool_call>\n{"name": "', '", "arguments": ', "}\n</tool_call>", "\n", ""),
        ARGUMENTS["json"],
    )
    evidence = HuggingFaceTokenizer(model(tmp_path, DESCRIBED, hermes)).evidence
    assert (evidence.format, evidence.basis) == ("hermes", "call")


@pytest.mark.parametrize("described", [None, DESCRIBED], ids=["derived", "response_template"])
def test_a_gateway_serves_a_made_format(described: Any, tmp_path: Path) -> None:
    """A call is valid, is replayed in the syntax of the template, and the model is named."""
    with Gateway(tokenizer=model(tmp_path, described), model_name="m") as gateway:
        shown = gateway.get("/v1/models/m").json()
        basis = "derived" if described is None else "response_template"
        assert shown["format"] == shown["format_evidence"]["basis"] == basis
        (warning,) = [line for line in gateway.lines() if "one was made of" in line["event"]]
        assert warning["event"].endswith("response template" if described else "chat template")
        messages: list[Mapping[str, Any]] = [{"role": "user", "content": "hi"}]
        body = {"model": "m", "tools": TOOLS, "tool_choice": "required", "seed": 4}
        for _ in range(2):
            answer = gateway.post(body | {"messages": messages})
            assert answer.status_code == 200, answer.text
            message = answer.json()["choices"][0]["message"]
            for call in message["tool_calls"]:
                arguments = json.loads(call["function"]["arguments"])
                assert arguments.keys() == {"city", "days"}
                result = {"role": "tool", "tool_call_id": call["id"], "content": "rain"}
                messages += [result]
            messages.insert(-len(message["tool_calls"]), message)
        asked = {"model": "m", "messages": messages}
        ids = gateway.post(asked, path="/tokenize").json()["tokens"]
        prompt = gateway.post({"model": "m", "tokens": ids}, path="/detokenize").json()["prompt"]
        assert "<invoke:look_up>" in prompt
        assert f'<arg name="days">{arguments["days"]}</arg>' in prompt


@pytest.mark.parametrize("is_read", [True, False])
def test_marks_of_thoughts_are_used_if_the_trial_reads_them(
    is_read: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = "{% if m.reasoning_content %}<muse>{{ m.reasoning_content }}</muse>{% endif %}"
    source = SOURCE.replace("{{ m.content or '' }}", written + "{{ m.content or '' }}")
    if not is_read:
        monkeypatch.setattr(Trial, "reads_thoughts", lambda _: False)
    family = HuggingFaceTokenizer(model(tmp_path, source=source)).evidence.family
    assert family is not None
    assert (family.thinking is not None) == is_read
