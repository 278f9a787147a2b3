"""The main job on a part of the real input, and that the judge of it can tell right from wrong."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .asking import MAX_TOKENS, Answer, Call, client_of, complete
from .bfcl import KINDS, Case, data_folder, normal, read_cases
from .judging import Judge, in_python
from .maskbench import Selection, Written
from .runs import Tally, Target, run_calls, run_schemas
from .served import metric, served_gateway

FOLDER = data_folder()
real = pytest.mark.skipif(FOLDER is None, reason="`make data` fetches the BFCL cases")
NUMBER = 20
JUDGE = Judge()

SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "pattern": "^[A-Z]"},
        "when": {"type": "string", "format": "date"},
        "days": {"type": "integer"},
    },
    "required": ["city"],
    "additionalProperties": False,
}


# -- through a gateway -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def target() -> Iterator[Target]:
    with served_gateway() as url:
        yield Target(url)
        assert metric(url, "switchyard_parse_divergence_total") == 0
        assert metric(url, "switchyard_internal_errors_total") == 0


def cases(closed: bool) -> list[Case]:
    assert FOLDER is not None
    return read_cases(FOLDER, NUMBER, closed=closed)


@real
@pytest.mark.parametrize("closed", [True, False], ids=["closed", "open"])
async def test_even_noise_calls_real_tools_as_they_ask_for(target: Target, closed: bool) -> None:
    tallies = await run_calls(target, cases(closed), JUDGE)
    assert [tally.wrong for tally in tallies.values()] == [{}] * len(KINDS)
    assert sum(tally.cut for tally in tallies.values()) < 0.05 * NUMBER
    assert sum(tally.cases for tally in tallies.values()) == NUMBER


@real
async def test_even_noise_fills_in_real_forms(target: Target) -> None:
    forms = [Written(case.id, next(iter(case.schemas.values()))) for case in cases(closed=False)]
    tally = (await run_schemas(target, forms, JUDGE))["json_schema"]
    assert not tally.wrong
    assert tally.passes


@real
async def test_a_stream_adds_up_to_the_whole_answer(target: Target) -> None:
    case = cases(closed=True)[0]
    said = []
    async with client_of(target.url) as client:
        for stream in (False, True):
            answer = await complete(
                client,
                stream=stream,
                model=target.model,
                messages=case.messages,
                tools=case.tools,
                tool_choice="required",
                seed=5,
            )
            assert JUDGE.calls(answer, case.schemas) == []
            calls = [(call.name, call.arguments) for call in answer.calls]
            said.append((calls, answer.finish, answer.prompt_tokens, answer.completion_tokens))
    assert said[0] == said[1]


@real
def test_cases_are_the_same_each_time_and_of_every_kind() -> None:
    assert cases(closed=True) == cases(closed=True)
    assert [case.id for case in cases(closed=True)] == [case.id for case in cases(closed=False)]
    assert {case.kind for case in cases(closed=True)} == set(KINDS)


# -- the judge -------------------------------------------------------------------------------------


def called(*texts: str, name: str = "f", finish: str = "tool_calls", tokens: int = 9) -> Answer:
    calls = [Call(f"call_{n}", name, text) for n, text in enumerate(texts)]
    return Answer(calls, finish=finish, prompt_tokens=1, completion_tokens=tokens)


def cut(*texts: str) -> Answer:
    return called(*texts, finish="length", tokens=MAX_TOKENS)


@pytest.mark.parametrize(
    "answer",
    [
        called('{"city": "Oslo"}'),
        called('{"city": "Oslo"}', '{\n"city":"Rom", "days": -3}'),
        cut("{"),
        cut(""),
        cut('{"city": "O\ufffd'),
        cut('{"city": "Oslo"}', '{"city": "Os'),
        Answer(finish="length", prompt_tokens=1, completion_tokens=MAX_TOKENS, reasoning="hm"),
    ],
    ids=repr,
)
def test_right_calls_are_right(answer: Answer) -> None:
    assert JUDGE.calls(answer, {"f": SCHEMA}) == []


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (called(), "no call"),
        (called('{"city": "Oslo"}', name="g"), "unknown tool 'g'"),
        (called('{"city": "Oslo"'), "no JSON"),
        (called('{"city": NaN}'), "NaN is not JSON"),
        (called("{}"), "'city' is a required property"),
        (called('{"city": "oslo"}'), "does not match"),
        (called('{"city": "Oslo", "when": "2023-02-29"}'), "is not a 'date'"),
        (called('{"city": "Oslo", "x": 1}'), "Additional properties"),
        (called(' {"city": "Oslo"}'), "white space around the value"),
        (called('{"city": "Oslo"}', finish="stop"), "finish_reason 'stop'"),
        (called('{"city": "Os', finish="length"), "9 tokens with finish_reason 'length'"),
        (called('{"city": "Oslo"}', tokens=MAX_TOKENS + 1), "4097 tokens"),
        (called('{"city": "Oslo"}', tokens=0), "usage counts nothing"),
        (cut('{"city": Os'), "no beginning of JSON"),
        (cut('{"city": "oslo'), "no beginning of what the schema allows"),
        (cut('{"town": "'), "no beginning of what the schema allows"),
        (cut('{"city": "Os', '{"city": "Oslo"}'), "no JSON"),
    ],
)
def test_wrong_calls_are_wrong(answer: Answer, complaint: str) -> None:
    assert any(complaint in wrong for wrong in JUDGE.calls(answer, {"f": SCHEMA}))


@pytest.mark.parametrize(
    ("text", "finish", "complaint"),
    [
        ('{"city": "Oslo"}', "stop", None),
        ('{"city": "Os', "length", None),
        ('{"city": "Os', "stop", "no JSON"),
        ('{"city": 1', "length", "no beginning of what the schema allows"),
        ('{"city": "Oslo"}', "tool_calls", "finish_reason 'tool_calls'"),
        (None, "stop", "no JSON"),
    ],
)
def test_content_is_judged_too(text: str | None, finish: str, complaint: str | None) -> None:
    tokens = MAX_TOKENS if finish == "length" else 9
    answer = Answer([], text, None, finish, 1, tokens)
    wrong = JUDGE.content(answer, SCHEMA)
    assert any(complaint in w for w in wrong) if complaint else wrong == []


@pytest.mark.parametrize(
    ("pattern", "text", "fits"),
    [
        (r"^\w+$", "é", False),
        (r"^\w+$", "e\n", False),
        (r"^[\s\w]+$", "\ufeffa", True),
        (r"^\S$", "\ufeff", False),
        (r"^\D$", "٣", True),
        (r"^[$]\$\]$", "$$]", True),
    ],
)
def test_patterns_are_read_as_ecma_262_reads_them(pattern: str, text: str, fits: bool) -> None:
    assert (re.search(in_python(pattern), text) is not None) == fits


def test_a_tally_passes_below_five_percent_of_cut_answers() -> None:
    tally = Tally(cases=100, finished=96, cut=4)
    assert tally.passes
    assert not tally.plus(Tally(cases=0, cut=1)).passes
    assert not Tally(cases=100, finished=99, wrong={"x": ["no JSON"]}).passes


# -- reading ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dialect", "closed", "standard"),
    [
        ({"type": "dict", "properties": {"a": {"type": "float", "default": 1.5}}}, False,
         {"type": "object", "properties": {"a": {"type": "number", "default": 1.5}}}),
        ({"type": "dict", "properties": {"a": {"type": "dict"}}, "required": ["a"]}, True,
         {"type": "object", "properties": {"a": {"type": "object", "additionalProperties": False}},
          "required": ["a"], "additionalProperties": False}),
        ({"type": "any", "description": "d", "optional": True}, True, {"description": "d"}),
        ({"type": "tuple", "items": {"type": "float", "maximum": 4}}, True,
         {"type": "array", "items": {"type": "number", "maximum": 4}}),
        ({"type": "array", "items": {"type": "string"}, "enum": ["a"]}, True,
         {"type": "array", "items": {"type": "string", "enum": ["a"]}}),
        ({"type": "boolean", "enum": ["yes", "no"]}, True, {"enum": ["yes", "no"]}),
        ({"type": "integer", "enum": [1, 2]}, True, {"type": "integer", "enum": [1, 2]}),
        ({"type": "string", "format": "date"}, True, {"type": "string", "format": "date"}),
    ],
)  # fmt: skip
def test_the_dialect_is_translated(
    dialect: dict[str, Any], closed: bool, standard: dict[str, Any]
) -> None:
    assert normal(dialect, closed) == standard


def test_schemas_that_the_engine_refuses_are_left_out_and_named(tmp_path: Path) -> None:
    for name, text in {
        "good": '{"schema": {"type": "object"}}',
        "away": '{"schema": {"$ref": "https://example.org/schema"}}',
        "broken": '{"schema": {"type": "objekt"}}',
        "everything": '{"schema": true}',
    }.items():
        (tmp_path / f"{name}.json").write_text(text)
    found = Selection(tmp_path, 9, JUDGE.compiler)
    assert [written.id for written in found.taken] == ["good"]
    assert sorted(found.refused) == ["away", "broken"]
    assert "/$ref" in found.refused["away"]
