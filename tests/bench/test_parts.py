"""Each part of the suite, on the toy vocabulary: every figure is there, and nothing was wrong."""

from dataclasses import fields

import pytest

from bench import ablation, batch, families, growth, memory
from bench.data import builtin_schemas, builtin_tools
from bench.made import tool_cases
from bench.vocabularies import load
from bench.worker import Bounds, Here, Outcome, Setup
from engine import Features, Limits

pytestmark = pytest.mark.campaign

SETUP = Setup("ours", "bytes")


@pytest.fixture(scope="module")
def ours():
    return Here(SETUP)


@pytest.mark.parametrize("threads", [1, 2])
def test_batches_have_a_point_for_every_kind_and_size(ours, threads):
    sizes = (1, 3)
    cases = tool_cases(builtin_tools(), batch.needed(sizes))
    points = ours.run(batch.batches, cases, sizes, threads, 4).value
    assert [(p.kind, p.size) for p in points] == [(k, s) for k in batch.KINDS for s in sizes]
    assert all(0 < p.p50 <= p.p99 and 0 < p.again_p50 <= p.again_p99 for p in points)
    table = batch.table({"ours": points, "other": points[:1]})
    assert "many 3 again p99" in table and "-" in table


@pytest.mark.parametrize("threads", [1, 2])
def test_a_batch_of_ours_has_the_mask_of_every_state(ours, threads, monkeypatch):
    engine, case = ours.engine, builtin_schemas()[0]
    states = [engine.start(engine.compile_schema(case.schema)) for _ in range(3)]
    for count, state in enumerate(states):
        for token in ours.loaded.encoding.encode(case.texts[0][0])[:count]:
            assert engine.accept(state, token)
    masks = engine.masks(3)
    monkeypatch.setattr(engine, "masks", lambda rows: masks)
    engine.batch(states, threads)()
    for state, row in zip(states, masks, strict=True):
        engine.fill(state)
        assert (engine.mask[0] == row).all()


def test_memory_of_schemas_is_that_of_their_matchers(ours):
    points = ours.run(memory.held, builtin_schemas(), True).value
    assert [(p.grammars, p.refused) for p in points] == [(0, 0), (1, 0), (2, 0)]
    assert memory.grown(points) == points[-1].bytes - points[0].bytes
    assert memory.grown(points[:1]) is None


@pytest.mark.parametrize("whole", [False, True])
def test_memory_has_a_curve_of_grammars_held(ours, whole):
    points = ours.run(memory.held, tool_cases(builtin_tools(), 21), whole).value
    assert [p.grammars for p in points] == list(range(0, 21, 2))
    assert all(p.bytes > 2**20 and p.refused == 0 for p in points)
    table = memory.held_table({"ours": points, "died early": points[:3], "at once": []}, "held")
    assert "for a grammar" in table


def test_a_refused_set_is_no_grammar_held(ours):
    cases = tool_cases(builtin_tools(), 3)
    cases[1] = cases[1]._replace(tools=[("odd", {"not": {}})])
    points = ours.run(memory.held, cases, False).value
    assert (points[-1].grammars, points[-1].refused) == (1, 1)


@pytest.mark.parametrize("front_end", memory.FRONT_ENDS)
def test_grammars_of_a_front_end_are_counted(ours, front_end):
    (found,) = ours.run(memory.counted, front_end, 20).value
    assert (found.grammars, found.refused) == (20, 0)
    assert found.counted > 20 * 2**12
    assert front_end in memory.counted_table({front_end: found})


def test_churn_has_a_curve_with_the_caches_beside_it(ours):
    points = ours.run(memory.churn, 300).value
    assert points[-1].grammars == 300
    assert 0 < points[-1].stats["grammars"] <= Limits().kept_grammars
    assert points[-1].refused == 0
    assert "token_mask_bytes" in memory.churn_table(points)


@pytest.mark.parametrize("axis", [axis for axis in growth.AXES if axis != "vocabulary"])
def test_growth_has_every_figure_at_every_point(ours, axis):
    found = growth.along({"ours": ours}, axis, (2, 5), variants=2)
    assert [(p.at, p.status, set(p.figures)) for p in found["ours"]] == [
        (at, "ok", set(growth.FIGURES)) for at in (2, 5)
    ]
    assert "mask p99, 5" in growth.table(axis, found)


def test_growth_along_vocabularies_has_the_start_of_an_engine_too():
    found = growth.along_vocabularies({"ours": SETUP}, Bounds(), (4096,), variants=1)
    assert set(found["ours"][0].figures) == {"setup", *growth.FIGURES}


def test_an_engine_that_was_too_late_is_asked_no_more_of_that_axis(ours):
    class Late:
        seconds = 1.0
        asked = 0

        def run(self, task, *more):
            self.asked += 1
            return Outcome("time-outs", [])

    late = Late()
    found = growth.along({"ours": ours, "late": late}, "tools", (1, 2, 3), variants=1)
    assert [p.status for p in found["late"]] == ["time-outs", "not tried", "not tried"]
    assert [p.status for p in found["ours"]] == ["ok"] * 3
    assert late.asked == 2, "the one that is not counted, and the first point"
    last = growth.table("tools", found).splitlines()[-1]
    assert [cell.strip() for cell in last.split("|")[1:-1]] == ["time-outs", "0", "1"]


def test_axes_reach_as_far_as_they_should():
    ends = {axis: (points[0], points[::2][-1]) for axis, points in growth.AXES.items()}
    assert ends["tools"] == ends["schema"] == (1, 1024)
    assert ends["vocabulary"] == (32_768, 262_144)
    assert ends["pattern"] == ends["maxLength"] == ends["minItems"] == (10, 65_536)


def test_the_ablation_says_the_same_of_every_text_whatever_is_switched_off():
    turns = ablation.measure("bytes", builtin_schemas(), Bounds())
    assert list(turns.every) == [row.name for row in ablation.rows()]
    assert [dict(result.counts) for result in turns.every.values()] == [{"schemas taken": 3}] * 8
    table = ablation.table(turns)
    assert "+ repetition in registers" in table and "1,000 masks ahead" in table


def test_the_ablation_adds_one_idea_at_a_time_up_to_all_of_them():
    options = [dict(row.options) for row in ablation.rows()]
    assert [own.pop("ahead", 0) for own in options] == [ablation.AHEAD, *[0] * 7]
    assert [sum(own.values()) for own in options] == [1, 1, 2, 3, 4, 3, 3, 3]
    assert {name for own in options for name in own} == {f.name for f in fields(Features)}


def test_masks_made_ahead_are_made_with_the_grammar():
    schema = builtin_schemas()[1].schema
    made = {}
    for ahead in (0, 50):
        engine = Here(Setup("ours", "bytes", {"ahead": ahead})).engine
        made[ahead] = engine.compile_schema(schema).stats()["masks_made"]
    assert made == {0: 0, 50: 50}


def test_families_write_the_same_calls():
    found = families.measure(load("bytes"), builtin_tools(), ["hermes", "qwen_coder", "harmony"])
    assert list(found) == ["plain", "hermes", "qwen_coder", "harmony"]
    assert all(result.counts == {"accepted": 1} for result in found.values())
    assert all(name in families.table(found) for name in found)
