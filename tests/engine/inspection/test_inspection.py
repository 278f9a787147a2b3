"""``inspect`` shows what the engine built, and changes nothing."""

import re
import threading
from xml.etree import ElementTree

import numpy as np
import pytest

import engine
from engine.inspection import count_states
from engine.inspection.wording import byte_class, literal
from tests.engine.cases import CASES, Case
from tests.engine.harness import bits, compile_case, new_mask, tokenise, walk_samples
from tests.engine.pictures import COUNTING, NESTING, NUMBER, PICTURES, Picture
from tests.vocabularies import small_vocabulary

#: cases with a text to walk
SAMPLED = [case for case in CASES if case.samples]


def compiled_grammar(text: str, **limits: int) -> engine.Compiled:
    compiler = engine.Compiler(small_vocabulary(), limits=engine.Limits(**limits))
    return compiler.compile_grammar(text)


def rule_named(found: engine.Inspection, name: str):  # type: ignore[no-untyped-def]
    return next(rule for rule in found.rules if rule.name == name)


def items_of(found: engine.Inspection, row: int) -> list[str]:
    shown = found.rows[row]
    return [found.item_text(item, row) for item in (*shown.kernel, *shown.predicted)]


@pytest.mark.parametrize("case", SAMPLED[::3], ids=lambda case: case.name)
def test_the_size_of_every_mask_and_the_place_of_every_token_are_shown(case: Case) -> None:
    """At each place of a walk: the kept mask has as many tokens as the mask that was written."""
    compiled = compile_case(engine.Compiler(small_vocabulary()), case)
    mask = new_mask(compiled.vocabulary)
    for sample in case.samples[:2]:
        matcher = engine.Matcher(compiled)
        for token in tokenise(compiled.vocabulary, sample.encode(), 16):
            matcher.fill_bitmask(mask)
            found = engine.inspect(matcher)
            assert found.here is not None
            row = found.here[0]
            assert len(bits(mask)) in [kept.allowed for kept in found.masks if kept.row == row]
            assert found.rows[row].accepts == matcher.can_stop()
            assert matcher.accept_token(token)


@pytest.mark.parametrize("case", SAMPLED[::3], ids=lambda case: case.name)
def test_moves_lead_where_the_matcher_went(case: Case) -> None:
    """Every byte of a sample, or its whole token, is a move on from where the matcher may be."""
    compiled = compile_case(engine.Compiler(small_vocabulary()), case)
    tokens = list(tokenise(compiled.vocabulary, case.samples[0].encode(), 16))
    matcher = engine.Matcher(compiled)
    for token in tokens:
        assert matcher.accept_token(token)
    found = engine.inspect(matcher)
    assert found.here is not None
    rows = {0}
    for token in tokens:
        whole = {m.target for m in found.moves if m.source in rows and token in m.tokens}
        for byte in compiled.vocabulary.tokens[token]:
            rows = {
                move.target
                for move in found.moves
                if move.source in rows and any(low <= byte <= high for low, high in move.ranges)
            }
        rows |= whole
        rows |= {move.target for move in found.moves if move.source in rows and move.ends_token}
    assert found.here[0] in rows


@pytest.mark.parametrize("case", SAMPLED[::3], ids=lambda case: case.name)
def test_everything_shown_refers_to_something_shown(case: Case) -> None:
    compiled = compile_case(engine.Compiler(small_vocabulary()), case)
    mask = new_mask(compiled.vocabulary)
    walk_samples(compiled, case, lambda matcher, _: matcher.fill_bitmask(mask))
    found = engine.inspect(compiled)
    rows, states = range(len(found.rows)), found.states
    assert [row.number for row in found.rows] == list(rows)
    assert len({rule.name for rule in found.rules}) == len(found.rules)
    for state in states.values():
        assert all(edge.target in states for edge in state.edges)
    for row in found.rows:
        assert all(item.origin is None or item.origin in rows for item in row.kernel)
        assert all(item.state in states for item in (*row.kernel, *row.predicted))
    for kept in found.masks:
        assert kept.row in rows
        assert all(number in range(len(found.token_masks)) for number in kept.token_masks)
    stats = compiled.stats()
    assert (len(found.rows), len(states)) == (stats["rows"], stats["states"])
    text = found.text()
    assert all(f"  row {number}" in text for number in rows)


@pytest.mark.parametrize("case", SAMPLED[::9], ids=lambda case: case.name)
def test_looking_changes_nothing(case: Case) -> None:
    compiled = compile_case(engine.Compiler(small_vocabulary()), case)
    mask = new_mask(compiled.vocabulary)
    engine.Matcher(compiled).fill_bitmask(mask)
    before = compiled.stats()
    one, other = engine.inspect(compiled), engine.inspect(compiled)
    assert compiled.stats() == before
    assert one.text() == other.text()
    assert one.dot() == other.dot()


#: cases with finitely many places, few enough to visit them all
FINITE = ("schema-types-two", "schema-pattern-6", "schema-number-1", "regex-12", "tag-repeat")


@pytest.mark.parametrize("name", FINITE)
def test_numbers_do_not_depend_on_what_was_looked_up_first(name: str) -> None:
    case = next(case for case in CASES if case.name == name)
    cold = compile_case(engine.Compiler(small_vocabulary()), case)
    warm = compile_case(engine.Compiler(small_vocabulary()), case)
    matcher = engine.Matcher(warm)
    for byte in case.samples[0].encode():
        assert matcher.accept_bytes(bytes((byte,)))
    cold.precompute_all()
    warm.precompute_all()
    one, other = engine.inspect(cold), engine.inspect(warm)
    assert one.moves == other.moves
    reached = sorted({move.target for move in one.moves})
    assert [sorted(items_of(one, row)) for row in reached] == [
        sorted(items_of(other, row)) for row in reached
    ]


def test_a_row_graph_in_words() -> None:
    found = engine.inspect(compiled_grammar(NESTING), explore=9)
    assert items_of(found, 1) == [
        'list -> "[" · ("]" | <item>)  ends <root #2>',
        'item -> · ("0" | <list>)',
        'list -> · "[" ("]" | <item>)  ends <item>',
    ]
    assert items_of(found, 3)[0] == 'list -> "[" · ("]" | <item>)  ends <item>  from row 1'
    assert [(m.source, m.ranges, m.target) for m in found.moves[:4]] == [
        (0, ((91, 91),), 1),
        (1, ((48, 48),), 2),
        (1, ((91, 91),), 3),
        (1, ((93, 93),), 4),
    ]
    assert found.rows[4].accepts
    assert not found.rows[4].kernel


WAYS = [
    ('root ::= "name"', b"na", '"na·me"'),
    ('root ::= "\\"name\\""', b'"na', "'\"na·me\"'"),
    ('root ::= "a" [0-9] "b"', b"a", '"a" · [0-9] "b"'),
    ('root ::= ("ab" | "ac") "d"', b"a", '"a" · [bc] "d"'),
    ('root ::= ("ab" | a) "d"\na ::= "ac"', b"a", '"a·bd"'),
    ('root ::= ("ab" | "cde") "f"', b"", '· ("a" | "c")'),
    ('root ::= "a" "é" "b"', b"a", '"a·éb"'),
    ('root ::= "é"', "é".encode()[:1], '"\\xc3·\\xa9"'),
    ('root ::= "a"*', b"", '· ("a" | end)'),
    ('root ::= "abcdefghijklmnopqrstuvwxyz"', b"abcdefghijklmn", '… "cdefghijklmn·opqrstuvwxyz"'),
]


@pytest.mark.parametrize(("grammar", "text", "way"), WAYS, ids=[way for _, _, way in WAYS])
def test_ways_through_a_rule(grammar: str, text: bytes, way: str) -> None:
    """Unvisited states end a way; exploring visits all of these."""
    compiled = compiled_grammar(grammar)
    engine.inspect(compiled, explore=100)
    matcher = engine.Matcher(compiled)
    assert matcher.accept_bytes(text)
    found = engine.inspect(matcher)
    assert found.here is not None
    assert f"root -> {way}" in [text.split("  ")[0] for text in items_of(found, found.here[0])]


def test_registers_stand_at_rows_and_moves() -> None:
    found = engine.inspect(compiled_grammar(COUNTING), explore=2000)
    counts = [row.registers for row in found.rows if row.registers]
    assert counts[1][:2] == ((1,), (2,))
    assert max(values[0] for values in counts[1]) == 98
    rule = rule_named(found, "repeat{1,99}")
    assert (rule.kind, rule.automaton, rule.minimum, rule.maximum) == ("counted", "tabled", 1, 99)
    assert ((), (1,)) in [pair for move in found.moves for pair in move.registers]
    assert "counted, plenty" in found.text()


def test_what_nobody_visited_is_not_built() -> None:
    compiled = compiled_grammar('root ::= "a" b\nb ::= [0-9]+ "x"')
    found = engine.inspect(compiled)
    assert [rule.automaton for rule in found.rules] == ["unvisited", "lazy", "lazy"]
    assert not all(state.is_built for state in found.states.values())
    assert len(found.rows) == 1
    assert not found.moves
    assert engine.Matcher(compiled).accept_bytes(b"a1")
    found = engine.inspect(compiled)
    assert [rule.automaton for rule in found.rules] == ["tabled", "lazy", "lazy"]
    assert len(found.rows) == 3


def test_masks_say_what_they_are_made_of() -> None:
    compiled = engine.Compiler(small_vocabulary()).compile_json_schema({"type": "string"})
    matcher = engine.Matcher(compiled)
    assert matcher.accept_bytes(b'"')
    matcher.fill_bitmask(new_mask(compiled.vocabulary))
    found = engine.inspect(matcher)
    (kept,) = found.masks
    (token_mask,) = found.token_masks
    assert found.rules[found.states[token_mask.state].rule].name == "string body"
    assert token_mask.is_shared
    assert kept.token_masks == (0,)
    assert kept.allowed <= token_mask.accepted + sum(kept.outside) + kept.single
    assert 0 < sum(kept.outside) <= token_mask.uncertain
    assert f"{kept.allowed} tokens = token_mask 0" in found.text()


def test_special_tokens_are_moves() -> None:
    tag = {"type": "structural_tag", "format": {"type": "token", "token": "<tool_call>"}}
    compiled = engine.Compiler(small_vocabulary()).compile_structural_tag(tag)
    matcher = engine.Matcher(compiled)
    assert matcher.accept_token(small_vocabulary().tokens.index(b"<tool_call>"))
    found = engine.inspect(matcher)
    assert "<tool_call> => row 1" in found.text()
    assert found.here == (1, ())


def test_the_end_of_a_token_is_a_move_where_tokens_are_counted() -> None:
    tag = {
        "type": "structural_tag",
        "format": {"type": "any_text", "max_chars": 90, "max_tokens": 9},
    }
    compiled = engine.Compiler(small_vocabulary()).compile_structural_tag(tag)
    matcher = engine.Matcher(compiled)
    for token in (b"abc", b"abc"):
        assert matcher.accept_token(small_vocabulary().tokens.index(token))
    found = engine.inspect(matcher)
    ends = [move for move in found.moves if move.ends_token]
    assert [move.registers for move in ends] == [(((3, 0), (3, 1)), ((6, 1), (6, 2)))]
    assert "end of a token  [3 0]→[3 1], [6 1]→[6 2]" in found.text()
    assert found.here == (ends[0].target, (6, 2))


@pytest.mark.parametrize("case", SAMPLED[::5], ids=lambda case: case.name)
def test_labels_of_drawings_are_well_formed(case: Case) -> None:
    compiled = compile_case(engine.Compiler(small_vocabulary()), case)
    found = engine.inspect(compiled, explore=50)
    drawing = found.dot()
    for label in re.findall(r"label=<(<table.*</table>)>\]", drawing):
        ElementTree.fromstring(label)
    drawn = re.findall(r"(?m)^  (row\d+) \[shape", drawing)
    joined = re.findall(r"(?m)^  (row\d+) -> (row\d+)", drawing)
    assert drawn
    assert {name for pair in joined for name in pair} <= set(drawn)
    for rule in found.rules:
        assert found.dot(rule=rule.name).endswith("}\n")


def test_a_drawing_says_what_it_leaves_out() -> None:
    found = engine.inspect(compiled_grammar(NESTING), explore=50)
    assert 'label="47 more rows"' in found.dot(most=3)
    assert "more rows" not in found.dot(most=50)


def test_forced_text_is_one_edge() -> None:
    found = engine.inspect(compiled_grammar('root ::= "begin" [0-9] "end"'), explore=50)
    assert re.findall(r' \[label="(.*)"\];', found.dot()) == ['\\"begin\\"', "[0-9]", '\\"end\\"']


def test_an_automaton_can_be_drawn() -> None:
    found = engine.inspect(compiled_grammar(NUMBER), explore=20)
    drawing = found.dot(rule="number")
    assert drawing.count("shape=circle") == 6
    assert drawing.count("peripheries=2") == 3
    with pytest.raises(KeyError, match="nothing"):
        found.dot(rule="nothing")


def test_exploring_keeps_the_limits() -> None:
    with pytest.raises(engine.LimitExceeded, match="rows"):
        engine.inspect(compiled_grammar(NESTING, rows=20), explore=1000)


def test_looking_while_others_work() -> None:
    """Masks made beside an inspection in another thread are those made without one."""
    case = next(case for case in CASES if case.name == "schema-record")
    expected, found = new_mask(small_vocabulary()), new_mask(small_vocabulary())
    engine.Matcher(compile_case(engine.Compiler(small_vocabulary()), case)).fill_bitmask(expected)
    compiled = compile_case(engine.Compiler(small_vocabulary()), case)
    thread = threading.Thread(target=lambda: engine.inspect(compiled, explore=3000).text())
    thread.start()
    engine.Matcher(compiled).fill_bitmask(found)
    thread.join()
    assert np.array_equal(expected, found)


@pytest.mark.parametrize(
    ("ranges", "text"),
    [
        ([(97, 97)], '"a"'),
        ([(97, 98)], "[ab]"),
        ([(48, 57), (97, 102)], "[0-9a-f]"),
        ([(93, 93), (95, 95)], "[\\]_]"),
        ([(0, 9), (128, 191)], "[\\x00-\\t\\x80-\\xbf]"),
    ],
)
def test_classes_of_bytes(ranges: list[tuple[int, int]], text: str) -> None:
    assert byte_class(ranges) == text


@pytest.mark.parametrize(
    ("data", "text"),
    [(b"a", '"a"'), (b'"', "'\"'"), (b"\"'", '""\'"'), (b"\n", '"\\n"'), (b"\xff", '"\\xff"')],
)
def test_literals(data: bytes, text: str) -> None:
    assert literal(data) == text


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.name)
def test_pictures_show_what_the_engine_builds(picture: Picture) -> None:
    """If the engine builds something else now: ``make pictures``."""
    assert picture.mark() in picture.path.read_text("utf-8")


def test_a_copy_of_a_structural_tag_shows_nothing_that_other_matchers_visited() -> None:
    compiler = engine.Compiler(small_vocabulary())
    schema = {"type": "object", "properties": {f"n{n}": {"enum": ["a", "b"]} for n in range(200)}}
    tag = {"type": "structural_tag", "format": {"type": "json_schema", "json_schema": schema}}
    compiled = compiler.compile_structural_tag(tag)
    before = engine.inspect(compiler.copy_structural_tag(compiled), explore=30).text()
    assert engine.Matcher(compiled).accept_bytes(b'{"n123": "b"')
    assert engine.inspect(compiler.copy_structural_tag(compiled), explore=30).text() == before
    assert engine.inspect(compiled, explore=30).text() != before


def test_a_copy_has_limits_of_its_own_and_is_not_cached() -> None:
    compiler = engine.Compiler(small_vocabulary())
    compiled = compiler.compile_structural_tag({"format": {"type": "any_text"}})
    few = engine.Limits(most_generation_bytes=1)
    copy = compiler.copy_structural_tag(compiled, limits=few)
    assert (copy.limits, compiled.limits) == (few, compiler.limits)
    assert compiler.compile_structural_tag({"format": {"type": "any_text"}}) is compiled
    with pytest.raises(ValueError, match="not that of a structural tag"):
        compiler.copy_structural_tag(compiler.compile_regex("a"))


def test_the_budget_of_a_request_pays_for_an_inspection() -> None:
    """REGRESSION: an inspection went on for a second after its client had left."""
    compiled = compiled_grammar(COUNTING)
    few = engine.WorkBudget(engine.Limits(compile_steps=500))
    with pytest.raises(engine.LimitExceeded, match="compile_steps"):
        engine.inspect(compiled, explore=2000, budget=few)
    cancelled = engine.WorkBudget()
    cancelled.cancel()
    with pytest.raises(engine.Cancelled):
        engine.inspect(compiled, explore=2000, budget=cancelled)
    assert engine.inspect(compiled, budget=engine.WorkBudget()).rows


@pytest.mark.parametrize("explore", [0, 9, 500])
def test_states_are_counted_as_a_snapshot_has_them(explore: int) -> None:
    for spec in (COUNTING, NESTING):
        states = engine.inspect(compiled_grammar(spec), explore=explore).states.values()
        edges = sum(len(state.edges) for state in states)
        assert count_states(compiled_grammar(spec), explore) == (len(states), edges)


def test_the_budget_pays_for_the_automata_of_visited_positions() -> None:
    """REGRESSION: a large automaton behind the first row was free, and could not be cancelled."""
    compiler = engine.Compiler(small_vocabulary())
    schema = {"items": {"enum": [f"{number:05d}" for number in range(3_000)]}}
    budget = engine.WorkBudget()
    count_states(compiler.copy_json_schema(schema, limits=engine.Limits()), 60, budget)
    assert budget.spent > 1_000
    few = engine.WorkBudget(engine.Limits(compile_steps=1_000))
    with pytest.raises(engine.LimitExceeded, match="compile_steps"):
        count_states(compiler.copy_json_schema(schema, limits=engine.Limits()), 60, few)


def test_states_are_counted_without_an_object_for_each() -> None:
    """REGRESSION: a report on ten patterns held the interpreter lock for 0.06 s."""
    schema = {"allOf": [{"type": "string", "pattern": f"a{number}"} for number in range(6)]}
    compiler = engine.Compiler(small_vocabulary())

    def copy() -> engine.Compiled:
        return compiler.copy_json_schema(schema, limits=engine.Limits())

    counting, reading = engine.WorkBudget(), engine.WorkBudget()
    states, _ = count_states(copy(), 100, counting)
    engine.inspect(copy(), explore=100, budget=reading)
    assert reading.spent - counting.spent > states
