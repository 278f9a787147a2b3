"""What grammars given as text accept. ``ours`` other engines refuse, for ``reason``."""

from dataclasses import dataclass

#: why another engine's answer differs
NO_LEXER = "there is no lexer: a terminal need not be the longest match"
IGNORED = "what is ignored may also stand at the beginning and the end, as Lark has it"
STOPS = "what a stop matches is left to what follows, and can't be taken back"

PERMUTATION = """
start: perm::0x0
perm::_: ""                        %if is_ones([0:3])
       | "a" perm::set_bit(0)      %if bit_clear(0)
       | "b" perm::set_bit( 1 )    %if eq([1:2], 0)
       | "c" perm::bit_or(4)       %if not(bit_set(2))
"""
COUNTED = """
start: list::0
list::_: "a" list::incr([0:3])  %if lt([0:3], 3)
       | "b" list::incr([3:6])  %if le([3:6], 0x2)
       | ""
"""
CONDITIONS = """
start: "1" x::1 | "3" x::3 | "4" x::4 | "0" x::0
x::_: "a" %if bit_count_ge([0:2], 1)
    | "b" %if and(bit_count_eq(_, 2), ne(_, 7))
    | "c" y::_ %if or(ge(_, 4), eq(_, 2))
    | "f" %if bit_count_lt(_, 1)
y::_: "d" z::bit_and(0x4) %if bit_count_ne(_, 0)
z::_: "" %if is_ones([2:3])
    | "e" z::clear_bit(2) %if bit_count_gt(_, 1)
"""


@dataclass(frozen=True)
class Case:
    syntax: str
    name: str
    text: str
    yes: tuple[str, ...]
    no: tuple[str, ...]
    ours: tuple[str, ...] = ()
    reason: str = ""


def both(name: str, text: str, yes: tuple[str, ...], no: tuple[str, ...]) -> tuple[Case, Case]:
    """The same in GBNF and in EBNF."""
    return Case("gbnf", name, text, yes, no), Case("ebnf", name, text, yes, no)


SHARED = (
    *both("literal", 'root ::= "ab"', ("ab",), ("", "a", "abc")),
    *both("sequence", 'root ::= "a" b "c"\nb ::= "b"', ("abc",), ("ac", "ab")),
    *both("alternatives", 'root ::= "a" | "b" "c" | d\nd ::= "d"', ("a", "bc", "d"), ("ac", "b", "")),
    *both("alternatives on lines", 'root ::= "a" |\n  "b" |\n\n  "c"', ("a", "b", "c"), ("ab",)),
    *both("group", 'root ::= ("a" | "b") "c"', ("ac", "bc"), ("c", "abc")),
    *both("group on lines", 'root ::= (\n "a"\n | "b" # why\n) "c"', ("ac", "bc"), ("abc",)),
    *both("comments", '# first\nroot ::= "a" # second\n# third\n\n', ("a",), ("# second",)),
    # REGRESSION: the comment's sign was taken for that of a rule
    *both("signs in comments", 'root ::= ("a"\n b # b ::=\n)\nb ::= "b"', ("ab",), ("a",)),
    *both("no line at the end", 'root::="a"', ("a",), ("",)),
    *both("carriage returns", 'root ::= "a" b\r\nb ::= "b"\r\n', ("ab",), ("a",)),
    *both("star", 'root ::= "ab"*', ("", "ab", "abab"), ("a", "aba")),
    *both("plus", "root ::= [ab]+", ("a", "ba"), ("", "c")),
    *both("optional", 'root ::= "a"? "b"', ("b", "ab"), ("a", "aab")),
    *both("exactly", 'root ::= "a"{3}', ("aaa",), ("aa", "aaaa")),
    *both("at least", 'root ::= "a"{2,}', ("aa", "a" * 50), ("a", "")),
    *both("between", 'root ::= ("a" | "bc"){2,3}', ("aa", "abca", "bcbc"), ("a", "aaaa")),
    *both("between with blanks", 'root ::= "a"{ 1 , 2 }', ("a", "aa"), ("", "aaa")),
    *both("never", 'root ::= "a"{0} "b"', ("b",), ("ab",)),
    *both("many", 'root ::= "a"{1000,2000}', ("a" * 1000, "a" * 2000), ("a" * 999, "a" * 2001)),
    *both("class", "root ::= [a-cx_]", ("a", "c", "x", "_"), ("d", "-", "ab")),
    *both("class without", "root ::= [^a-c]", ("d", "é", "\n", "\U0001f600"), ("a", "b", "")),
    *both("dash in a class", "root ::= [a-] [-b]", ("a-", "-b", "--"), ("ab"[1:], "c-")),
    *both("escapes in a class", "root ::= [\\]\\[\\n\\x41\\u00e9]+", ("]", "[", "\nA", "é"), ("\\", "x", "n")),
    *both("escapes", 'root ::= "\\x41\\u0042\\U0001F600\\n\\r\\t\\"\\\\"', ('AB\U0001f600\n\r\t"\\',), ("AB",)),
    *both("unicode", 'root ::= "é漢" [字-漢é]', ("é漢é", "é漢漢"), ("é漢", "é漢a")),
    *both("recursion", 'root ::= "(" root ")" | "x"', ("x", "((x))"), ("(x", "x)", "")),
    *both("left recursion", 'root ::= root "a" | "b"', ("b", "baa"), ("a", "ab", "")),
    *both("indirect left recursion", 'root ::= x "1" | "r"\nx ::= root "2" | "x"', ("r", "x1", "r21", "x121"), ("x", "r2")),
    *both("ambiguity", 'root ::= a a\na ::= "x"*', ("", "x", "xxx"), ("y",)),
    *both("a circle of one", 'root ::= root | "a"', ("a",), ("", "aa")),
    *both("names", 'root ::= a-b a-b-2\na-b ::= "x"\na-b-2 ::= "y"', ("xy",), ("x",)),
    *both("unused", 'root ::= "a"\nother ::= other', ("a",), ("",)),
    *both("empty literal", 'root ::= "a" ""', ("a",), ("",)),
    *both("arithmetic", 'root ::= root "+" t | t\nt ::= t "*" f | f\nf ::= [0-9] | "(" root ")"', ("1", "1+2*3", "(1+2)*3"), ("1+", "(1", "12")),
)  # fmt: skip

GBNF = (
    Case("gbnf", "an escaped dash", 'root ::= "\\-" [\\-a]', ("--", "-a"), ("\\-", "a")),
    Case("gbnf", "any character", "root ::= . .", ("ab", "é\n"), ("a", "abc")),
    Case("gbnf", "empty alternative", 'root ::= "a" | ', ("a", ""), ("b",)),
    Case("gbnf", "empty group", 'root ::= ("a" | ) "b"', ("ab", "b"), ("a",)),
    Case("gbnf", "names with digits first", 'root ::= 1a\n1a ::= "x"', ("x",), ("",)),
    Case("gbnf", "README: a list", 'root ::= item+\nitem ::= "- " [^\\r\\n\\x0b\\x0c\\x85\\u2028\\u2029]+ "\\n"', ("- a\n- b\n",), ("- a", "a\n")),
    Case("gbnf", "README: chess", 'root ::= "1. " move " " move "\\n" ([1-9] [0-9]? ". " move " " move "\\n")+\nmove ::= (pawn | nonpawn | castle) [+#]?\nnonpawn ::= [NBKQR] [a-h]? [1-8]? "x"? [a-h] [1-8]\npawn ::= ([a-h] "x")? [a-h] [1-8] ("=" [NBKQR])?\ncastle ::= "O-O" "-O"?', ("1. e4 e5\n2. Nf3 Nc6\n", "1. e4 d5\n2. exd5 Qxd5\n3. O-O O-O-O+\n"), ("1. e4 e5\n", "1. e9 e5\n2. a b\n")),
)  # fmt: skip

EBNF = (
    Case("ebnf", "a rule goes on", 'root ::= "a"\n  "b"\n | "c"\nx ::= "d"', ("ab", "c"), ("a", "d")),
    Case("ebnf", "empty group", 'root ::= "a" ()', ("a",), ("",)),
    Case("ebnf", "names with dots", 'root ::= a.b_c\na.b_c ::= "x"', ("x",), ("",)),
    Case("ebnf", "more escapes", "root ::= \"\\'\\?\\a\\b\\f\\v\\0\\e\"", ("'?\a\b\f\v\0\x1b",), ("'",)),
)  # fmt: skip

LARK = (
    Case("lark", "literal", 'start: "ab"', ("ab",), ("", "a", "abc")),
    Case("lark", "rules and terminals", 'start: a B\na: "x"\nB: "y" | "z"', ("xy", "xz"), ("x", "y")),
    Case("lark", "alternatives on lines", 'start: "a"\n  | "b"\n\n  | "c"', ("a", "b", "c"), ("ab",)),
    Case("lark", "comments", '// one\nstart: "a" // two\n# three\n', ("a",), ("",)),
    Case("lark", "group", 'start: ("a" | "b")\n  | ("c"\n | "d") "e"', ("a", "b", "ce", "de"), ("c", "ae")),
    Case("lark", "optional", 'start: ["a"] "b"? "c"', ("c", "ac", "abc", "bc"), ("a", "ab")),
    Case("lark", "star and plus", 'start: "a"* "b"+', ("b", "aabb"), ("a", "")),
    Case("lark", "counts", 'start: "a"~3 "b"~1..2 "c"{2} "d"{1,2} "e"{2,}', ("aaabccdee", "aaabbccddeee"), ("aabccdee", "aaabccde")),
    Case("lark", "counts up to", 'start: "a"{,2} "b"', ("b", "aab"), ("aaab",)),
    Case("lark", "ranges", 'start: "a".."f" "0".."9"', ("a0", "f9"), ("g0", "a")),
    Case("lark", "any letter case", 'start: "sElect"i', ("select", "SELECT", "Select"), ("selec",)),
    Case("lark", "escapes", r'start: "\n\t\"\\\x41\u00e9"', ('\n\t"\\Aé',), ("n",)),
    Case("lark", "patterns", r"start: /[a-z]+\d{2,3}/", ("a12", "abc123"), ("12", "a1", "a1234")),
    Case("lark", "a pattern with a slash", r"start: /a\/[\/b]/", ("a//", "a/b"), ("a/",)),
    Case("lark", "dots", r"start: /a./ /b./s", ("axb\n", "ayb."), ("a\nbx", "ax")),
    Case("lark", "pattern in any case", "start: /[a-f]x[0-9_]/i", ("ax1", "FX_"), ("gx1", "ax")),
    # REGRESSION: a dot, a group's name and an escaped backslash or bracket were refused
    Case("lark", "pattern in any case with dots", r"start: /a.(?<n>b)\\W\[/i", ("axb\\w[", "A-B\\W["), ("a\nb\\w[", "axb[")),
    Case("lark", "pattern in any case without", r"start: /[^a-k]\W\P{L}/i", ("l-1", "Z,_"), ("K-1", "l\u212a1", "\u212a-1", "la1")),
    Case("lark", "characters by number in any case", r"start: /\x41[\u0042-D]\u{e9}/i", ("abé", "ADÉ"), ("ae\u00e9", "bbé")),
    Case("lark", "letters beyond ASCII in any case", 'start: "ÉſΣ"i /[à-ý]ß/i', ("ésςÀẞ", "ÉſΣÝß"), ("esσàß", "ésσ×ß")),
    Case("lark", "flags in a pattern", r"start: /a(?i:b)(?s:.)/ /(?i)é/ /x(?i)y|z/", ("aB\nÉxY", "ab\u2028éZ"), ("AbxÉxy", "abxéXy")),
    Case("lark", "a hyphen in a name", 'start: a-b N-1\na-b: "x" -> c-d\nN-1: "1"', ("x1",), ("x",)),
    Case("lark", "and", 'start: A "!"\nA: /[a-z]+/ & /.{2,3}/ & /.*x.*/ | "0"', ("axb!", "xx!", "0!"), ("x!", "abc!", "axbx!", "00!")),
    Case("lark", "not", r'start: A\nA: /[a-c\n]*/ & ~/(?s:.*)\n\n(?s:.*)/'.replace(r"\nA:", "\nA:"), ("", "a\nb\n", "abc"), ("a\n\nb", "\n\n", "d")),
    Case("lark", "not, once and often", 'start: A\nA: "!" ~"a" "!" | "0" (~("b" | "c")+ & /../)', ("!b!", "!!", "!ab!", "!!!", "0dd", "0bc", "0cd"), ("!a!", "0b", "0bcd", "0")),
    Case("lark", "and beside others", 'start: A\nA: "x" (B & ~/b+/)~2 "y"\nB: /[ab]+/', ("xabay", "xaay", "xababay", "xbabaay"), ("xbby", "xay", "xy")),
    Case("lark", "and, not and names", 'start: NAME\nNAME: /[a-z]+/ & ~KEYWORD\nKEYWORD: "if" | "in"', ("i", "iff", "x"), ("if", "in", "")),
    Case("lark", "lazy", 'start: a b\na[lazy]: TEXT "<end>"\nTEXT: /(.|\\n)*/\nb: /[a-z]*/', ("x<end>y", "<en\nd><end>", "<end>"), ("x<end", "<end><end>")),
    Case("lark", "lazy and empty", 'start: a "x"\na[lazy]: "" | /b*/', ("x",), ("bbx",)),
    Case("lark", "lazy numbers", 'start: a "x"\na[lazy]: /[0-9]+|b0/', ("1x", "b0x"), ("12x", "bx")),
    Case("lark", "suffix", 'start: a "!"\na[suffix="aba"]: /.*/', ("aba!", "xaba!", "abbaba!"), ("ababa!", "a\naba!", "!")),
    Case("lark", "suffix of a newline", 'start: a b\na[suffix="\\n"]: /.*/\nb: /.*/', ("\n", "ab\ncd"), ("a\nb\n", "a")),
    Case("lark", "suffix that is a pattern", 'start: a\na[suffix=/[0-9]+/]: /[a-z0]*/', ("ab1", "0"), ("ab12", "a01", "a")),
    Case("lark", "suffix by name", 'start: a*\na[suffix=B]: /[^;]*/\nB: ";" "."?', ("a;;", "a;b;"), ("a", "a;.")),
    Case("lark", "stop", 'start: a "<end>" /b*/\na[stop="<end>"]: /.*/', ("foo<end>", "<e<end>bb"), ("foo", "<end><end>", "<end>b<end>")),
    Case("lark", "stop and others", 'start: a /[b!]+/\na[stop=/[0-9]/]: /a*/', (), ("a1", "1"), ("aab", "!"), STOPS),
    Case("lark", "captures", 'start: a b\na[capture="x y", stop_capture="z", suffix=","]: /x*/\nb[capture, ]: "a" c\nc[]: "c"', ("xx,ac", ",ac"), ("xx,a", "xac")),
    Case("lark", "no tokens", 'start: a "x"\na[max_tokens=0]: /.*/', ("x",), ("ax",)),
    Case("lark", "attributes and ignore", 'start: a a "!"\na[lazy]: /[a-z]+;/\n%ignore " "', ("a;b;!", "a; b; !"), ("a ;b;!",), (" a;b;!",), IGNORED),
    Case("lark", "words of a text", 'start: %regex {"substring_words": "foo bar, foo_1 baz"} "!"', ("!", "foo!", "foo bar!", ", foo_1!", " !", "foo bar, foo_1 baz!"), ("fo!", "foo baz!", "bar foo!", ",!"[1:] + "x")),
    Case("lark", "characters of a text", 'start: A\nA: "<" %regex {"substring_chars": "abcab"} ">"', ("<>", "<ab>", "<bca>", "<abcab>"), ("<ac>", "<abb>", "<ba>")),
    Case("lark", "chunks", 'start: A\nA: %regex {"substring_chunks": ["ab", "a", "", "ab", "b"]}', ("", "aba", "aab", "abaabb", "abb", "b"), ("ba", "abab", "aa")),
    Case("lark", "chunks without", 'start: A\nA: %regex {"substring_chunks": ["ab", "a", "ab", "c"]} & /.{3,}/ & ~/aba/', ("aab", "abc", "aabc"), ("aba", "ab", "bac")),
    Case("lark", "a permutation", PERMUTATION, ("abc", "cab", "bca"), ("ab", "abca", "aab", "")),
    Case("lark", "counts of several kinds", COUNTED, ("", "ab", "aabba", "bbb"), ("aaaa", "bbbb", "c")),
    Case("lark", "conditions", CONDITIONS, ("1a", "3b", "3a", "4cd", "0f"), ("1b", "4a", "3c", "0d", "1f")),
    Case("lark", "parameters that count down", 'start: a::3 "!"\na::_: "x" a::decr(_) %if gt(_, 0x0) | "" %if is_zeros(_)', ("xxx!",), ("xx!", "xxxx!")),
    Case("lark", "a grammar within", 'start: a %lark {\n start: "b" c\n c: "c"\n%ignore "."\n} a\na: "a"', ("abca", "ab.ca"), ("abc", "abc.a."), ("a.bca",), IGNORED),
    Case("lark", "a grammar and a schema in a rule that is made twice", 'start: a::1 a::2\na::_: "a" %lark {\nstart: "b"\n} %json {"const": 1} %if ge(_, 1)', ("ab1ab1",), ("ab1", "ab1ab")),
    Case("lark", "shapes of trees", 'start: ?a -> one\n  | !b -> two\n?a: "x"\n!b: "y"'.replace("?a ->", "a ->").replace("!b ->", "b ->"), ("x", "y"), ("",)),
    Case("lark", "left recursion", 'start: start "+" N | N\nN: /[0-9]/', ("1", "1+2+3"), ("1+", "+1", "12")),
    Case("lark", "nested recursion", 'start: "(" start ")" | "x"', ("x", "((x))"), ("(x",)),
    Case("lark", "empty alternative", 'start: "a" b\nb: "b" |', ("a", "ab"), ("b",)),
    Case("lark", "ignore", 'start: "a" B "c"\nB: "b" "b"\n%ignore " "', ("abbc", "a bb c"), ("ab bc", "a\tbbc"), ("  a  bb c  ",), IGNORED),
    Case("lark", "ignore two", 'start: "a" "b"\n%ignore /[ \\t]/\n%ignore /#[^\\n]*\\n/', ("ab", "a # x\n b"), ("a # b", "a\nb"), ("a\t\tb #\n",), IGNORED),
    Case("lark", "ignore and repeat", 'start: ("a" ",")* "z"\n%ignore " "', ("z", "a, a ,z"), ("a z",), (" a,z",), IGNORED),
    Case("lark", "import", "start: INT WORD\n%import common.INT\n%import common.WORD", ("12ab",), ("ab", "12")),
    Case("lark", "import as", "start: N\n%import common.SIGNED_NUMBER -> N", ("1", "-1.5e3", "+2", ".5"), ("a", "-")),
    Case("lark", "import many", "start: (CNAME | ESCAPED_STRING)+\n%import common (CNAME, ESCAPED_STRING)", ("a_1", '"a\\"b"', 'x"y"'), ("1a", '"')),
    Case("lark", "import comments", "start: C_COMMENT\n%import common.C_COMMENT", ("/* a */", "/***/", "/* * / */"), ("/* a */ */", "/*/")),
    Case("lark", "import white space", 'start: "a" WS "b"\n%import common.WS', ("a b", "a \n\tb"), ("ab",)),
    Case("lark", "json", 'start: "<" %json {"type": "array", "items": {"enum": [1, 2]}} ">"', ("<[1,2]>", "<[]>"), ("<[3]>", "<1>")),
    Case("lark", "no lexer", "start: A B\nA: /a+/\nB: /a*b/", ("ab", "aab"), ("b", "a")),
    Case("lark", "keywords", 'start: NAME "in" NAME\nNAME: /[a-z]+/', (), ("in", "a"), ("ainb",), NO_LEXER),
)  # fmt: skip

CASES = (*SHARED, *GBNF, *EBNF, *LARK)

#: syntax, text, line and column, part of the message
MISTAKES = (
    ("ebnf", "", (1, 1), "'root'"),
    ("ebnf", "root", (1, 5), "'::='"),
    ("ebnf", 'root = "a"', (1, 6), "'::='"),
    ("ebnf", 'main ::= "a"', (1, 1), "'root'"),
    ("ebnf", "root ::= x", (1, 10), "'x'"),
    ("ebnf", 'root ::= "a" |\n  y z\ny ::= "1"', (2, 5), "'z'"),
    ("ebnf", 'root ::= "a"\nroot ::= "b"', (2, 1), "twice"),
    ("ebnf", 'root ::= "a', (1, 10), "never closed"),
    ("ebnf", 'root ::= "a\nb"', (1, 10), "never closed"),
    ("ebnf", "root ::= [a", (1, 10), "never closed"),
    ("ebnf", 'root ::= ("a"', (1, 10), "never closed"),
    ("ebnf", 'root ::= "a")', (1, 13), "unmatched"),
    ("ebnf", "root ::= [z-a]", (1, 12), "out of order"),
    ("ebnf", "root ::= []", (1, 10), "empty"),
    ("ebnf", 'root ::= "\\q"', (1, 11), "escape"),
    ("ebnf", 'root ::= "\\x4"', (1, 11), "hexadecimal"),
    ("ebnf", 'root ::= "\\ud800"', (1, 11), "no character"),
    ("ebnf", 'root ::= "a"{2,1}', (1, 14), "out of order"),
    ("ebnf", 'root ::= "a"{,1}', (1, 14), "number"),
    ("ebnf", 'root ::= "a"{1', (1, 15), "'}'"),
    ("ebnf", 'root ::= "a"{99999999999}', (1, 14), "count"),
    ("ebnf", 'root ::= "a"*+', (1, 13), "only once"),
    ("ebnf", 'root ::= | "a"', (1, 10), "missing"),
    ("ebnf", "root ::= 'a'", (1, 10), "no element"),
    ("ebnf", 'root ::= "a" b ::= "c"', (1, 14), "line of its own"),
    ("ebnf", "root ::= Foo(1)", (1, 10), "macro"),
    ("ebnf", 'root ::= "a"\n\n\n  %', (4, 3), "no element"),
    ("ebnf", "root ::=", (1, 9), "missing"),
    ("ebnf", "root ::= (", (1, 11), "missing"),
    ("ebnf", "root ::= Token()", (1, 16), "number"),
    ("ebnf", "root ::= Token(1,)", (1, 18), "number"),
    ("ebnf", "root ::= Token(1", (1, 17), "')'"),
    ("ebnf", "root ::= Token (1)", (1, 17), "no element"),
    ("ebnf", "root ::= [\\d]", (1, 11), "escape"),
    # REGRESSION: found when the grammar was compiled, without a place
    ("ebnf", 'root ::= "a"\n  Token(7, 99999)', (2, 12), "vocabulary"),
    ("ebnf", "root ::= ExcludeToken(99999)", (1, 23), "vocabulary"),
    ("gbnf", "", (1, 1), "'root'"),
    ("gbnf", "root", (1, 5), "'::='"),
    ("gbnf", "root ::= x", (1, 10), "'x'"),
    ("gbnf", 'root ::= "a"\nroot ::= "b"', (2, 1), "twice"),
    ("gbnf", 'root ::= "a', (1, 10), "never closed"),
    ("gbnf", "root ::= [a\n", (1, 10), "never closed"),
    ("gbnf", "root ::= [^]", (1, 10), "empty"),
    ("gbnf", "root ::= [z-a]", (1, 12), "out of order"),
    ("gbnf", 'root ::= (\n"a"', (1, 10), "never closed"),
    ("gbnf", 'root ::= "a")', (1, 13), "unmatched"),
    ("gbnf", 'root ::= "\\ud800"', (1, 11), "no character"),
    ("gbnf", 'root ::= "\\u12"', (1, 11), "hexadecimal"),
    ("gbnf", 'root ::= "a"**', (1, 13), "only once"),
    ("gbnf", 'root ::= "a"{,1}', (1, 14), "number"),
    ("gbnf", 'root ::= "a"{1 , 2', (1, 19), "'}'"),
    ("gbnf", 'root ::= "a"{2,1}', (1, 14), "out of order"),
    ("gbnf", 'root ::= "a" (= "b")', (1, 15), "no element"),
    ("gbnf", "root ::= *", (1, 10), "no element"),
    ("gbnf", "root ::= <[1", (1, 10), "never closed"),
    ("gbnf", "root ::= <[1>", (1, 13), "']>'"),
    ("gbnf", "root ::= <[x]>", (1, 12), "number"),
    ("gbnf", "root ::= <[99999]>", (1, 12), "vocabulary"),
    ("gbnf", 'root ::= "a"\r\n  | "b"', (2, 3), "name of a rule"),
    ("gbnf", 'root ::= "a"\n "b"', (2, 2), "name of a rule"),
    ("gbnf", 'root ::= "a" %', (1, 14), "no element"),
    ("gbnf", "root ::= <nope>", (1, 10), "special token"),
    ("gbnf", 'root ::= "\\a"', (1, 11), "escape"),
    ("lark", "", (1, 1), "'start'"),
    ("lark", 'a: "x"', (1, 1), "'start'"),
    ("lark", "start: b", (1, 8), "'b'"),
    ("lark", 'start: "a"\nstart: "b"', (2, 1), "twice"),
    ("lark", 'start "a"', (1, 7), "':'"),
    ("lark", 'start: "a', (1, 8), "never closed"),
    ("lark", "start: /a", (1, 8), "never closed"),
    ("lark", 'start: ("a"', (1, 8), "never closed"),
    ("lark", 'start: "a")', (1, 11), "unmatched"),
    ("lark", 'start: "ab".."c"', (1, 8), "range"),
    ("lark", "start: /(/", (1, 8), "pattern"),
    ("lark", 'start: A\nA: b\nb: "x"', (2, 4), "rule 'b'"),
    ("lark", "start: <|nope|>", (1, 8), "special token"),
    ("lark", "start: <[x]>", (1, 8), "special token"),
    ("lark", "start: <[-1]>", (1, 8), "numbers"),
    ("lark", "start: %json {", (1, 8), "JSON"),
    ("lark", "%nope\n", (1, 1), "%nope"),
    ("lark", 'start: "a"~5..2', (1, 11), "out of order"),
    ("lark", 'start: "a"..', (1, 13), "missing"),
    ("lark", 'start: ["a")', (1, 8), "never closed"),
    ("lark", 'start: "a"{1', (1, 13), "'}'"),
    ("lark", 'start: "a"~\u00b2', (1, 12), "no element"),
    ("lark", 'start: "a" -> 1', (1, 15), "alias"),
    ("lark", 'start: "\\q"', (1, 9), "escape"),
    ("lark", 'start: "a" |\n  "b"', (2, 3), "name of a rule"),
    ("lark", "start: <>", (1, 8), "special token"),
    ("lark", "%", (1, 2), "statement"),
    ("lark", "start: %", (1, 9), "inline"),
    ("lark", 'start: "a"\n%ignore x\nx: "y"', (2, 9), "rule 'x'"),
    ("lark", "%import .x", (1, 9), "library"),
    ("lark", "%import common.INT -> n", (1, 9), "upper case"),
    ("lark", "%import common (INT WORD)", (1, 21), "')'"),
    ("lark", "%import common ()", (1, 17), "terminal"),
    ("lark", "%import common.INT (WORD)", (1, 20), "no element"),
    ("lark", "start: <[99999]>", (1, 8), "vocabulary"),
    ("lark", "start: <[^1,99999]>", (1, 8), "vocabulary"),
    # REGRESSION: the position was that in the pattern that dots and letter case were written out in
    ("lark", 'start: A\nA[lazy]: "a"', (2, 1), "attributes"),
    ("lark", 'start: a\na[lazy: "a"', (2, 7), "']'"),
    ("lark", 'start: a\na[suffix]: "a"', (2, 9), "'='"),
    ("lark", 'start: a\na[suffix="b", stop="c"]: "a"', (2, 15), "one suffix or stop"),
    ("lark", 'start: a\na[capture=x]: "a"', (2, 11), "missing"),
    ("lark", 'start: a\na[lazy]: b\nb: "x"', (2, 10), "rule 'b'"),
    ("lark", "start: a\na[lazy]: B", (2, 10), "'B'"),
    ("lark", 'start: "a" & %if true', (1, 14), "parameter"),
    ("lark", 'start: a::1\na: "x"', (1, 8), "has no parameter"),
    ("lark", 'start: a\na::_: "x"', (1, 8), "needs a parameter"),
    ("lark", 'start: a::\na::_: "x"', (1, 11), "parameter must stand here"),
    ("lark", 'start: a::_\na::_: "x"', (1, 11), "a rule with a parameter"),
    ("lark", 'start: a::1\na::1: "x"', (2, 4), "'_'"),
    ("lark", 'start: A::1\nA: "x"', (1, 8), "a terminal has no parameter"),
    ("lark", "start: a::1\na::_: a::foo(1)", (2, 10), "'foo'"),
    ("lark", 'start: a::1\na::_: "x" %if foo(1)', (2, 15), "'foo'"),
    ("lark", 'start: a::1\na::_: "x" %if bit_set(64)', (2, 23), "above 63"),
    ("lark", 'start: a::0x10000000000000000\na::_: "x"', (1, 11), "above"),
    ("lark", 'start: a::1\na::_: "x" %if lt([3:3], 1)', (2, 18), "out of order"),
    ("lark", 'start: %regex {"substring_words": 1}', (1, 8), "a string"),
    ("lark", 'start: %regex {"substring_chunks": "a"}', (1, 8), "a list of strings"),
    ("lark", "start: %regex {", (1, 8), "JSON"),
    ("lark", 'start: %lark {\nstart: "a"\n', (1, 14), "never closed"),
    ("lark", 'start: %lark {\na: "a"\n}', (1, 1), "'start'"),
    ("lark", 'start: A\nA: %lark {\nstart: "a"\n}', (2, 4), "a grammar"),
    ("lark", "start: /..(/s", (1, 8), "pattern, position 3"),
    ("lark", "start: /ab(/i", (1, 8), "pattern, position 3"),
)

#: syntax, text, the construct that is named
REFUSED = (
    ("ebnf", 'root ::= "a" (= "b")', "look-ahead"),
    ("ebnf", 'root ::= TagDispatch(("<f>", x))\nx ::= "1"', "TagDispatch"),
    ("lark", 'start: a{"x"}\na{b}: b', "a template"),
    ("lark", 'start: A\nA.2: "a"', "a priority"),
    ("lark", 'start[temperature=0.5]: "a"', "temperature"),
    ("lark", "start[capture, max_chars=3]: /a*/", "max_chars"),
    ("lark", "start[max_tokens=3]: /[a-z]*/", "max_tokens"),
    ("lark", 'start[max_tokens=3, suffix="x"]: /.*/', "max_tokens"),
    ("lark", 'start[stop=""]: /.*/', "stop"),
    ("lark", "start: a\na[suffix=<|a|>]: /.*/", "a token in a regular expression"),
    ("lark", "start: a\na[lazy]: %json {}", "%json in a regular expression"),
    (
        "lark",
        'start: ~A\nA: "(" A ")" | "x"',
        "a terminal that holds itself in a regular expression",
    ),
    ("lark", 'start: %regex {"pattern": "a"}', "%regex"),
    ("lark", 'start: %regex {"substring_words": "a", "substring_chars": "a"}', "%regex"),
    ("lark", "%declare A\n", "%declare"),
    ("lark", '%override a: "x"\n', "%override"),
    ("lark", "%import python.NAME\n", "%import python"),
    ("lark", "%import common.NOPE\nstart: NOPE", "%import common.NOPE"),
    ("lark", "start: @other", "a nested grammar"),
    ("lark", 'start: "a" & "b"', "& in a rule"),
    ("lark", "start: %regex {}", "%regex"),
    ("lark", '%llguidance {"no_forcing": true}\nstart: "a"', "%llguidance"),
    ("lark", "start: /a/x", "the flag x"),
    ("lark", "start: /(?x)a/", "pattern"),
    ("lark", "start: /a$/m", "pattern"),
    ("lark", "start: /(?=a)b/", "pattern"),
    ("lark", r"start: /a\b/", "pattern"),
)
