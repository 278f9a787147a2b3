"""The judge of maskdiff: every kind of verdict on small schemas, and the part as a whole."""

import json
from pathlib import Path

import numpy as np
import pytest

from bench.__main__ import main
from bench.data import SchemaCase, ToolCase, builtin_schemas, of_calls
from bench.maskdiff.comparing import DETOUR, FORCED, Comparer
from bench.maskdiff.judging import Judge, judge_of
from bench.maskdiff.partial import (
    LoneSurrogate,
    NotJson,
    OpenArray,
    OpenLiteral,
    OpenNumber,
    OpenObject,
    OpenString,
    Whole,
    read,
)
from bench.maskdiff.recording import Recorder, lines
from bench.maskdiff.verdicts import Job, judge_case, rows
from bench.vocabularies import load
from bench.worker import Here, Setup

SCHEMA: dict = {
    "type": "object",
    "properties": {
        "a": {"type": "string", "maxLength": 3},
        "b": {"type": "integer", "minimum": 2, "maximum": 20},
        "c": {"enum": ["xy", 3]},
        "d": {"type": "string", "format": "date-time"},
        "e": {"type": "string", "pattern": "^[A-Z]{2}-\\d+$"},
        "f": {"type": "array", "items": {"type": "boolean"}, "maxItems": 2, "uniqueItems": True},
    },
    "required": ["a"],
    "additionalProperties": False,
}
ENGINES = ("ours", "xgrammar", "llguidance")


@pytest.fixture(scope="module")
def judge():
    return Judge(SCHEMA, [b'{"a": "x"}'])


WHOLE = [
    (b'{"a": 1}', {"a": 1}),
    (b"[1, [true, null]] ", [1, [True, None]]),
    (rb'"\ud83d\ude00\/"', "😀/"),
]
OPEN = [
    (b"12", OpenNumber("12")),
    (b"-1.5e", OpenNumber("-1.5e")),
    (b"tr", OpenLiteral("tr")),
    (b'"a\xe6\xbc', OpenString("a", b"\xe6\xbc")),
    (rb'"a\u00', OpenString("a", rb"\u00")),
    (rb'"\ud83d\u', OpenString("", rb"\ud83d\u")),
    (b"[1, 2", OpenArray([1], OpenNumber("2"), comma=True)),
    (b"[1,", OpenArray([1], None, comma=True)),
    (b'{"a":1,"b', OpenObject({"a": 1}, OpenString("b"))),
    (b'{"a":1,"b":', OpenObject({"a": 1}, "b", value=read(b"").root)),
]
NO_TEXTS = [
    b"01",
    b"1 2",
    b"{,",
    b"[1}",
    b'{"a" 1',
    b'"\x01',
    b'"\\x',
    b'"\xff',
    b"nil",
    b"--",
    b"}",
]


@pytest.mark.parametrize(("text", "value"), WHOLE)
def test_a_whole_text_has_its_value(text, value):
    assert read(text).root == Whole(value)


@pytest.mark.parametrize(("text", "node"), OPEN)
def test_a_prefix_is_a_tree_with_an_open_end(text, node):
    assert read(text).root == node


@pytest.mark.parametrize("text", NO_TEXTS)
def test_what_no_json_text_begins_with_is_told(text):
    with pytest.raises(NotJson):
        read(text)


@pytest.mark.parametrize("text", [rb'"\ud800a', rb'"\udc00', rb'"\ud800\u0041', rb'"\ud800"'])
def test_a_lone_surrogate_is_no_text_of_unicode(text):
    with pytest.raises(LoneSurrogate):
        read(text)


def test_a_repeated_key_is_noticed_at_every_depth():
    assert read(b'{"a":1,"a"').repeats and read(b'[{"a":1,"a":2}').repeats
    assert not read(b'{"a":{"a":1}').repeats


FORBIDDEN = [
    (b"", b"[", "type"),
    (b"{", b"}", "required"),
    (b'{"', b"z", "additionalProperties"),
    (b'{"', b"\\u007a", "additionalProperties"),
    (b'{"\\u', b"01", "additionalProperties"),
    (b'{"a":"ab', b"cd", "maxLength"),
    (b'{"b":', b"-", "minimum"),
    (b'{"b":', b"2e22", "maximum"),
    (b'{"b":2', b"1,", "maximum"),
    (b'{"b":', b"2.5,", "type"),
    (b'{"c":', b'"z', "enum"),
    (b'{"c":', b"4", "enum"),
    (b'{"d":"2024-01-', b"4", "format"),
    (b'{"d":"2024-13', b'-01T00:00:00Z"', "format"),
    (b'{"e":"A', b"1", "pattern"),
    (b'{"e":"AB', b'"', "pattern"),
    (b'{"f":[true,', b"1", "type"),
    (b'{"f":[true,', b"true,", "maxItems"),
    (b'{"f":[true,', b"true]", "uniqueItems"),
    (b'{"f":[true,false', b",", "maxItems"),
    (b'{"a":"x"', b"]", "no JSON text"),
]


@pytest.mark.parametrize(("text", "token", "reason"), FORBIDDEN)
def test_a_token_without_a_completion_is_proved_to_have_none(judge, text, token, reason):
    verdict = judge.token(text, token, ENGINES)
    if reason is None:
        assert verdict.kind == "undecided", (
            "2e2 may grow, and no refutation sees that all are wrong"
        )
    else:
        assert (verdict.kind, verdict.reason) == ("forbidden", reason)


ALLOWED = [
    (b"", b'{"', None),
    (b'{"a":"x', b'"}', None),
    (b'{"a":"', b"\\u00", None),
    (b'{"a":"\xe6', b"\xbc", None),
    (b'{"a":"x","b":', b"1", None),
    (b'{"a":"x","c":', b'"x', None),
    (b'{"a":"x","e":"A', b"B", None),
    (b'{"a":"x","f":[', b"true", None),
    (b'{"a":"x"', b" ", None),
    (b'{"a":"x"', b"  ", "white space"),
    (b'{"a":"x"', b"\t", "white space"),
    (b'{"a":"x"', b"\n   ", None),
    (b'{"a":"x", "c":3', b',"b', "order of keys"),
    (b'{"a":"x","b":', b"5e0", "forms of numbers"),
    (b'{"a":"x","b":5', b".0", "forms of numbers"),
    (b'{"a":"x","d":"', b"2024-01-01T", "formats"),
]


@pytest.mark.parametrize(("text", "token", "rule"), ALLOWED)
def test_a_token_with_a_completion_has_a_witness_and_perhaps_a_rule_of_ours(
    judge, text, token, rule
):
    verdict = judge.token(text, token, ["ours"])
    assert verdict.kind == "allowed" and verdict.witness.startswith(text + token)
    assert judge.fault(verdict.witness) is None
    assert verdict.rules == {"ours": rule}


@pytest.mark.parametrize(("text", "token"), [(b'{"b":', b"32"), (b'{"a":"', b"\\ud800a")])
def test_what_is_neither_proved_nor_refuted_is_undecided(judge, text, token):
    assert judge.token(text, token, []).kind == "undecided"


def test_a_rule_of_one_engine_is_none_of_another(judge):
    rules = judge.token(b'{"a":"x"', b"  ", ENGINES).rules
    assert rules == {"ours": "white space", "xgrammar": None, "llguidance": None}
    rules = judge.token(b'{"a":"', b"\\/", ENGINES).rules
    assert rules == {"ours": None, "xgrammar": "escapes", "llguidance": "escapes"}


def test_an_early_key_may_follow_the_order_of_another_branch():
    branch = {"properties": {"b": {}, "a": {"const": 1}}}
    judge = Judge({"anyOf": [branch, {"properties": {"a": {"const": 2}}}]})
    rules = judge.token(b'{"a":1,"b":', b"3", ["ours"]).rules
    assert rules == {"ours": "order of keys, several schemas"}
    assert judge.token(b'{"a":', b"1", ["ours"]).rules == {"ours": None}


def test_the_end_of_a_text_is_decided(judge):
    assert judge.stop(b'{"a":"x"}').kind == "allowed"
    assert judge.stop(b'{"a":"x"').reason == "no JSON text"
    assert judge.stop(b'{"b":3}').reason == "required"
    assert judge.stop(b'{"a":"x","a":"y"}').kind == "undecided"


def test_combinators_are_refuted_by_all_their_branches():
    judge = Judge({"anyOf": [{"type": "string", "maxLength": 1}, {"type": "boolean"}]})
    assert judge.token(b'"a', b"b", []).reason == "maxLength" or "anyOf"
    assert judge.token(b'"a', b"b", []).kind == "forbidden"
    assert judge.token(b"", b"t", []).kind == "allowed"
    assert Judge({"allOf": [{"type": "string"}, {"maxLength": 1}]}).token(b'"a', b"b", []).kind == (
        "forbidden"
    )


def test_references_are_followed():
    schema = {
        "$ref": "#/$defs/a",
        "$defs": {"a": {"type": "array", "items": {"$ref": "#/$defs/a"}}},
    }
    judge = Judge(schema)
    assert judge.token(b"[[", b"1", []).reason == "type"
    assert judge.token(b"[[", b"[", []).kind == "allowed"


def test_no_error_is_claimed_behind_a_reference_that_the_rules_do_not_follow():
    schema = {"properties": {"a": {"$ref": "#x"}}, "$defs": {"x": {"$anchor": "x", "type": "null"}}}
    rules = Judge(schema).token(b'{"a":', b"null", ["ours"]).rules
    assert rules == {"ours": "references not followed"}


def test_siblings_of_a_reference_count_only_in_newer_drafts():
    own = {"$ref": "#/definitions/a", "maxLength": 1, "definitions": {"a": {"type": "string"}}}
    assert Judge(own).token(b'"a', b"b", []).kind == "forbidden"
    old = {"$schema": "http://json-schema.org/draft-07/schema#", **own}
    assert Judge(old).token(b'"a', b"b", []).kind == "allowed"


def test_decimals_are_exact():
    judge = Judge({"type": "number", "multipleOf": 0.1, "maximum": 10**17})
    assert judge.stop(b"0.3").kind == "allowed"
    assert judge.stop(b"100000000000000000.1").reason == "maximum"


def test_the_end_of_a_pattern_is_that_of_the_text():
    judge = Judge({"type": "string", "pattern": "^a.$"})
    assert judge.stop(b'"ab"').kind == "allowed"
    assert judge.stop(rb'"a\r"').kind == "undecided", "Python's dot matches it"
    assert judge.stop(rb'"ab\n"').reason == "pattern"


def test_a_pattern_that_python_and_ecma_read_differently_is_undecided():
    judge = Judge({"type": "string", "pattern": "^\\d$"})
    assert judge.stop('"٣"'.encode()).kind == "undecided"
    assert Judge({"pattern": "^\\S$"}).stop('"\x85"'.encode()).kind == "undecided"
    assert judge.stop(b'"3"').kind == "allowed"


def test_schemas_without_a_common_meaning_are_not_judged():
    assert judge_of({"type": 5}) == "not valid by its meta-schema"
    assert judge_of({"type": "string", "nullable": True}) == "nullable"
    assert isinstance(judge_of({"properties": {"nullable": {"type": "null"}}}), Judge)


# -- masks ----------------------------------------------------------------------------------------
def _mask(loaded, allowed):
    bits = np.zeros((len(loaded.tokens) + 31) // 32 * 32, dtype=np.uint8)
    bits[[loaded.encoding.encode_single_token(token) for token in allowed]] = 1
    return np.packbits(bits, bitorder="little").tobytes()


def test_differing_tokens_are_counted_and_sampled():
    loaded = load("llama3")
    comparer = Comparer(loaded)
    masks = {"ours": _mask(loaded, ["{", "["]), "other": _mask(loaded, ["{", "1", "2"])}
    step = comparer.step(masks, loaded.encoding.encode_single_token("{"))
    assert step.differing == {"ours": 1, "other": 2}
    sampled = {loaded.tokens[one.token]: one.allows for one in step.sampled}
    assert sampled[b"["] == {"ours": True, "other": False}
    assert any(sampled.get(digit) == {"ours": False, "other": True} for digit in (b"1", b"2"))
    again = comparer.step(masks, loaded.encoding.encode_single_token("{"))
    assert again == (step.differing, []), "these masks were sampled before"
    wanted = loaded.encoding.encode_single_token("[")
    (forced,) = comparer.step(masks, wanted).sampled
    assert (forced.token, forced.allows) == (wanted, {"ours": True, "other": False})


def test_tokens_that_a_mask_leaves_out_for_another_are_marked():
    loaded = load("llama3")
    comparer = Comparer(loaded)
    masks = {"ours": _mask(loaded, [' "', '"']), "llguidance": _mask(loaded, ["abc"])}
    for wanted, left_out in (
        (" ", {"ours": DETOUR, "llguidance": FORCED}),
        ("a", {"llguidance": FORCED}),
    ):
        token = loaded.encoding.encode_single_token(wanted)
        found = next(one for one in comparer.step(masks, token).sampled if one.token == token)
        assert found.left_out == left_out


# -- the part -------------------------------------------------------------------------------------
class Loose:
    """Says that it is an engine, and allows what another schema allows."""

    seconds = 15.0

    def __init__(self, runner, schema):
        self.runner, self.schema = runner, schema

    def run(self, task, case, *more):
        return self.runner.run(task, case._replace(schema=self.schema), *more)


@pytest.fixture(scope="module")
def ours():
    return Here(Setup("ours", "bytes"))


def _judged(ours, tmp_path, case, other):
    file = tmp_path / "records.jsonl"
    runners = {"ours": ours, "other": Loose(ours, other)}
    Recorder(runners, load("bytes"), file, {}).run([case])
    (line,) = lines(file)
    return line, judge_case(Job(case, line, "bytes"))


def test_an_engine_that_allows_too_much_is_proved_wrong(ours, tmp_path):
    case = SchemaCase("x", {"type": "boolean"}, [("true", True), ("1", False)])
    line, judged = _judged(ours, tmp_path, case, {"type": ["boolean", "integer"]})
    assert [walk["kind"] for walk in line["walks"]] == ["valid", "invalid", "drawn", "drawn"]
    assert {(error["engine"], error["outcome"]) for error in judged["errors"]} == {
        ("other", "wrongly allowed: type")
    }
    assert rows([judged])["other|schemas with an error"] == 1


def test_an_engine_that_allows_too_little_is_proved_wrong(ours, tmp_path):
    case = SchemaCase("x", {"type": ["boolean", "integer"]}, [("true", True), ("1", True)])
    _, judged = _judged(ours, tmp_path, case, {"type": "boolean"})
    wrong = [error for error in judged["errors"] if error["engine"] == "other"]
    assert {error["outcome"] for error in wrong} == {"wrongly forbidden"}
    assert all(error["witness"] for error in wrong)


def test_a_recording_goes_on_where_it_was_cut(ours, tmp_path):
    file = tmp_path / "records.jsonl"
    recorder = Recorder({"ours": ours}, load("bytes"), file, {})
    recorder.run(builtin_schemas()[:2])
    whole = file.read_bytes()
    file.write_bytes(whole[:-10])
    recorder.run(builtin_schemas())
    assert [line["name"] for line in lines(file)] == ["weather", "order", "open"]
    assert [line["walks"][0]["ids"] for line in lines(file)][1] == json.loads(
        whole.splitlines()[1]
    )["walks"][0]["ids"]


def test_calls_become_schemas_with_instances():
    tool = {"type": "object"}
    case = ToolCase("a", [("f", tool)], [("f", {"x": 1}), ("g", {}), ("f", {})])
    assert of_calls([case, case._replace(name="b")]) == [
        SchemaCase("a f", tool, [('{"x": 1}', True), ("{}", True)] * 2)
    ]


@pytest.mark.campaign
def test_the_part_finds_no_error_of_ours(capsys, tmp_path: Path):
    tiny = ["--vocabulary", "bytes", "--schemas", "3", "--sets", "2", "--bfcl", "nowhere"]
    main(["maskdiff", *tiny, "--jobs", "1", "--out", str(tmp_path)])
    printed = capsys.readouterr().out
    assert "verdicts on sampled tokens" in printed and "wrongly" not in printed
    assert "Proved errors" not in printed
