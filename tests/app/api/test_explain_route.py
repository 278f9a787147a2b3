"""POST /v1/grammars/explain: the grammar of a request, and where it rejects an output."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.access.key_entry import KeyEntry, digest_of
from app.protocol.explain_request import MAX_NAME, MAX_OUTPUT
from app.service.grammar_outline import MAX_NODES, MAX_RULES
from app.service.output_trace import MAX_TOKENS
from tests.app.examples import TOOLS, body, json_schema
from tests.app.gateway import Gateway, gateway_fixture

PATH = "/v1/grammars/explain"
DAYS = {
    "type": "object",
    "properties": {"days": {"type": "integer", "minimum": 1, "maximum": 14}},
    "required": ["days"],
    "additionalProperties": False,
}
BACK = {"type": "object", "properties": {"a": {"type": "string", "pattern": "(a+)\\1"}}}
STRICT_BACK = {**BACK, "required": ["a"], "additionalProperties": False}
HERE = "/response_format/json_schema/schema"

gateway = gateway_fixture(format="hermes")


def ask(gateway: Gateway, **fields: Any) -> httpx.Response:
    return gateway.post(fields, path=PATH)


def explained(gateway: Gateway, **fields: Any) -> Any:
    answer = ask(gateway, **fields)
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.parametrize(
    ("output", "rejected", "at", "expected"),
    [
        ('{"days": 15}', "5", 0, "0…4 }"),
        ('{"days": 0}', "0", 0, "1…9"),
        ('{"days": "x"}', '": "', 3, "1…9"),
        ('{"dayz": 1}', "z", 0, "s"),
        ("x", "x", 0, "{"),
    ],
)  # fmt: skip
def test_a_wrong_output_is_rejected_at_its_token(
    gateway: Gateway, output: str, rejected: str, at: int, expected: str
):
    trace = explained(gateway, response_format=json_schema(DAYS), output=output)["trace"]
    assert "".join(token["text"] for token in trace["tokens"]) == output
    assert trace["tokens"][trace["accepted"]]["text"] == rejected == trace["rejected"]["text"]
    assert trace["rejected"]["byte"] == at
    assert set(expected.split()) <= set(trace["rejected"]["expected"].split())
    assert trace["at"] == trace["accepted"]
    assert not trace["is_complete"]
    assert rejected not in [token["text"] for token in trace["next"]["tokens"]]


@pytest.mark.parametrize(
    ("output", "is_complete", "may_end"),
    [('{"days": 14}', True, True), ('{"days": 1', False, False), ("", False, False)],
)
def test_an_accepted_output_may_end_or_must_go_on(
    gateway: Gateway, output: str, is_complete: bool, may_end: bool
):
    trace = explained(gateway, response_format=json_schema(DAYS), output=output)["trace"]
    assert (trace["accepted"], trace["rejected"]) == (len(trace["tokens"]), None)
    assert (trace["is_complete"], trace["next"]["may_end"]) == (is_complete, may_end)


def test_allowed_tokens_are_those_of_the_chosen_place(gateway: Gateway):
    fields = {"response_format": json_schema(DAYS), "output": '{"days": 15}'}
    first = explained(gateway, at=0, **fields)["trace"]
    assert (first["at"], first["accepted"] > 0) == (0, True)
    assert {token["text"][0] for token in first["next"]["tokens"]} == {"{"}
    beyond = explained(gateway, at=MAX_OUTPUT, **fields)["trace"]
    assert beyond["at"] == beyond["accepted"]


def test_a_refused_schema_has_an_error_with_a_pointer_and_no_grammar(gateway: Gateway):
    wanted = json_schema(STRICT_BACK, strict=True)
    found = explained(gateway, response_format=wanted, output="")
    assert found["error"]["param"] == "response_format"
    assert found["error"]["code"] == "invalid_json_schema"
    assert found["error"]["pointer"] == f"{HERE}/properties/a/pattern"
    assert (found["grammar"], found["trace"]) == (None, None)


def test_relaxed_keywords_have_pointers_into_the_request(gateway: Gateway):
    tool = {"type": "function", "function": {"name": "f", "parameters": BACK}}
    found = explained(gateway, tools=[tool], tool_choice="required")
    place = "/tools/0/function/parameters"
    assert found["error"] is None
    assert [each["pointer"] for each in found["relaxed"]] == [f"{place}/properties/a/pattern"]
    assert [each["pointer"] for each in found["schemas"]] == [place]
    assert [each["pointer"] for each in found["schemas"][0]["refused"]] == ["/properties/a/pattern"]


@pytest.mark.parametrize(
    ("name", "begin"), [("hermes", "<tool_call>"), ("llama3_json", "{"), ("pythonic", None)]
)
def test_any_format_of_the_vocabulary_is_explained(gateway: Gateway, name: str, begin: str | None):
    answer = ask(gateway, tools=TOOLS, tool_choice="required", format=name, output="")
    if begin is None:
        assert (answer.status_code, answer.json()["error"]["param"]) == (400, "format")
        return
    found = answer.json()
    assert (found["format"], name in found["formats"]) == (name, True)
    assert any(token["text"].startswith(begin[0]) for token in found["trace"]["next"]["tokens"])


def test_calls_of_any_turn_are_explained(gateway: Gateway):
    """REGRESSION: an output of a later turn was rejected at the number of its call."""
    for number in (0, 7):
        output = (
            f"<|tool_calls_section_begin|><|tool_call_begin|>functions.f:{number}"
            "<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>"
        )
        tools = [{"type": "function", "function": {"name": "f"}}]
        asked = {"format": "kimi_k2", "tools": tools, "output": output}
        trace = explained(gateway, **asked)["trace"]
        assert trace["rejected"] is None, trace["rejected"]


def test_rules_and_drawings_are_bounded(gateway: Gateway):
    many = {"type": "object", "properties": {f"p{n}": {"enum": [n, f"x{n}"]} for n in range(500)}}
    grammar = explained(gateway, response_format=json_schema(many))["grammar"]
    assert len(grammar["rules"]) == MAX_RULES
    assert grammar["more_rules"] > 0
    assert len(grammar["drawing"]["nodes"]) <= MAX_NODES
    numbers = {node["id"] for node in grammar["drawing"]["nodes"]}
    assert {edge["target"] for edge in grammar["drawing"]["edges"]} <= numbers


def test_the_automaton_of_a_rule_is_drawn(gateway: Gateway):
    fields = {"response_format": json_schema(DAYS)}
    rules = explained(gateway, **fields)["grammar"]["rules"]
    rule = next(each for each in rules if each["kind"] == "object")
    drawing = explained(gateway, rule=rule["name"], **fields)["grammar"]["drawing"]
    assert drawing["rule"] == rule["name"]
    assert len(drawing["nodes"]) + drawing["hidden_nodes"] == rule["states"]
    assert '"{"' in {edge["label"] for edge in drawing["edges"]}


#: name -> (body, status, code, param)
BAD: dict[str, tuple[Any, int, str, str | None]] = {
    "no JSON": (b"{", 400, "invalid_json", None),
    "an unknown field": ({"x": 1}, 400, "unknown_parameter", "x"),
    "an unknown rule": ({"rule": "x"}, 400, "invalid_value", "rule"),
    "an unknown model": ({"model": "x"}, 404, "model_not_found", "model"),
    "a long output": (
        {"output": "x" * (MAX_OUTPUT + 1)},
        400,
        "string_above_max_length",
        "output",
    ),
    "a long name of a rule": (
        {"rule": "x" * (MAX_NAME + 1)},
        400,
        "string_above_max_length",
        "rule",
    ),
    "a long name of a format": ({"format": "x" * 65}, 400, "string_above_max_length", "format"),
    "an unknown format": ({"format": "x"}, 400, "invalid_value", "format"),
    "a place beyond all outputs": (
        {"at": MAX_OUTPUT + 1},
        400,
        "integer_above_max_value",
        "at",
    ),
    "a negative place": ({"at": -1}, 400, "integer_below_min_value", "at"),
    "a tool without a name": (
        {"tools": [{"type": "function", "function": {}}]},
        400,
        "missing_required_parameter",
        "tools[0].function.name",
    ),
}


@pytest.mark.parametrize("name", sorted(BAD))
def test_an_invalid_body_gets_an_error_that_names_the_field(gateway: Gateway, name: str):
    sent, status, code, param = BAD[name]
    answer = gateway.post(sent, path=PATH)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["param"]) == (status, code, param)


def test_it_needs_a_key_where_the_gateway_has_keys():
    with Gateway(api_keys="one") as gateway:
        assert ask(gateway).status_code == 401
        key = {"Authorization": "Bearer one"}
        assert gateway.post({}, path=PATH, headers=key).status_code == 200


# -- other clients ---------------------------------------------------------------------------------
#: long enough that exploring does not visit all of it
LONG = {
    "type": "object",
    "properties": {f"name{n:03}": {"enum": [f"value{k}" for k in range(40)]} for n in range(60)},
    "required": [f"name{n:03}" for n in range(60)],
    "additionalProperties": False,
}


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def test_outputs_of_other_clients_do_not_show():
    """REGRESSION: rows were those of the shared grammar, with all that other answers visited."""
    wanted = json_schema(LONG)
    with Gateway(api_keys="one,two", format="plain") as gateway:

        def seen(**fields: Any) -> Any:
            fields = {"response_format": wanted, **fields}
            return gateway.post(fields, path=PATH, headers=bearer("one")).json()

        def shown() -> list[Any]:
            first = seen(output='{"name000": "x')
            names = [rule["name"] for rule in first["grammar"]["rules"] if rule["states"]]
            return [first, seen(rule=names[0])]

        before = shown()
        answer = gateway.post(
            body(response_format=wanted, max_completion_tokens=5000), headers=bearer("two")
        )
        assert answer.status_code == 200
        output = answer.json()["choices"][0]["message"]["content"]
        tried = {"response_format": wanted, "output": output[:4000]}
        assert gateway.post(tried, path=PATH, headers=bearer("two")).status_code == 200
        assert shown() == before


@pytest.mark.parametrize("path", [PATH, "/v1/grammars/check"])
def test_a_key_learns_nothing_about_a_model_that_it_may_not_use(tmp_path: Path, path: str):
    (tmp_path / "gateway.toml").write_text(
        '[[models]]\nname = "open"\nnoise_seed = 1\n[[models]]\nname = "closed"\nnoise_seed = 1\n'
    )
    entry = KeyEntry(name="k", sha256=digest_of("one").hex(), models=("open",))
    (tmp_path / "keys").write_text(entry.as_json() + "\n")
    with Gateway(config_file=tmp_path / "gateway.toml", keys_file=tmp_path / "keys") as gateway:
        asked: dict[str, Any] = {"schema": DAYS} if path != PATH else {}
        answers = {
            name: gateway.post({**asked, "model": name}, path=path, headers=bearer("one"))
            for name in ("open", "closed", "absent")
        }
    assert answers["open"].status_code == 200
    closed, absent = answers["closed"], answers["absent"]
    assert closed.status_code == absent.status_code == 404
    assert closed.text.replace("closed", "absent") == absent.text


# -- bounds ----------------------------------------------------------------------------------------
def test_a_long_name_does_not_multiply_in_an_answer(gateway: Gateway):
    """REGRESSION: each pointer repeated the name; the answer to 200 KB had 40 MB."""
    back = {f"p{n}": {"pattern": "(a+)\\1", "x" * 5000: 1} for n in range(40)}
    schema = {"type": "object", "properties": {"n" * 100_000: {"properties": back}}}
    answer = ask(gateway, response_format=json_schema(schema), output="{")
    assert answer.status_code == 200
    found = answer.json()
    assert found["relaxed"][0]["pointer"].startswith(f"{HERE}/properties/nnn")
    assert found["relaxed"][0]["pointer"].endswith("…")
    assert len(answer.content) < 1_000_000
    checked = gateway.post({"schema": schema}, path="/v1/grammars/check")
    assert (checked.status_code, checked.json()["refused"][0]["keyword"]) == (200, "pattern")
    assert len(checked.content) < 2_000_000
    strict = ask(gateway, response_format=json_schema(schema, strict=True))
    assert strict.json()["error"]["code"] == "invalid_json_schema"
    assert len(strict.content) < 500_000


def test_an_output_is_read_to_a_number_of_tokens(gateway: Gateway):
    output = json.dumps(["ab" * 3000])
    trace = explained(gateway, response_format=json_schema({}), output=output)["trace"]
    assert (len(trace["tokens"]), trace["accepted"]) == (MAX_TOKENS, MAX_TOKENS)
    assert f"at most {MAX_TOKENS:,} tokens" in trace["problem"]
    assert (trace["is_complete"], trace["rejected"]) == (False, None)


def test_a_grammar_too_large_to_draw_is_still_tried(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("app.service.grammar_outline.MAX_INSPECTED", 1)
    fields = {"response_format": json_schema(DAYS), "output": '{"days": 15}'}
    found = explained(gateway, **fields)
    assert (found["grammar"]["drawing"], found["grammar"]["rules"]) == (None, [])
    assert found["trace"]["rejected"]["text"] == "5"
