"""Verdicts are counted beside times, and only cases that all engines took are compared."""

import pytest

from bench.data import ToolCase, builtin_schemas, builtin_tools
from bench.measure import Result, agreed, schema_case, summary, take_turns, tool_case
from bench.worker import Here, Outcome, Setup


@pytest.fixture(scope="module")
def ours():
    return Here(Setup("ours", "bytes"))


@pytest.fixture(scope="module")
def llama():
    return Here(Setup("ours", "llama3"))


class Late:
    """Does nothing in time."""

    seconds = 2.0

    def run(self, task, *more):
        return Outcome("time-outs", [])


def test_our_engine_takes_what_is_right_and_nothing_else(llama):
    schemas = take_turns({"ours": llama}, schema_case, builtin_schemas()).every["ours"]
    assert dict(schemas.counts) == {"schemas taken": 3}
    tools = take_turns({"ours": llama}, tool_case, builtin_tools()).every["ours"]
    assert dict(tools.counts) == {"tool sets taken": 1}
    assert len(tools.times["mask"]) > 100


def test_a_wrong_verdict_would_be_counted(ours):
    case = builtin_schemas()[0]
    swapped = case._replace(texts=[(text, not valid) for text, valid in case.texts])
    counts = ours.run(schema_case, swapped).value.counts
    assert counts["valid rejected"] == counts["invalid taken"] == 1


def test_a_rejected_answer_would_be_counted(ours):
    case = builtin_tools()[0]
    unfit = case._replace(calls=[("get_weather", {"city": 5})])
    assert ours.run(tool_case, unfit).value.counts["true answers rejected"] == 1


def test_a_refusal_is_counted_with_its_kind_and_has_no_times(ours):
    refused = builtin_schemas()[0]._replace(schema={"$ref": "https://example.org/schema"})
    result = ours.run(schema_case, refused).value
    assert dict(result.counts) == {"refused (UnsupportedSchema)": 1}
    assert not result.compiled and not any(result.times.values())


def test_a_text_is_followed_for_so_many_tokens_and_no_further(ours):
    case = builtin_schemas()[1]
    result = ours.run(schema_case, case._replace(texts=case.texts[:1]), 5).value
    assert len(result.times["mask"]) == 5
    assert dict(result.counts) == {"schemas taken": 1}


def test_what_one_engine_did_not_do_in_time_is_in_no_comparison(ours):
    turns = take_turns({"ours": ours, "late": Late()}, schema_case, builtin_schemas())
    assert dict(turns.every["late"].counts) == {"time-outs": 3}
    assert dict(turns.every["ours"].counts) == {"schemas taken": 3}
    assert not turns.shared["ours"].compiled


def test_what_was_not_done_in_time_waits_for_its_first_mask_as_long_as_the_limit():
    turns = take_turns({"late": Late()}, schema_case, builtin_schemas())
    assert dict(turns.every["late"].times) == {"first": [2e6] * 3}
    assert not turns.every["late"].compiled


def test_only_sets_that_all_engines_take_are_agreed(ours):
    good = builtin_tools()[0]
    bad = ToolCase("bad", good.tools, [("get_weather", {"city": 5})])
    assert agreed({"ours": ours}, [good, bad]) == [good]
    assert agreed({"ours": ours, "late": Late()}, [good, bad]) == []


def test_a_summary_has_medians_and_percentiles():
    result = Result()
    result.times |= {"compile": [1.0, 2.0, 9.0], "first": [2.0, 3.0, 10.0], "mask": [*range(100)]}
    assert summary(result) == {"compile": 2.0, "first": 3.0, "mask p50": 50, "mask p99": 99}
