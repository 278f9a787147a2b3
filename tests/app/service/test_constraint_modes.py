"""The three constraint modes: what the worker gets, what the client sees, what is counted."""

import json
from typing import Any

import pytest

from app.errors import ApiError
from tests.app.examples import LIGHT, json_schema, tool
from tests.app.service.scripted import Service, script

CALL = '<tool_call>\n{"name": "f", "arguments": %s}\n</tool_call>'
TOOLS = [tool("f", LIGHT)]
#: enforcing closes it
OPEN = {"type": "object", "properties": {"on": {"type": "boolean"}}}
BAD_SCHEMA = {"type": "object", "properties": {"a": {"type": "strin"}}}


def divergences(service: Service) -> dict[str, float]:
    return {
        sample.labels["place"]: sample.value
        for family in service.metrics.registry.collect()
        for sample in family.samples
        if sample.name == "switchyard_shadow_divergences_total"
    }


@pytest.mark.parametrize("mode", ["shadow", "off"])
async def test_without_enforcement_the_worker_gets_no_grammar_and_the_client_is_told(mode: str):
    service = Service(script(CALL % '{"on": true}'), constraints=mode)
    answer = await service.complete_with_headers(tools=TOOLS, tool_choice="required")
    (asked,) = service.worker.asked
    assert asked.spec is None
    assert answer.headers == {
        "x-switchyard-backend": "none",
        "x-switchyard-constraints": mode,
    }
    (call,) = answer.body["choices"][0]["message"]["tool_calls"]
    assert call["function"] == {"name": "f", "arguments": '{"on": true}'}
    assert answer.body["choices"][0]["finish_reason"] == "tool_calls"


async def test_enforced_answers_have_no_header_of_the_mode():
    service = Service(script(CALL % '{"on": true}'))
    answer = await service.complete_with_headers(tools=TOOLS)
    assert answer.headers == {"x-switchyard-backend": "switchyard"}
    assert service.worker.asked[0].spec is not None


#: (what, answer, request, the divergence)
DIVERGENCES: list[tuple[str, str, dict[str, Any], str | None]] = [
    ("fits", CALL % '{"on": true}', {"tools": TOOLS}, None),
    ("text", "hello", {"tools": TOOLS}, None),
    ("type", CALL % '{"on": 1}', {"tools": TOOLS}, "arguments"),
    ("other name", CALL % '{"off": true}', {"tools": TOOLS}, "arguments"),
    ("missing name", CALL % "{}", {"tools": TOOLS}, "arguments"),
    ("unknown tool", CALL.replace("f", "g", 1) % "{}", {"tools": TOOLS}, "call"),
    ("no call", "hello", {"tools": TOOLS, "tool_choice": "required"}, "marks"),
    ("value", '{"on": 1}', {"response_format": json_schema(LIGHT)}, "value"),
    ("an open object", '{"on": true, "x": 1}', {"response_format": json_schema(OPEN)}, None),
    ("too early", '{"on": tru', {"response_format": json_schema(LIGHT)}, "end"),
]


@pytest.mark.parametrize(
    ("text", "asked", "found"),
    [row[1:] for row in DIVERGENCES],
    ids=[row[0] for row in DIVERGENCES],
)
async def test_a_shadow_counts_where_an_answer_leaves_its_grammar(
    text: str, asked: dict[str, Any], found: str | None
):
    service = Service(script(text), constraints="shadow")
    await service.complete(**asked)
    assert divergences(service) == ({} if found is None else {found: 1.0})
    assert service.count("shadow_requests_total", model="noise", outcome="compiled") == 1
    assert service.count("shadow_answers_total", model="noise") == 1
    lines = [json.loads(line) for line in service.log.getvalue().splitlines()]
    assert [line["place"] for line in lines] == ([] if found is None else [found])
    assert all(line.keys() == {"event", "level", "timestamp", "place", "token"} for line in lines)


async def test_an_answer_cut_by_its_limit_does_not_diverge():
    """Enforcing would have cut it, too."""
    service = Service(script('{"on": tr', finish="length"), constraints="shadow")
    answer = await service.complete(response_format=json_schema(LIGHT))
    assert answer["choices"][0]["message"]["content"] == '{"on": tr'
    assert divergences(service) == {}


async def test_a_request_that_enforcing_would_refuse_is_answered_and_counted():
    service = Service(script("hello"), constraints="shadow")
    answer = await service.complete(response_format=json_schema(BAD_SCHEMA))
    assert answer["choices"][0]["message"]["content"] == "hello"
    assert service.count("shadow_requests_total", model="noise", outcome="refused") == 1
    assert service.count("shadow_refused_schemas_total", model="noise", keyword="invalid") == 1
    assert service.count("refused_schemas_total", keyword="invalid") == 0
    assert "strin" not in service.log.getvalue()


async def test_off_compiles_no_grammar_of_the_request_and_counts_nothing():
    service = Service(script("hello"), constraints="off")
    answer = await service.complete(response_format=json_schema(BAD_SCHEMA))
    assert answer["choices"][0]["message"]["content"] == "hello"
    assert service.count("shadow_requests_total", model="noise", outcome="refused") == 0
    assert service.log.getvalue() == ""


GRAMMAR = {"structured_outputs": {"regex": "[0-9]+"}}
#: (request, the field that the error names)
RELYING: list[tuple[dict[str, Any], str]] = [
    ({"response_format": json_schema(LIGHT, strict=True)}, "response_format"),
    ({"tools": [tool("f", LIGHT, strict=True)]}, "tools[0].function.strict"),
    ({"tools": [tool("e", LIGHT), tool("f", LIGHT, strict=True)]}, "tools[1].function.strict"),
    (GRAMMAR, "structured_outputs.regex"),
]


@pytest.mark.parametrize("mode", ["shadow", "off"])
@pytest.mark.parametrize(("asked", "param"), RELYING)
async def test_strict_is_never_silently_weaker(mode: str, asked: dict[str, Any], param: str):
    """It is refused, unless the operator allows the weaker answer, which the header names."""
    service = Service(script("7"), constraints=mode)
    with pytest.raises(ApiError) as error:
        await service.complete(**asked)
    assert (error.value.status, error.value.code) == (400, "strict_not_enforced")
    assert error.value.param == param
    assert service.worker.asked == []
    allowed = Service(script("7"), constraints=mode, unenforced_strict="answer")
    answer = await allowed.complete_with_headers(**asked)
    assert answer.headers["x-switchyard-constraints"] == mode


async def test_tools_that_may_not_be_called_do_not_rely_on_strict():
    service = Service(script("hello"), constraints="off")
    tools = [tool("f", LIGHT, strict=True)]
    answer = await service.complete(tools=tools, tool_choice="none")
    assert answer["choices"][0]["message"]["content"] == "hello"


async def test_a_change_of_mode_takes_effect_for_new_requests():
    service = Service(script("hello"))
    for mode, spec in (("enforce", False), ("off", True), ("shadow", True), ("enforce", False)):
        service.switch.mode = mode  # type: ignore[assignment]
        await service.complete(tools=TOOLS)
        assert (service.worker.asked[-1].spec is None) is spec


@pytest.mark.parametrize("mode", ["shadow", "off"])
async def test_streams_send_whole_calls_and_all_content(mode: str):
    text = "so " + CALL % '{"on": 5}' + CALL % "{" + "tail"
    service = Service(script(text, size=2), constraints=mode)
    events = await service.stream(tools=TOOLS)
    deltas = [event["choices"][0]["delta"] for event in events[:-1] if event["choices"]]
    content = "".join(delta.get("content") or "" for delta in deltas)
    calls = [call["function"] for delta in deltas for call in delta.get("tool_calls", ())]
    assert content == "so " + CALL % "{" + "tail"
    assert "".join(call.get("arguments", "") for call in calls) == '{"on": 5}'
    assert [call["name"] for call in calls if call.get("name")] == ["f"]


async def test_stop_strings_end_answers_that_nothing_constrains():
    """The text in place of a JSON value is content, in which stop strings count."""
    service = Service(script("one END two"), constraints="off")
    answer = await service.complete(response_format=json_schema(LIGHT), stop=["END"])
    assert answer["choices"][0]["message"]["content"] == "one "
    assert answer["choices"][0]["finish_reason"] == "stop"
