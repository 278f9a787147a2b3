"""What counted text, token sets, repetitions, dispatches and grammars accept; see tag_specs."""

from .tag_specs import (
    ANY_TEXT,
    BOUNDED_END,
    CALL,
    EOS,
    FIRST_END,
    FIRST_TRIGGER,
    NO_CHARACTERS,
    REPEATED_TOKEN,
    TRIG,
    WHOLE_CHARACTERS,
    WHOLE_TEXT,
    A,
    B,
    Case,
    any_tokens,
    bounded,
    const,
    dispatch,
    either,
    exclude_token,
    grammar,
    repeat,
    seq,
    some,
    tag,
    text,
    token,
    token_dispatch,
)

ONE_TWO = dispatch(["<f>", const("1;")], ["<g>", const("2;")])
TOKEN_ONE = token_dispatch(["<|a|>", const("1;")])

COUNTED = (
    Case("max chars", bounded(3), ("", "abc", "ééé", "\U0001f600" * 3), ("abcd", "éééé", b"\xc3")),
    Case("no chars", bounded(0), ("",), ("a", (A,))),
    Case("one char", bounded(1), ("", "é"), ("ab", b"\xff")),
    Case("max chars and specials", bounded(5), ("<|a|>",), (), theirs=((A,),), reason=NO_CHARACTERS),
    Case("max chars and excludes", bounded(4, "bb"), ("abab", "b", "babb"[:3]), ("abba", "abcde", "bb")),
    Case("max chars, excludes é", bounded(2, "é"), ("ab", "è"), ("é", "aé", "abc")),
    Case(
        "counted tag",
        tag("<t>", bounded(3), "</t>"),
        ("<t></t>", "<t>abc</t>", "<t></</t>", "<t></t</t>", "<t>é</t>"),
        ("<t>abcd</t>", "<t>a", "<t>abc</t", "<t></t></t>", "abc</t>"),
    ),
    Case(
        "counted tag without an end",
        tag("<t>", bounded(3), ""),
        no=("<t>abcd", "abc"),
        ours=("<t>", "<t>abc"),
        reason=BOUNDED_END,
        xgrammar_compiles=False,
    ),
    Case(
        "counted text and more",
        seq(bounded(3), const("END")),
        ("END", "abcEND", "ENDEND"),
        ("abcdEND", "xENDEND", "EN"),
    ),
    Case("counted text twice", seq(bounded(2), const("-"), bounded(1)), ("-", "ab-c", "--", "---"), ("abc-", "ab-cd")),
    Case("star of counted text", some("star", bounded(2)), ("", "abc", "abcde"), (b"\xc3",)),
    Case("counted text repeated", repeat(bounded(2), 1, 2), ("", "abcd"), ("abcde",)),
    Case("counted excludes repeated", repeat(bounded(2, "bb"), 1, 2), ("abab", "b"), ("babab",), theirs=("abba",), reason=WHOLE_TEXT),
)  # fmt: skip

TOKENS = (
    Case("other token", exclude_token("<|a|>", 98), ((B,), "a", b"\xc3", (TRIG,)), ((A,), "b", (EOS,), (CALL,), "", "aa")),
    Case("any token", exclude_token(), ((A,), "a"), ((EOS,), "", "ab", (A, A))),
    Case(
        "any tokens",
        any_tokens("<|a|>"),
        ("", (B, "xx"), "a", b"\xc3\xc3", "<|a|>"),
        ((A,), ("x", A), (EOS,), ("x", CALL)),
    ),
    Case("any tokens and more", seq(any_tokens("<|a|>"), const("end")), ("end", "xend", "endend", (B, "end")), (("x", A, "end"), "xen", "endx")),
    Case("any tokens in a tag", tag("<", any_tokens("<|a|>"), ">"), ("<>", "<a>", "<a>>", ("<", B, ">")), ("<a>b", "<", ("<", A, ">"))),
    Case(
        "any tokens up to a token",
        tag("<", any_tokens(), token("<|a|>")),
        (("<", A), ("<x", A), ("<x", B, A)),
        (("<x", A, "x", A), "<x", ("<", A, A)),
    ),
    Case("other token before an end", tag("<", exclude_token("<|b|>"), token("<|a|>")), (("<x", A),), (("<", B, A), ("<", A, A), ("<xx", A))),
    Case("alternative tokens", either(exclude_token("<|a|>"), const("ab")), ("a", "ab", (B,)), ("b" "c", (A,))),
    Case("tokens repeated", repeat(exclude_token("<|a|>"), 2, 3), ("ab", ("a", B, "c")), ("a", "abcd"), theirs=(("a", A),), reason=REPEATED_TOKEN),
)  # fmt: skip

REPEATS = (
    Case("repeat", repeat(const("ab"), 1, 3), ("ab", "abab", "ababab"), ("", "a", "abababab")),
    Case("repeat without a bound", repeat(const("ab"), 2, -1), ("abab", "ab" * 9), ("ab", "")),
    Case("repeat exactly", repeat(const("ab"), 2, 2), ("abab",), ("ab", "ababab")),
    Case("repeat never", repeat(const("ab"), 0, 0), ("",), ("ab",)),
    Case("repeat at most", repeat(const("ab"), 0, 1), ("", "ab"), ("abab",)),
    Case("repeat often", repeat(const("a"), 30, 40), ("a" * 30, "a" * 40), ("a" * 29, "a" * 41)),
    Case("text repeated", repeat(ANY_TEXT, 2, 3), ("", "ab"), (b"\xc3",)),
    Case("tags repeated", repeat(tag("<", ANY_TEXT, ">"), 2, 3), ("<a><b>", "<><><>"), ("<a>", "<a><b><c><d>")),
    Case("alternatives repeated", repeat(either(const("a"), const("bc")), 2, 2), ("abc", "bca", "aa"), ("a", "abca")),
)  # fmt: skip

DISPATCHES = (
    Case(
        "dispatch",
        ONE_TWO,
        ("", "x", "x<f>1;y", "<f>1;<g>2;", "<f>1;x<g>2;y<f>1;", (A, "<f>1;"), "<f", "<h>"),
        ("<f>2;", "<f>1", "<f>", "<g>1;", (EOS,)),
    ),
    Case(
        "dispatch once",
        {**ONE_TWO, "loop": False},
        ("", "x", "x<f>1;", "<g>2;"),
        ("x<f>1;y", "<f>1;<g>2;", "<f>"),
    ),
    Case("dispatch and excludes", {**ONE_TWO, "excludes": ["q"]}, ("x", "<f>1;x"), ("xq", "<f>1;q")),
    Case("dispatch of an exclude", {**ONE_TWO, "excludes": ["<f>"]}, ("x", "<g>2;", "<f"), ("<f>1;", "<f>")),
    Case(
        "dispatch of a longer pattern",
        dispatch(["<f>", const("1;")], ["<f>a", const("2;")]),
        ("<f>1;", "x"),
        ("<f>2;", "<f>"),
        theirs=("<f>a2;",),
        reason=FIRST_TRIGGER,
    ),
    Case("dispatch one pattern twice", dispatch(["<f>", const("1;")], ["<f>", const("2;")]), ("<f>1;", "<f>2;"), ("<f>3;",)),
    Case("dispatch to text", dispatch(["<f>", ANY_TEXT]), ("x", "<f>abc", "<f>a<f>b"), ((EOS,),), theirs=(b"\xc3", b"\xff"), reason=WHOLE_CHARACTERS),
    Case(
        "dispatch to a tag",
        dispatch(["<f>", tag("(", ANY_TEXT, ")")]),
        ("x", "<f>(a)b", "<f>(<f>)<f>()"),
        ("<f>x", "<f>(", "<f>(<f>"),
    ),
    Case(
        "dispatch in a tag",
        tag("(", ONE_TWO, ")"),
        ("()", "(x)", "(x<f>1;y)", "(<f>1;<g>2;)"),
        ("(x<f>1;y)z", "(x", "(<f>2;)", "(<f>)"),
        theirs=("(<f>1;))",),
        reason=FIRST_END,
    ),
    Case(
        "dispatch once in a tag",
        tag("(", {**ONE_TWO, "loop": False}, ")"),
        ("()", "(x)", "(x<f>1;)"),
        ("(x<f>1;y)", "(<f>1;))", "(<f>"),
    ),
    Case(
        "dispatch up to an exclude",
        seq({**ONE_TWO, "excludes": ["END"]}, const("END")),
        ("END", "xEND", "<f>1;xEND"),
        ("ENDEND", "x", "<f>1;"),
    ),
    Case("dispatch twice", some("star", ONE_TWO), ("", "x<f>1;y", "<f>1;<g>2;"), (), theirs=("<f>2;",), reason=WHOLE_TEXT),
    Case(
        "token dispatch",
        TOKEN_ONE,
        ("", "x", ("x", A, "1;y"), "<|a|>", (A, "1;", A, "1;"), (B,)),
        ((A,), (A, "2;"), (EOS,), (A, A)),
    ),
    Case(
        "token dispatch once",
        {**TOKEN_ONE, "loop": False},
        ("", "x", ("x", A, "1;")),
        (("x", A, "1;y"), (A, "1;", A, "1;")),
    ),
    Case("token dispatch and excludes", {**TOKEN_ONE, "exclude_tokens": ["<|b|>"]}, ("x", (A, "1;")), ((B,), (A, "1;", B))),
    Case("token dispatch of an exclude", {**TOKEN_ONE, "exclude_tokens": ["<|a|>"]}, ("x", (A, "1;")), ((A,),)),
    Case("token dispatch in a tag", tag("(", TOKEN_ONE, ")"), ("()", "(x)", ("(x", A, "1;y)")), ("(x", ("(", A, ")"))),
    Case(
        "token dispatch up to a token",
        tag("(", TOKEN_ONE, token("<|b|>")),
        (("(", B), ("(x", B), ("(x", A, "1;y", B)),
        (("(", A, B),),
        theirs=(("(x", B, B),),
        reason=FIRST_END,
    ),
    Case(
        "two tokens dispatch",
        token_dispatch(["<|a|>", const("1;")], ["<|b|>", token("<|trig|>")]),
        ((A, "1;", B, TRIG), (B, TRIG, "x")),
        ((B, "1;"), (A, TRIG)),
    ),
)  # fmt: skip

GRAMMARS = (
    Case("grammar", grammar('root ::= "a" b\nb ::= "c" | "d"'), ("ac", "ad"), ("a", "acd", "")),
    Case("left recursion", grammar('root ::= root "a" | "b"'), ("b", "baa"), ("", "a", "ab")),
    Case("grammar that nests", grammar('root ::= "(" root ")" | ""'), ("", "()", "((()))"), ("(", "(()", "())")),
    Case("classes", grammar("root ::= [a-c]{2,3} [^a-z]"), ("abC", "abc1", "abé"), ("aC", "abcd", "abcab")),
    Case("special in a grammar", grammar('root ::= "<|a|>" "x"?'), ("<|a|>", (A,), (A, "x")), ((B,), ("<|a|>", A))),
    Case("tokens in a grammar", grammar(f'root ::= Token({A}) ExcludeToken({A}, 98) "x"'), ((A, B, "x"), (A, "ax")), ((A, A, "x"), (A, "bx"), "<|a|>ax")),
    Case("grammar in a tag", tag("<", grammar('root ::= "a"+'), ">"), ("<a>", "<aaa>"), ("<>", "<b>", "<a")),
    Case("two grammars", seq(grammar('root ::= x\nx ::= "1"'), grammar('root ::= x\nx ::= "2"')), ("12",), ("11", "22", "1")),
    Case("grammar after text", tag("<", seq(text("|"), const("|"), grammar("root ::= [0-9]+")), ">"), ("<a|12>",), ("<a12>", "<a|>")),
)  # fmt: skip

CASES = (*COUNTED, *TOKENS, *REPEATS, *DISPATCHES, *GRAMMARS)
