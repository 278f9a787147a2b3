"""Forced bytes: counted along true calls, equal to what is shown, over the same calls for all."""

import json

import pytest

from bench import forced
from bench.data import ToolCase, builtin_tools
from bench.worker import FAILED, Here, Outcome, Setup

CASE = ToolCase(
    "one", [("pay", {"enum": [["euro"], ["pound"]]})], [("pay", ["euro"]), ("pay", ["pound"])]
)


@pytest.fixture(scope="module")
def ours():
    return Here(Setup("ours", "bytes"))


def test_forced_text_is_counted_and_shown_in_brackets(ours):
    compact, pound = ours.run(forced.forced, CASE, "compact").value
    assert compact == (34, 35, '[{"name":"pay","arguments":["]e[uro"]}]')
    assert (pound.forced, pound.bytes) == (35, 36)


@pytest.mark.parametrize("kind", forced.KINDS)
def test_what_is_shown_is_the_call(ours, kind):
    for case in builtin_tools():
        for share, (name, arguments) in zip(
            ours.run(forced.forced, case, kind).value, case.calls, strict=True
        ):
            call = {"name": name, "arguments": arguments}
            text = json.dumps(call, separators=forced.KINDS[kind])
            assert share.bytes == len(text)
            assert len(share.shown) > len(text) and 0 < share.forced < share.bytes


def test_a_call_that_does_not_fit_is_an_error(ours):
    case = ToolCase("wrong", CASE.tools, [("pay", ["yen"]), ("none", [])])
    with pytest.raises(forced.Contradiction):
        ours.run(forced.forced, case, "compact")


class Fails:
    seconds = 1.0

    def run(self, task, *more):
        return Outcome(FAILED)


def test_a_case_counts_for_all_engines_or_for_none(ours):
    assert forced.measure({"ours": ours}, [CASE])["compact"]["ours"]
    found = forced.measure({"ours": ours, "broken": Fails()}, [CASE])
    assert found == {kind: {"ours": [], "broken": []} for kind in forced.KINDS}
    assert "-" in forced.table(found) and forced.example(found) == ""
