"""The white space of JSON in answers: the model's own, the setting's, or the request's."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from adapters.formats import COMPACT, NAMED_LAYOUTS, SPACED, JsonLayout, JsonRules, OutputSpec
from app.common_form import common_chat
from app.constraints.grammar_backend import BACKENDS
from app.constraints.refusals import BeyondBackend
from app.constraints.requested_output import requested_output
from app.errors import ApiError
from app.generation import ShownAnswers
from app.settings import ModelSettings
from tests.app.bodies import parse_request
from tests.app.examples import body, tool
from tests.app.gateway import OPERATOR, Gateway

NUMBERS = {
    "type": "object",
    "properties": {
        "a": {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2},
        "b": {"enum": [1, 2]},
    },
    "required": ["a", "b"],
    "additionalProperties": False,
}
OWN = JsonLayout(4, (",", ": "), 2)
RULES = JsonRules(layout=OWN, element_space=True)
FORMAT = {"type": "json_schema", "json_schema": {"name": "n", "schema": NUMBERS, "strict": True}}


def asked(setting: str = "template", **fields: Any) -> OutputSpec:
    request = common_chat(parse_request(json.dumps(body(**fields)).encode()))
    return requested_output(request, ModelSettings(json_layout=setting), ShownAnswers(RULES))


def layout(**fields: Any) -> JsonLayout | None:
    return asked(**fields).json_rules.layout


@pytest.mark.parametrize("name", [None, "template", *NAMED_LAYOUTS])
@pytest.mark.parametrize("setting", ["template", *NAMED_LAYOUTS])
def test_a_request_decides_before_the_setting(setting: str, name: str | None) -> None:
    fields = {} if name is None else {"json_layout": name}
    chosen = name or setting
    expected = OWN if chosen == "template" else NAMED_LAYOUTS[chosen]
    output = asked(setting, **fields)
    assert (output.json_rules.layout, output.json_rules.element_space) == (expected, True)
    is_fixed = name in ("compact", "spaced", "indented")
    assert output.layout_param == ("json_layout" if is_fixed else None)


#: patterns of white space as clients of vLLM, SGLang and Outlines send them
PATTERNS = {
    "": COMPACT,
    r"\n?": COMPACT,
    r"[\n\t]*": COMPACT,
    " ?": SPACED,
    "[ ]?": SPACED,
    "[ ]*": SPACED,
    " *": SPACED,
    " {0,1}": SPACED,
    "[ \n]?": SPACED,
    r"[\n ]?": SPACED,
    r"\s?": SPACED,
    r"[ \n\t]{0,5}": SPACED,
    r"[\n ]*": None,
    r"[ \n\t]*": None,
    "[\n\t ]*": None,
    r"[ \t\n\r]*": None,
    r"\s*": None,
    r"[\s]*": None,
}


@pytest.mark.parametrize(("pattern", "expected"), PATTERNS.items())
def test_a_pattern_of_white_space_chooses_a_layout_that_it_allows(
    pattern: str, expected: JsonLayout | None
) -> None:
    new = {"json": NUMBERS, "whitespace_pattern": pattern}
    assert layout(structured_outputs=new) == expected
    assert layout(guided_json=NUMBERS, guided_whitespace_pattern=pattern) == expected
    for blank in re.findall(r"(?<=[,:])\s*", expected.written({"a": [1, 2]}) if expected else ""):
        assert re.fullmatch(pattern, blank)


def test_no_white_space_at_all_is_compact() -> None:
    on, off = ({"json": NUMBERS, "disable_any_whitespace": value} for value in (True, False))
    assert layout(structured_outputs=on) == COMPACT
    assert layout(structured_outputs=off) == OWN
    assert layout(structured_outputs={"json": NUMBERS, "whitespace_pattern": None}) == OWN


TAG = {"type": "structural_tag", "format": {"type": "json_schema", "json_schema": NUMBERS}}
#: fields that are refused: param, and what the message says
MISTAKES: list[tuple[dict[str, Any], str, str]] = [
    ({"structured_outputs": {"json": NUMBERS, "whitespace_pattern": " "}},
     "structured_outputs.whitespace_pattern", "such as '[ ]?'"),
    ({"guided_json": NUMBERS, "guided_whitespace_pattern": "( |\n)+"},
     "guided_whitespace_pattern", "got '( |"),
    ({"guided_json": NUMBERS, "guided_whitespace_pattern": "[ a]?"},
     "guided_whitespace_pattern", "white space with a quantifier"),
    ({"guided_json": NUMBERS, "guided_whitespace_pattern": " {0,0}"},
     "guided_whitespace_pattern", "got ' {0,0}'"),
    ({"structured_outputs": {"whitespace_pattern": ""}}, "structured_outputs", "one constraint"),
    ({"structured_outputs": {"json": NUMBERS, "disable_any_whitespace": True,
                             "whitespace_pattern": r"\s*"}},
     "structured_outputs.disable_any_whitespace", "compact and flexible"),
    ({"json_layout": "spaced", "guided_json": NUMBERS, "guided_whitespace_pattern": ""},
     "json_layout", "'json_layout' and 'guided_whitespace_pattern'"),
    ({"structured_outputs": {"structural_tag": TAG, "disable_any_whitespace": True}},
     "structured_outputs.disable_any_whitespace", "'structured_outputs.structural_tag'"),
    ({"response_format": TAG, "json_layout": "compact"}, "json_layout", "'response_format'"),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "param", "message"), MISTAKES)
def test_mistakes_name_the_field(fields: dict[str, Any], param: str, message: str) -> None:
    with pytest.raises(ApiError) as caught:
        asked(**fields)
    assert (caught.value.status, caught.value.param) == (400, param)
    assert message in caught.value.message


def test_other_engines_refuse_a_layout_that_a_request_relies_on() -> None:
    for name in ("xgrammar", "llguidance"):
        for chosen in ("template", "flexible"):
            BACKENDS[name].check(asked(json_layout=chosen))
        with pytest.raises(BeyondBackend) as caught:
            BACKENDS[name].check(asked(json_layout="compact"))
        assert caught.value.param == "json_layout"
        # REGRESSION: they allow also white space that no pattern of this kind allows
        with pytest.raises(BeyondBackend) as caught:
            BACKENDS[name].check(asked(guided_json=NUMBERS, guided_whitespace_pattern=r"[\n ]*"))
        assert caught.value.param == "guided_whitespace_pattern"
    BACKENDS["switchyard"].check(asked(json_layout="compact"))


# -- answers ---------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def gateway() -> Iterator[Gateway]:
    with Gateway(admin_keys=OPERATOR) as running:
        yield running


def content(gateway: Gateway, **fields: Any) -> str:
    answer = gateway.post(body(**fields))
    assert answer.status_code == 200, answer.text
    text: str = answer.json()["choices"][0]["message"]["content"]
    return text


@pytest.mark.parametrize("name", [None, "spaced", "compact", "indented"])
def test_answers_have_the_layout(gateway: Gateway, name: str | None) -> None:
    fields = {} if name is None else {"json_layout": name}
    expected = NAMED_LAYOUTS[name or "spaced"]
    assert expected is not None
    text = content(gateway, response_format=FORMAT, **fields)
    assert text == expected.written(json.loads(text))
    answer = gateway.post(body(tools=[tool("f", NUMBERS)], tool_choice="required", **fields))
    for call in answer.json()["choices"][0]["message"]["tool_calls"]:
        text = call["function"]["arguments"]
        assert text == expected.written(json.loads(text))


def test_every_api_has_the_field(gateway: Gateway) -> None:
    asked = {"model": "noise", "json_layout": "compact"}
    schema = {"type": "json_schema", "schema": NUMBERS}
    response = gateway.post(
        {**asked, "input": "hi", "text": {"format": {"name": "n", **schema}}}, path="/v1/responses"
    ).json()
    message = gateway.post(
        {**asked, "max_tokens": 99, "messages": [{"role": "user", "content": "hi"}],
         "output_config": {"format": schema}},
        path="/v1/messages",
    ).json()  # fmt: skip
    completion = gateway.post(
        {**asked, "prompt": "hi", "max_tokens": 99, "response_format": FORMAT},
        path="/v1/completions",
    ).json()
    texts = [
        response["output"][-1]["content"][0]["text"],
        message["content"][-1]["text"],
        completion["choices"][0]["text"],
    ]
    for text in texts:
        assert text == COMPACT.written(json.loads(text))


@pytest.mark.parametrize("name", [None, "compact"])
def test_a_warm_up_an_explanation_and_a_chat_have_one_grammar(
    gateway: Gateway, name: str | None
) -> None:
    """REGRESSION: another white space would have compiled the grammar again."""
    fields = {} if name is None else {"json_layout": name}
    headers = {"authorization": f"Bearer {OPERATOR}"}
    asked = {"tools": [tool(f"warm_{name}", NUMBERS)], **fields}

    def compiles() -> int:
        answer = gateway.get("/v1/cache", headers=headers).json()
        made: int = answer["compiles"]["made"]
        return made

    warmed = gateway.post({"requests": [asked]}, path="/v1/grammars", headers=headers)
    assert warmed.status_code == 200 and warmed.json()["totals"]["compiled"] == 1
    before = compiles()
    assert gateway.post(body(**asked, tool_choice="required")).status_code == 200
    assert compiles() == before
    # which compiles a copy to draw it
    explained = gateway.post(
        {**asked, "tool_choice": "required"}, path="/v1/grammars/explain", headers=headers
    ).json()
    expected = '"separators":[",",":"]' if name else '"separators":[", ",": "]'
    assert expected in explained["grammar"]["spec"]
