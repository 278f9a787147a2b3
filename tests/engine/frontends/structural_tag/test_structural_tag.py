"""Structural tags accept what the tables say, name the place of mistakes, and mark their parts."""

import pytest

from engine.errors import LimitExceeded, SpecError, UnsupportedSchema
from engine.frontends.grammar_text import build_grammar
from engine.frontends.json_schema import build_json_schema
from engine.frontends.regex.front_end import build_regex
from engine.frontends.structural_tag.structural_tag import build_structural_tag
from engine.frontends.structural_tag.tag_vocabulary import (
    KEPT,
    KEPT_CHARACTERS,
    KEPT_MARKS,
    TagVocabulary,
)
from engine.grammar import ir
from engine.grammar.ir import Grammar
from engine.limits import Limits
from engine.native.resources import WorkBudget
from tests.engine.frontends.structural_tag import (
    dispatch_cases,
    excludes_cases,
    tag_cases,
    triggered_cases,
    xml_cases,
)
from tests.engine.frontends.structural_tag.tag_specs import (
    ANY_TEXT,
    CALLS,
    F_A,
    INTEGER,
    LETTERS,
    SPECIALS,
    STOPS,
    T_A,
    TOKENS,
    A,
    B,
    Case,
    by_token,
    const,
    either,
    letters,
    separated,
    seq,
    some,
    tag,
    text,
    token,
    triggered,
)
from tests.reference import Recogniser
from tests.reference_letters import TOKEN

VOCABULARY = TagVocabulary(SPECIALS, STOPS, TOKENS)
CASES = (
    *tag_cases.CASES,
    *triggered_cases.CASES,
    *dispatch_cases.CASES,
    *xml_cases.CASES,
    *excludes_cases.CASES,
)


def build(document, *, limits=None, schema=build_json_schema, regex=build_regex) -> Grammar:
    grammar = Grammar(limits or Limits())
    node = build_structural_tag(
        grammar,
        document,
        vocabulary=VOCABULARY,
        build_schema=schema,
        build_regex=regex,
        build_grammar=build_grammar,
    )
    grammar.root = grammar.rule("root", node)
    grammar.check()
    return grammar


def wrap(form):
    return {"type": "structural_tag", "format": form}


def accepts(recogniser: Recogniser, parts) -> bool:
    """An ordinary token, here one byte, may be read as that byte or by its id."""
    columns = [recogniser.start()]
    for i in letters(parts):
        columns = recogniser.after_token(columns, i, bytes([i]) if i < TOKEN else b"")
    return any(column.accepts() for column in columns)


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_accepts_what_the_table_says(case: Case):
    recogniser = Recogniser(build(wrap(case.format)))
    wrong = [parts for parts in (*case.yes, *case.ours) if not accepts(recogniser, parts)]
    wrong += [parts for parts in (*case.no, *case.theirs) if accepts(recogniser, parts)]
    assert wrong == []


def test_the_table_is_large_and_its_names_are_its_own():
    """Names are test ids, so they must differ; every deviation has a reason."""
    assert len({case.name for case in CASES}) == len(CASES)
    assert sum(len(c.yes) + len(c.no) + len(c.ours) + len(c.theirs) for c in CASES) >= 700
    assert [c.name for c in CASES if bool(c.ours or c.theirs) != bool(c.reason)] == []


LEGACY = {
    "type": "structural_tag",
    "structures": [
        {"begin": "<f=a>", "schema": {"type": "integer"}, "end": "</f>"},
        {"begin": "<f=b>", "schema": '{"type": "boolean"}', "end": ""},
    ],
    "triggers": ["<f="],
}


def test_the_older_spelling_is_triggered_tags():
    recogniser = Recogniser(build(LEGACY))
    for good in ("", "x", "x<f=a>12</f>y<f=b>true", ("<f=a>1</f>", A)):
        assert accepts(recogniser, good), good
    for bad in ("<f=c>", "<f=a>true</f>", "<f=b>1", "<f=a>1"):
        assert not accepts(recogniser, bad), bad


@pytest.mark.parametrize("document", [{"format": const("a")}, wrap(const("a"))])
def test_the_type_of_the_document_may_be_left_out(document):
    assert accepts(Recogniser(build(document)), "a")


# -- errors ---------------------------------------------------------------------------------------

TT = triggered(["<f="], [F_A])
BY = by_token(["<|a|>"], [T_A])
SEP = separated([F_A], ",")


def without(spec, *names):
    return {name: value for name, value in spec.items() if name not in names}


def old_with(schema):
    return {"structures": [{"begin": "a", "schema": schema, "end": ""}], "triggers": ["a"]}


def xml(schema, style="qwen_xml"):
    return {"type": "json_schema", "json_schema": schema, "style": style}


SPEC_ERRORS = [
    ([], ""),
    ("x", ""),
    (None, ""),
    ({}, ""),
    ({"type": "structural_tag"}, ""),
    ({"type": "other", "format": ANY_TEXT}, "/type"),
    (wrap([]), "/format"),
    (wrap("any_text"), "/format"),
    (wrap({}), "/format"),
    (wrap({"type": 1}), "/format/type"),
    (wrap({"type": None}), "/format/type"),
    (wrap({"type": "const_string"}), "/format"),
    (wrap(const(1)), "/format/value"),
    (wrap(const("\ud800")), "/format/value"),
    (wrap({"type": "json_schema"}), "/format"),
    (wrap({"type": "json_schema", "json_schema": "{}"}), "/format/json_schema"),
    (wrap({"type": "json_schema", "json_schema": None}), "/format/json_schema"),
    (wrap({"type": "regex", "pattern": ["a"]}), "/format/pattern"),
    (wrap({"type": "any_text", "excludes": "a"}), "/format/excludes"),
    (wrap({"type": "any_text", "excludes": [""]}), "/format/excludes/0"),
    (wrap({"type": "any_text", "excludes": ["a", 1]}), "/format/excludes/1"),
    (wrap({"type": "any_text", "excludes": None}), "/format/excludes"),
    (wrap({**INTEGER, "excludes": ["a", ""]}), "/format/excludes/1"),
    (wrap(token("<|nope|>")), "/format/token"),
    (wrap(token("a")), "/format/token"),
    (wrap(token(-1)), "/format/token"),
    (wrap(token(True)), "/format/token"),
    (wrap(token(1.0)), "/format/token"),
    # REGRESSION: ids beyond 32 bits were an internal error
    (wrap(token(1 << 16)), "/format/token"),
    (wrap(token(1 << 32)), "/format/token"),
    (wrap({"type": "exclude_token", "exclude_tokens": [0, 10**30]}), "/format/exclude_tokens/1"),
    (wrap({"type": "any_tokens", "exclude_tokens": [1 << 64]}), "/format/exclude_tokens/0"),
    (wrap({"type": "token"}), "/format"),
    (wrap(seq()), "/format/elements"),
    (wrap(either()), "/format/elements"),
    (wrap({"type": "sequence", "elements": const("a")}), "/format/elements"),
    (wrap(seq(const("a"), 1)), "/format/elements/1"),
    (wrap(either(const("a"), seq(const(1)))), "/format/elements/1/elements/0/value"),
    (wrap({"type": "star"}), "/format"),
    (wrap(some("plus", const(1))), "/format/content/value"),
    (wrap(without(F_A, "begin")), "/format"),
    (wrap(without(F_A, "content")), "/format"),
    (wrap(without(F_A, "end")), "/format"),
    (wrap(tag(1, const("a"), "b")), "/format/begin"),
    (wrap(tag("a", const(1), "b")), "/format/content/value"),
    (wrap(tag("a", const("a"), 1)), "/format/end"),
    (wrap(tag("a", const("a"), [])), "/format/end"),
    (wrap(tag("a", const("a"), ["b", 1])), "/format/end/1"),
    (wrap(tag("a", const("a"), ["b", token(A)])), "/format/end/1"),
    (wrap(tag(token("<|nope|>"), const("a"), "b")), "/format/begin/token"),
    (wrap(tag("a", const("a"), token("<|nope|>"))), "/format/end/token"),
    (wrap(tag("a", const("a"), const("b"))), "/format/end/type"),
    (wrap(tag({"type": "token"}, const("a"), "b")), "/format/begin"),
    (wrap(tag("a", ANY_TEXT, "")), "/format/end"),
    (wrap(tag("a", ANY_TEXT, [""])), "/format/end"),
    (wrap(tag("a", seq(ANY_TEXT, const("x")), "")), "/format/end"),
    (wrap(tag("a", some("optional", either(const("b"), TT)), "")), "/format/end"),
    (wrap(tag("a", BY, "")), "/format/end"),
    (wrap(without(TT, "triggers")), "/format"),
    (wrap({**TT, "triggers": []}), "/format/triggers"),
    (wrap({**TT, "triggers": "<f="}), "/format/triggers"),
    (wrap({**TT, "triggers": [""]}), "/format/triggers/0"),
    (wrap({**TT, "triggers": ["<f=", 1]}), "/format/triggers/1"),
    (wrap({**TT, "triggers": ["<f=", "<g="]}), "/format/triggers/1"),
    (wrap({**TT, "triggers": ["<g="]}), "/format/tags/0/begin"),
    (wrap({**TT, "tags": []}), "/format/tags"),
    (wrap({**TT, "tags": F_A}), "/format/tags"),
    (wrap({**TT, "tags": [F_A, tag("g", const("a"), "b")]}), "/format/tags/1/begin"),
    (wrap({**TT, "tags": [F_A, T_A]}), "/format/tags/1/begin"),
    (wrap({**TT, "tags": [const("a")]}), "/format/tags/0/type"),
    (wrap({**TT, "tags": ["a"]}), "/format/tags/0"),
    (wrap({**TT, "tags": [tag("<f=", seq(), "b")]}), "/format/tags/0/content/elements"),
    (wrap({**TT, "excludes": [""]}), "/format/excludes/0"),
    (wrap({**TT, "at_least_one": 1}), "/format/at_least_one"),
    (wrap({**TT, "stop_after_first": "no"}), "/format/stop_after_first"),
    (wrap({**BY, "trigger_tokens": []}), "/format/trigger_tokens"),
    (wrap({**BY, "trigger_tokens": ["<|nope|>"]}), "/format/trigger_tokens/0"),
    (wrap({**BY, "trigger_tokens": [A, B]}), "/format/trigger_tokens/1"),
    (wrap({**BY, "exclude_tokens": ["a"]}), "/format/exclude_tokens/0"),
    (wrap({**BY, "tags": []}), "/format/tags"),
    (wrap({**BY, "tags": [tag("<|a|>", const("1"), "")]}), "/format/tags/0/begin"),
    (wrap({**BY, "tags": [tag(token(B), const("1"), "")]}), "/format/tags/0/begin"),
    (wrap(without(SEP, "separator")), "/format"),
    (wrap({**SEP, "separator": None}), "/format/separator"),
    (wrap({**SEP, "tags": []}), "/format/tags"),
    (wrap(tag("a", seq(const("x"), {**SEP, "tags": []}), "b")), "/format/content/elements/1/tags"),
    (wrap({"type": "repeat", "content": F_A, "min": 0}), "/format"),
    (wrap({"type": "repeat", "content": F_A, "min": -1, "max": 1}), "/format/min"),
    (wrap({"type": "repeat", "content": F_A, "min": 0, "max": -2}), "/format/max"),
    (wrap({"type": "repeat", "content": F_A, "min": 2, "max": 1}), "/format/max"),
    (wrap({"type": "repeat", "content": F_A, "min": 0, "max": 2**31}), "/format/max"),
    (wrap({"type": "repeat", "content": F_A, "min": 0, "max": True}), "/format/max"),
    (wrap({"type": "repeat", "content": const(1), "min": 0, "max": 1}), "/format/content/value"),
    (wrap({"type": "exclude_token", "exclude_tokens": ["x"]}), "/format/exclude_tokens/0"),
    (wrap({"type": "exclude_token", "exclude_tokens": "x"}), "/format/exclude_tokens"),
    (wrap({"type": "any_tokens", "max_tokens": -1}), "/format/max_tokens"),
    (wrap({"type": "any_tokens", "exclude_tokens": [A, -1]}), "/format/exclude_tokens/1"),
    (wrap(tag("a", {"type": "any_tokens"}, "")), "/format/end"),
    (wrap({**ANY_TEXT, "max_chars": -1}), "/format/max_chars"),
    (wrap({**ANY_TEXT, "max_chars": 1.0}), "/format/max_chars"),
    (wrap({**ANY_TEXT, "max_tokens": -1}), "/format/max_tokens"),
    (wrap({**ANY_TEXT, "max_tokens": True}), "/format/max_tokens"),
    (wrap({"type": "dispatch"}), "/format"),
    (wrap({"type": "dispatch", "rules": []}), "/format/rules"),
    (wrap({"type": "dispatch", "rules": [["a"]]}), "/format/rules/0"),
    (wrap({"type": "dispatch", "rules": [["", ANY_TEXT]]}), "/format/rules/0/0"),
    (wrap({"type": "dispatch", "rules": [["a", ANY_TEXT], ["b", 1]]}), "/format/rules/1/1"),
    (wrap({"type": "dispatch", "rules": [["a", ANY_TEXT]], "loop": 1}), "/format/loop"),
    (wrap({"type": "token_dispatch", "rules": [["a", ANY_TEXT]]}), "/format/rules/0/0"),
    (wrap(tag("a", {"type": "dispatch", "rules": [["b", F_A]]}, "")), "/format/end"),
    (wrap({"type": "grammar", "grammar": "root ::= 'a'"}), "/format/grammar"),
    (wrap({"type": "grammar", "grammar": 1}), "/format/grammar"),
    (wrap(xml({"properties": []})), "/format/json_schema/properties"),
    (wrap(xml({"required": [[]]})), "/format/json_schema/required"),
    (wrap(xml({"properties": {"a": {"anyOf": 1}}})), "/format/json_schema/properties/a/anyOf"),
    (
        wrap(xml({"properties": {"a": {"type": "string", "pattern": 1}}})),
        "/format/json_schema/properties/a/pattern",
    ),
    (
        wrap(xml({"properties": {"a": {"type": "array", "maxItems": "x"}}}, "cohere_xml")),
        "/format/json_schema/properties/a/maxItems",
    ),
    (wrap(xml({"properties": {"a": 1}})), "/format/json_schema/properties/a"),
    (wrap(xml({"properties": {"a": {"type": "text"}}})), "/format/json_schema/properties/a/type"),
    (
        wrap(xml({"properties": {"a": {"type": "string", "maxLength": -1}}})),
        "/format/json_schema/properties/a/maxLength",
    ),
    (
        wrap(xml({"properties": {"a": {"type": "string", "pattern": "("}}})),
        "/format/json_schema/properties/a/pattern",
    ),
    (
        wrap(xml({"properties": {"a": {"allOf": []}}})),
        "/format/json_schema/properties/a/allOf",
    ),
    (wrap(xml({"$ref": "#"})), "/format/json_schema"),
    (wrap(xml({"$ref": "#/$defs/x"})), "/format/json_schema/$ref"),
    ({**LEGACY, "structures": []}, "/structures"),
    ({**LEGACY, "structures": [1]}, "/structures/0"),
    ({**LEGACY, "triggers": []}, "/triggers"),
    ({**LEGACY, "triggers": ["<g"]}, "/structures/0/begin"),
    ({**LEGACY, "triggers": ["<f=", "<g"]}, "/triggers/1"),
    ({"structures": [{"begin": "a", "end": "b"}], "triggers": ["a"]}, "/structures/0"),
    (old_with("{"), "/structures/0/schema"),
    (old_with(1), "/structures/0/schema"),
]  # fmt: skip


@pytest.mark.parametrize(("document", "pointer"), SPEC_ERRORS)
def test_mistakes_are_named_by_their_place(document, pointer):
    with pytest.raises(SpecError) as caught:
        build(document)
    assert caught.value.pointer == pointer
    assert not isinstance(caught.value, UnsupportedSchema)


J = {"type": "json_schema", "json_schema": True}
UNSUPPORTED = [
    (wrap(seq(const("a"), {"type": "frobnicate"})), "/format/elements/1", "frobnicate"),
    (wrap({**J, "style": "yaml"}), "/format", "style"),
    # REGRESSION: a TypeError
    (wrap({**J, "style": ["json"]}), "/format", "style"),
    (wrap({"type": "token_dispatch", "rules": [[97, ANY_TEXT]]}), "/format/rules/0/0", "rules"),
    (wrap({"type": "dispatch", "rules": [["a", ANY_TEXT]], "x": 1}), "/format", "x"),
    (wrap({"type": "any_tokens", "max_chars": 1}), "/format", "max_chars"),
    (wrap({**J, "style": "qwen_xml", "excludes": ["a", " b"]}), "/format", "excludes"),
    (wrap({**const("a"), "flags": 0}), "/format", "flags"),
    (wrap({**some("star", const("a")), "max": 3}), "/format", "max"),
    (wrap({**F_A, "name": "a"}), "/format", "name"),
    (wrap({**TT, "tags": [{**F_A, "name": "a"}]}), "/format/tags/0", "name"),
    (wrap(tag({**token(A), "x": 1}, const("a"), "b")), "/format/begin", "x"),
    (wrap({**BY, "excludes": ["a"]}), "/format", "excludes"),
    (wrap({**BY, "trigger_tokens": [97]}), "/format/trigger_tokens/0", "trigger_tokens"),
    (wrap({**BY, "exclude_tokens": [97]}), "/format/exclude_tokens/0", "exclude_tokens"),
    (wrap(xml({"type": "integer"})), "/format/json_schema/type", "type"),
    (wrap(xml({"minProperties": 2})), "/format/json_schema/minProperties", "minProperties"),
    (wrap(xml({"required": [""]})), "/format/json_schema/required", "required"),
    (
        wrap(xml({"properties": {"": {}}, "required": [""]}, "minimax_m3_xml")),
        "/format/json_schema/required",
        "required",
    ),
    (
        wrap(xml({"properties": {"a": {"minProperties": 2}}}, "cohere_xml")),
        "/format/json_schema/properties/a/minProperties",
        "minProperties",
    ),
    (
        wrap(xml({"properties": {"a": {"minProperties": 2}}}, "python")),
        "/format/json_schema/properties/a/minProperties",
        "minProperties",
    ),
    (
        wrap(xml({"not": {"additionalProperties": {"type": "string"}}}, "cohere_xml")),
        "/format/json_schema/not",
        "not",
    ),
    *(
        (
            wrap(xml({"properties": {"a": {"items": items, "uniqueItems": True}}}, style)),
            "/format/json_schema/properties/a/uniqueItems",
            "uniqueItems",
        )
        for style, items in (
            ("minimax_m3_xml", {"type": "integer"}),
            ("cohere_xml", {"type": "string"}),
            # REGRESSION: they were compared as JSON, which 'a, b' and <|"|>a"<|"|> are not
            ("python", {"type": "string"}),
            ("gemma", {"type": ["integer", "string"]}),
        )
    ),
    (
        wrap(xml({"properties": {"a": {"const": "x</parameter>"}}})),
        "/format/json_schema/properties/a/const",
        "const",
    ),
    *(
        (wrap(xml(schema, style)), f"/format/json_schema{pointer}", keyword)
        for style, schema, pointer, keyword in (
            (
                "qwen_xml",
                {"properties": {"a": {"enum": ["x", "</parameter>"]}}},
                "/properties/a/enum/1",
                "enum",
            ),
            ("cohere_xml", {"const": {"a": [{"b": "</cofl:value>"}]}}, "/const", "const"),
            ("qwen_xml", {"enum": [{"a": 1}, {"": 1}]}, "/enum/1", "enum"),
            (
                "minimax_m3_xml",
                {"properties": {"a": {"const": [{"": 1}]}}},
                "/properties/a/const",
                "const",
            ),
            (
                "gemma",
                {"properties": {"a": {"items": {"enum": ['<|"|>']}}}},
                "/properties/a/items/enum/0",
                "enum",
            ),
            (
                "minimax_m3_xml",
                {
                    "allOf": [{"properties": {"a": {"items": {"$ref": "#/$defs/d"}}}}],
                    "$defs": {"d": {"enum": ["x]<]minimax[>["]}},
                },
                "/$defs/d/enum/0",
                "enum",
            ),
        )
    ),
    ({**wrap(ANY_TEXT), "strict": True}, "", "strict"),
    ({**LEGACY, "format": ANY_TEXT}, "", "format"),
    ({**LEGACY, "x": 1}, "", "x"),
]


@pytest.mark.parametrize(("document", "pointer", "keyword"), UNSUPPORTED)
def test_what_is_not_supported_is_refused_by_name(document, pointer, keyword):
    with pytest.raises(UnsupportedSchema) as caught:
        build(document)
    assert (caught.value.pointer, caught.value.keyword) == (pointer, keyword)


def test_fields_at_their_defaults_pass():
    spec = {**J, "style": "json", "any_order": False, "max_whitespace_cnt": None, "excludes": []}
    build(wrap(seq(spec, {**ANY_TEXT, "max_tokens": None, "max_chars": None, "excludes": []})))
    build(wrap(seq({**spec, "max_whitespace_cnt": 21}, {"type": "any_tokens", "max_tokens": None})))


def test_errors_of_schemas_and_patterns_keep_their_place():
    """The front ends that tags embed get the pointer of what they build."""
    document = wrap({**TT, "tags": [tag("<f=a>", {"type": "regex", "pattern": "("}, "b")]})
    with pytest.raises(SpecError) as caught:
        build(document)
    assert caught.value.pointer == "/format/tags/0/content/pattern"
    schema = {"type": "object", "properties": {"a": {"type": "nonsense"}}}
    with pytest.raises(SpecError) as caught:
        build(wrap({"type": "json_schema", "json_schema": schema}))
    assert caught.value.pointer.startswith("/format/json_schema/properties/a")


def test_parts_are_built_with_their_pointers():
    seen = []

    def part(grammar, value, *, pointer, **options):
        seen.append((value, pointer))
        return grammar.bytes(b"x")

    calls = {**TT, "tags": [tag("<f=a", LETTERS, "b"), tag("<f=b", INTEGER, "b")]}
    build(wrap({**calls, "at_least_one": True}), schema=part, regex=part)
    build(LEGACY, schema=part, regex=part)
    assert seen == [
        ("[a-z]+", "/format/tags/0/content/pattern"),
        ({"type": "integer"}, "/format/tags/1/content/json_schema"),
        ({"type": "integer"}, "/structures/0/schema"),
        ({"type": "boolean"}, "/structures/1/schema"),
    ]


# -- limits ---------------------------------------------------------------------------------------


def nested(levels: int):
    """A document of ``levels`` levels: itself, a format in each, and a list in each sequence."""
    form = const("a") if levels % 2 == 0 else some("plus", const("a"))
    for _ in range((levels - 1) // 2 - (levels % 2)):
        form = seq(form)
    return wrap(form)


def depth_of(value) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return isinstance(value, dict | list) + max(map(depth_of, inner), default=0)


@pytest.mark.parametrize("levels", [10, 11, 128])
def test_nesting_is_bounded(levels):
    """At the bound a document is built; one level more is refused."""
    assert depth_of(nested(levels)) == levels
    build(nested(levels), limits=Limits(spec_depth=levels))
    with pytest.raises(LimitExceeded) as caught:
        build(nested(levels), limits=Limits(spec_depth=levels - 1))
    error = caught.value
    assert (error.limit, error.maximum, error.got) == ("spec_depth", levels - 1, levels)
    assert error.pointer.startswith("/format")


@pytest.mark.parametrize("style", ["qwen_xml", "cohere_xml"])
def test_schemas_in_xml_are_bounded(style):
    """Neither a deep schema nor a circle of references grows Python's stack without end."""
    circle = {"anyOf": [{"$ref": "#/$defs/a"}, {"type": "null"}]}
    deep = {"type": "string"}
    for _ in range(10_000):
        deep = {"anyOf": [deep]}
    for schema in (
        {"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": circle}},
        {"properties": {"a": deep}},
    ):
        # depth, and a circle, which is a mistake
        with pytest.raises((LimitExceeded, SpecError), match=r"spec_depth|leads back here"):
            build(wrap(xml(schema, style)))


def test_nested_elements_may_recur():
    """A tree of objects, in the styles that write objects as elements."""
    node = {
        "type": "object",
        "properties": {"next": {"$ref": "#/$defs/n"}, "v": {"type": "integer"}},
    }
    node["additionalProperties"] = False
    schema = {"$ref": "#/$defs/n", "$defs": {"n": node}}
    recogniser = Recogniser(build(wrap(xml(schema, "cohere_xml"))))
    inner = '<cofl:value name="v" type="json">7</cofl:value>'
    for _ in range(3):
        assert accepts(recogniser, inner)
        inner = f'<cofl:value name="next" type="dict">{inner}</cofl:value>'
    assert not accepts(recogniser, inner.replace("7", "x"))


@pytest.mark.parametrize("kind", ["sequence", "star", "tag", "list"])
def test_nesting_without_end_is_refused_without_recursion(kind):
    form = const("a")
    for _ in range(10_000):
        if kind == "sequence":
            form = seq(form)
        elif kind == "list":
            form = [form]
        else:
            form = tag("a", form, "b") if kind == "tag" else some(kind, form)
    with pytest.raises(LimitExceeded, match="spec_depth"):
        build(wrap(form))


def test_spellings_of_a_trigger_are_bounded():
    """Three special tokens in a trigger are eight patterns; four are refused."""
    begin = "<|a|>" * 3
    build(wrap(triggered([begin], [tag(begin, const("1"), "")])))
    begin += "<|b|>"
    with pytest.raises(LimitExceeded) as caught:
        build(wrap(triggered([begin], [tag(begin, const("1"), "")])))
    error = caught.value
    assert (error.limit, error.maximum, error.got) == ("tag_spellings", 8, 16)
    assert error.pointer == "/format/tags/0/begin"
    with pytest.raises(LimitExceeded) as caught:
        build(wrap(text("a", begin)))
    assert caught.value.pointer == "/format/excludes"
    build(wrap(const(begin * 10)))


def test_what_is_kept_of_a_vocabulary_is_bounded():
    """Results for common marks are made once; those for huge or ever new marks are not hoarded."""
    vocabulary = TagVocabulary(SPECIALS, STOPS, TOKENS)

    def around(*excludes):
        return vocabulary.patterns_of(excludes, (), (), frozenset(), "", "", WorkBudget())

    assert around("a", "<|a|>") is around("a", "<|a|>")
    assert around("a" * (KEPT_CHARACTERS + 1)) is not around("a" * (KEPT_CHARACTERS + 1))
    assert around("a" * KEPT_CHARACTERS) is around("a" * KEPT_CHARACTERS)
    many = [chr(0x4E00 + n) for n in range(KEPT_MARKS + 1)]
    assert around(*many) is not around(*many)
    first = around("first")
    for n in range(KEPT):
        around(f"other {n}")
    assert around("first") is not first
    assert around("first") == first


def test_compiles_share_what_depends_on_the_vocabulary_alone():
    """The same document gives the same nodes, whatever was compiled before."""
    form = wrap(seq(text(*SPECIALS), CALLS))
    first = build(form)
    build(wrap(text("x")))
    assert list(first.nodes) == list(build(form).nodes)


def test_many_tags_and_excludes_stay_linear_in_nodes():
    """Each tag costs a few nodes, though there is an arm for every spelling of its trigger."""
    tags = [tag(f"<|a|>f{n}=", const("1"), "<|b|>") for n in range(200)]
    grammar = build(
        wrap(triggered(["<|a|>f"], tags, excludes=list(SPECIALS)[1:], at_least_one=True))
    )
    assert len(grammar.nodes) < 200 * 20


# -- captures -------------------------------------------------------------------------------------


def captures(grammar: Grammar) -> set[tuple[str, str]]:
    return {node[1:3] for node in grammar.nodes if node[0] == ir.CAPTURE}


CALL_MARKS = {
    ("/format/tags/0", "tag"),
    ("/format/tags/0", "begin"),
    ("/format/tags/0/content", "text"),
    ("/format/tags/0", "end"),
}
CAPTURES = [
    (const("a"), {("/format", "text")}),
    (INTEGER, {("/format", "text")}),
    (LETTERS, {("/format", "text")}),
    (ANY_TEXT, {("/format", "text")}),
    (token(A), {("/format", "text")}),
    (seq(const("a"), ANY_TEXT), {("/format/elements/0", "text"), ("/format/elements/1", "text")}),
    (either(const("a"), INTEGER), {("/format/elements/0", "text"), ("/format/elements/1", "text")}),
    (some("plus", const("a")), {("/format/content", "text")}),
    (some("star", ANY_TEXT), {("/format/content", "text")}),
    (TT, {("/format", "text"), *CALL_MARKS}),
    (BY, {("/format", "text"), *CALL_MARKS}),
    (SEP, {("/format", "text"), *CALL_MARKS}),
    ({**SEP, "separator": ""}, CALL_MARKS),
    ({**TT, "at_least_one": True, "stop_after_first": True}, CALL_MARKS),
]


@pytest.mark.parametrize(("form", "expected"), CAPTURES)
def test_parts_are_captured_under_their_pointers(form, expected):
    assert captures(build(wrap(form))) == expected


def test_the_older_spelling_is_captured_under_its_own_pointers():
    made = captures(build(LEGACY))
    assert {label for label, _ in made} == {
        "", "/structures/0", "/structures/0/schema", "/structures/1", "/structures/1/schema"
    }  # fmt: skip


def only(grammar: Grammar, kind: int) -> tuple:
    found = [node for node in grammar.nodes if node[0] == kind]
    assert len(found) == 1
    return found[0]


def test_text_up_to_the_end_of_a_tag_is_one_dispatch():
    """The ends are arms that lead out of the text, so that text and end are never confused."""
    grammar = build(wrap(tag("<a>", text("q"), ["</a>", "<|b|>"])))
    _, arms, excludes, specials, open_end, *_ = only(grammar, ir.DISPATCH)
    assert [arm[0] for arm in arms] == [tuple(b"</a>"), tuple(b"<|b|>"), (TOKEN + B,)]
    ends = {grammar.nodes[arm[1]] for arm in arms}
    assert ends == {(ir.CAPTURE, "/format", "end", grammar.empty())}
    assert [arm[2] for arm in arms] == [False] * 3
    assert excludes == (tuple(b"q"),)
    assert specials == tuple(sorted({A, SPECIALS["<|trig|>"]}))
    assert not open_end


def test_calls_up_to_the_end_of_a_tag_are_one_dispatch():
    grammar = build(wrap(tag("<r>", CALLS, "</r>")))
    _, arms, _, _, open_end, *_ = only(grammar, ir.DISPATCH)
    assert [(arm[0], arm[2]) for arm in arms] == [(tuple(b"<f="), True), (tuple(b"</r>"), False)]
    assert not open_end


def test_an_arm_holds_all_tags_of_a_trigger_without_the_trigger():
    grammar = build(wrap(CALLS))
    _, ((pattern, node, returns),), _, _, open_end, *_ = only(grammar, ir.DISPATCH)
    kind, tags = grammar.nodes[node]
    assert (pattern, kind, returns, open_end) == (tuple(b"<f="), ir.ALT, True, True)
    begins = []
    for number in tags:
        _, label, role, inner = grammar.nodes[number]
        opened = grammar.nodes[grammar.nodes[inner][1][0]]
        begins.append((label, role, opened[1:3], grammar.nodes[opened[3]]))
    assert begins == [
        (place, "tag", (place, "begin"), (ir.BYTES, rest))
        for place, rest in (("/format/tags/0", b"a>"), ("/format/tags/1", b"b>"))
    ]


def test_the_body_of_a_tag_is_one_rule_however_it_is_reached():
    """Whether first or in the text, and in both spellings of the trigger."""
    form = triggered(["<|a|>"], [tag("<|a|>f", INTEGER, "</f>")], at_least_one=True)
    grammar = build(wrap(form))
    assert grammar.rule_names.count("/format/tags/0") == 1
    assert grammar.rule_names.count("integer") == 1


def test_free_text_holds_no_stop_token_and_no_excluded_one():
    for form, expected in (
        (ANY_TEXT, {"<|a|>", "<|b|>", "<|trig|>"}),
        (text("<|a|>"), {"<|b|>", "<|trig|>"}),
        (text(*SPECIALS), set()),
        (TT, {"<|a|>", "<|b|>", "<|trig|>"}),
        (triggered(["<|a|>f"], [tag("<|a|>f", const("1"), "")]), {"<|a|>", "<|b|>", "<|trig|>"}),
        ({**BY, "exclude_tokens": ["<|trig|>"]}, {"<|b|>"}),
    ):
        specials = only(build(wrap(form)), ir.DISPATCH)[3]
        assert set(specials) == {SPECIALS[name] for name in expected}


def test_excluding_every_special_token_leaves_no_pattern_that_can_not_occur():
    """The bytes of a special token's text stay excluded; its id needs no pattern."""
    excludes = only(build(wrap(text(*SPECIALS))), ir.DISPATCH)[2]
    assert excludes == tuple(tuple(name.encode()) for name in SPECIALS)
