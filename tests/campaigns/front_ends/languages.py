# ruff: noqa: E501 a table has a line for each row
"""Random inputs of each front end: weighted grammars of the languages' own syntax.

A language is a dict from names to alternatives; «name» within an alternative stands for another
name's text, «name*» for up to four of them. The first alternatives are the leaves: deep expansions
choose only among the first two. JSON values are made by functions.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

from tests.fuzz.specs import STYLES, SpecMaker

from .mutations import mutated, mutated_value
from .subjects import FRONT_ENDS, SYNTAXES, Case

Language = Mapping[str, Sequence[str]]

#: levels of expansion
DEPTH = 7
#: share of the cases with mutations, and their most mutations
MUTATED, MAX_MUTATIONS = 0.5, 2

_REFERENCE = re.compile(r"«(\w+)(\*?)»")

PATTERN: dict[str, Sequence[str]] = {
    "pattern": ("«atom»", "«atom»«times»", "«pattern»«pattern»", "(«pattern»|«pattern»)«times»",
                "(?:«pattern»)«times»", "[«part»«part*»]«times»", "[^«part»«part*»]", "^«pattern»$", "(?=«pattern»)«pattern»",
                "(?!«pattern»)«pattern»"),
    "atom": ("a", ".", "b", r"\d", r"\w", r"\s", r"\p{L}", r"\p{Lu}", r"\P{N}", r"\p{Script=Greek}", "é", "漢", r"\b",
             r"\u{1F600}", r"\/", r"\x41", "<", "\""),
    "part": ("a-z", "0-9", r"\d", r"\w", r"\p{L}", r"\p{Nd}", "é", r"\-", "漢-字"),
    "times": ("", "*", "+", "?", "{«n»}", "{«n»,}", "{0,«n»}", "{«n»,«n»}", "*?", "{1,«n»}?"),
    "n": ("1", "2", "3", "5", "12", "40", "300", "2000"),
}  # fmt: skip

LARK: dict[str, Sequence[str]] = {
    **PATTERN,
    # look-around and anchors are refused in terminals
    "pattern": PATTERN["pattern"][:-3],
    "grammar": (
        "start: «alts»\na: «alts»\nb«attributes»: «terms»\np::_: «cases»\nT: «terms»\nU: «terms»\n«statement*»",
        "start: «alts»\na: «alts»\nb: T\np::_: \"\"\nT: «terms»\nU: /«pattern»/\n",
    ),
    "alts": ("«seq»", "«seq» | «seq»", "«alts»\n | «seq»", "«terms» | «seq»"),
    "seq": ("«item»", "«item» «item»", "«item» «item» «item»", "«seq» «item»"),
    "item": ("\"a\"", "«term»", "a«times_»", "b", "p::«value»", "(«alts»)«times_»", "[«alts»]", "<|start_header_id|>",
             "<[«ids»]>", "<[^«ids»]>", "%json «schema»", "%lark { start: «seq» }", "%regex {\"substring_words\": \"to be or not to be\"}",
             "T«times_»", "<[*]>"),
    "terms": ("«term»", "«term» «term»", "«term» | «term»", "«term» & «term»", "~«term» & «term»", "(«terms»)«times_»", "«terms» «term»"),
    "term": ("\"ab\"", "/«pattern»/", "\"Aé\"i", "\"a\"..\"z\"", "T", "U", "~(«terms»)", "/«pattern»/i", "\"<|start_header_id|>\""),
    "times_": ("", "*", "+", "?", "{«n»}", "{«n»,}", "{1,«n»}", "~«n»", "~1..«n»"),
    "ids": ("7", "0-100", "1,5-7", "0-128255", "128000-128255", "5,5,5"),
    "attributes": ("", "[lazy]", "[suffix=\"end\"]", "[stop=/«pattern»/]", "[suffix=/«pattern»/]", "[max_tokens=«n»]", "[capture, lazy]",
                   "[stop=T]"),
    "cases": ("\"\" %if is_ones([0:«bit»])", "«case»", "«case»\n | «case»", "«cases»\n | «case»"),
    "case": ("\"x\" %if «test»", "\"x\" p::«change» %if «test»", "T p::«change»", "p::«change» p::«change» %if «test»"),
    "test": ("bit_clear(«bit»)", "lt([0:«bit»], «n»)", "bit_count_le(_, 3)", "and(«test», «test»)", "or(«test», «test»)", "not(«test»)", "true"),
    "change": ("incr([0:«bit»])", "set_bit(«bit»)", "decr(_)", "bit_or(0x3)", "bit_and(«n»)", "_", "«n»"),
    "value": ("0", "«n»", "0xff"),
    "bit": ("1", "2", "4", "8", "12", "63"),
    "schema": ("{\"type\": \"string\"}", "{\"type\": \"integer\", \"maximum\": «n»}", "{\"enum\": [1, \"a\"]}", "{\"type\": \"array\", \"maxItems\": «n»}"),
    "statement": ("%ignore /[ \\t]+/\n", "%ignore «terms»\n", "%import common.INT\n", "%import common (WS, FLOAT -> F)\n", "%ignore \" \"\n"),
}  # fmt: skip

EBNF: dict[str, Sequence[str]] = {
    **PATTERN,
    "grammar": ("root ::= «alts»\na ::= «alts»\nb ::= «alts»\n", "root ::= «alts»\na«attributes» ::= «dispatch»\nb ::= «alts» (= «alts»)\n"),
    "alts": ("«seq»", "«seq» | «seq»", "«seq» | «alts»"),
    "seq": ("«item»", "«item» «item»", "«item» «seq»"),
    "item": ("\"a\"", "«element»«times»", "(«alts»)«times»", "a", "b«times»", "«call»"),
    "element": ("\"ab\"", "[a-z]", "[^\\n]", "[«part»«part*»]", "\"<|start_header_id|>\"", "\"é\""),
    "call": ("Token(«id»)", "ExcludeToken(«id», «id»)", "«dispatch»", "Regex(\"«safe»\")", "Substring(\"to \", \"be \", \"or \")",
             "TokenTagDispatch((128009, a), loop_after_dispatch=false)", "Regex(\"«safe»\", json_string=true)"),
    "dispatch": ("TagDispatch((\"<f>\", a), loop_after_dispatch=true)", "TagDispatch((\"<f>\", a), (\"<g\", b), excludes=(\"x\", \"«id»\"))"),
    "safe": ("[a-z]+", "\\\\p{L}{1,«n»}", "(ab|c)*", ".{0,«n»}"),
    "id": ("7", "0", "128009", "128255", "«n»"),
    "attributes": ("", "[max_tokens=«n»]", "[max_chars=«n»]"),
}  # fmt: skip
EBNF["times"] = ("", "*", "+", "?", "{«n»}", "{«n»,}", "{1,«n»}")

GBNF: dict[str, Sequence[str]] = {
    **EBNF,
    "grammar": ("root ::= «alts»\na ::= «alts»\nb ::= «alts»\n",),
    "call": ("<[«id»]>", "!<[«id»]>", "<|start_header_id|>", "!<|start_header_id|>", "."),
}  # fmt: skip

LANGUAGES: dict[str, Language] = {"lark": LARK, "ebnf": EBNF, "gbnf": GBNF, "regex": {**PATTERN, "grammar": ("«pattern»«pattern»", "«pattern»")}}  # fmt: skip


def expanded(rng: Random, language: Language, name: str = "grammar", depth: int = DEPTH) -> str:
    """Return a random text of a language."""
    ways = language[name]
    way = rng.choice(ways[:2] if depth <= 0 else ways)

    def one(found: re.Match[str]) -> str:
        times = rng.randrange(5) if found[2] else 1
        return "".join(expanded(rng, language, found[1], depth - 1) for _ in range(times))

    return _REFERENCE.sub(one, way)


def text_of(rng: Random, syntax: str) -> str:
    return expanded(rng, LANGUAGES[syntax])


# -- JSON values -----------------------------------------------------------------------------------
def format_of(rng: Random, depth: int = 3) -> Any:
    """Return a random format of a structural tag; the names of tokens are those of Llama 3."""
    if depth == 0 or rng.random() < 0.3:
        return _leaf(rng)

    def inner() -> Any:
        return format_of(rng, depth - 1)

    def some() -> list[Any]:
        return [inner() for _ in range(rng.randint(1, 4))]

    def tag(begin: str) -> Any:
        end = rng.choice(
            [
                "</t>",
                ["</t>", "END"],
                ["a", "aa", "b"],
                {"type": "token", "token": "<|start_header_id|>"},
            ]
        )
        return {"type": "tag", "begin": begin, "content": inner(), "end": end}

    flags = {"at_least_one": rng.random() < 0.4, "stop_after_first": rng.random() < 0.4}
    excludes = rng.choice([[], ["x"], ["ab", "abc", "<"]])
    low = rng.choice([0, 1, 2, 5])
    ways: Sequence[Callable[[], Any]] = (
        lambda: {"type": rng.choice(["sequence", "or"]), "elements": some()},
        lambda: {"type": rng.choice(["optional", "star", "plus"]), "content": inner()},
        lambda: {"type": "repeat", "content": inner(), "min": low, "max": rng.choice([-1, low, low + 3, low + 300])},
        lambda: tag("<t>"),
        lambda: {"type": "triggered_tags", "triggers": ["<f"], "tags": [tag("<f1>"), tag("<f2>")], "excludes": excludes, **flags},
        lambda: {"type": "token_triggered_tags", "trigger_tokens": ["<|start_header_id|>"],
                 "tags": [{**tag(""), "begin": {"type": "token", "token": "<|start_header_id|>"}}], **flags},
        lambda: {"type": "dispatch", "rules": [["<f>", inner()], ["<g", inner()]], "loop": rng.random() < 0.5, "excludes": excludes},
        lambda: {"type": "token_dispatch", "rules": [["<|start_header_id|>", inner()]], "loop": rng.random() < 0.5},
        lambda: {"type": "tags_with_separator", "tags": [tag("<a>"), tag("<b>")], "separator": rng.choice(["", ",", "\n"]), **flags},
    )  # fmt: skip
    return rng.choice(ways)()


def _leaf(rng: Random) -> Any:
    own = {"version": 1, "syntax": "lark", "inside_json": rng.random() < 0.5}
    ways: Sequence[Callable[[], Any]] = (
        lambda: {"type": "const_string", "value": rng.choice(["a", "ab", "é", "<|start_header_id|>", ""])},
        lambda: {"type": "regex", "pattern": text_of(rng, "regex")},
        lambda: {"type": "grammar", "grammar": text_of(rng, "ebnf")},
        lambda: {"type": "grammar", "grammar": text_of(rng, "lark"), "switchyard": own},
        lambda: {"type": "json_schema", "json_schema": schema_of(rng), "style": rng.choice(STYLES)},
        lambda: {"type": "json_schema", "json_schema": schema_of(rng), "excludes": rng.choice([[], ["ab"], ["a", "b", "\\"]])},
        lambda: {"type": "any_text", "excludes": rng.choice([[], ["x", "xy"], ["<"]]), "max_chars": rng.choice([None, 3, 2000])},
        lambda: {"type": "any_text", "max_tokens": rng.choice([0, 1, 40, 100_000])},
        lambda: {"type": "token", "token": rng.choice(["<|start_header_id|>", 7])},
        lambda: {"type": "exclude_token", "exclude_tokens": rng.choice([[], [7], [7, 8, "<|start_header_id|>"]])},
        lambda: {"type": "any_tokens", "exclude_tokens": [7], "max_tokens": rng.choice([None, 0, 3, 500])},
    )  # fmt: skip
    return rng.choice(ways)()


def schema_of(rng: Random) -> Any:
    schema = SpecMaker(rng).schema(3)
    if isinstance(schema, dict) and rng.random() < 0.3:
        schema = {"allOf": [schema, {"type": "string", "pattern": text_of(rng, "regex")}]}
    return schema


def _custom(rng: Random) -> Any:
    syntax = rng.choice(["lark", "lark", "regex"])
    grammar = {"syntax": syntax, "definition": text_of(rng, syntax)}
    return {
        "type": "custom",
        "custom": {
            "name": f"t{rng.randrange(9)}",
            "format": {"type": "grammar", "grammar": grammar},
        },
    }


def _function(rng: Random) -> Any:
    strict = rng.choice([None, True, False])
    return {
        "type": "function",
        "function": {
            "name": f"f{rng.randrange(99)}",
            "parameters": schema_of(rng),
            "strict": strict,
        },
    }


def request_of(rng: Random) -> Any:
    """Return the fields of a chat completion with one constraint or tools."""
    wire = rng.choice(["hermes", "llama3_json", "qwen_coder", "plain"])
    ways: Sequence[Callable[[], dict[str, Any]]] = (
        lambda: {"tools": [_custom(rng)], "tool_choice": rng.choice(["auto", "required"])},
        lambda: {"tools": [_custom(rng), _function(rng)]},
        lambda: {"tools": [_function(rng) for _ in range(rng.randint(1, 4))]},
        lambda: {"guided_regex": text_of(rng, "regex")},
        lambda: {"guided_grammar": text_of(rng, rng.choice(SYNTAXES))},
        lambda: {"guided_choice": [text_of(rng, "regex") for _ in range(rng.randint(1, 9))]},
        lambda: {"ebnf": text_of(rng, "ebnf")},
        lambda: {"response_format": {"type": "structural_tag", "format": format_of(rng)}},
        lambda: {"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": schema_of(rng)}}},
    )  # fmt: skip
    return {"wire": wire, **rng.choice(ways)()}


def explain_of(rng: Random) -> Any:
    asked = [{"tools": [_custom(rng), _function(rng)]}, {"response_format": {"type": "structural_tag", "format": format_of(rng)}},
             {"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": schema_of(rng)}}}]  # fmt: skip
    return {
        **rng.choice(asked),
        "output": rng.choice(["", "aaaa", '{"a": ', text_of(rng, "regex")[:200]]),
    }


VALUES: dict[str, Callable[[Random], Any]] = {
    "choice": lambda rng: [text_of(rng, "regex") for _ in range(rng.randint(1, 20))],
    "structural_tag": format_of,
    "json_schema": schema_of,
    "request": request_of,
    "check": schema_of,
    "explain": explain_of,
}
#: of a case's front end
WEIGHTS = {"lark": 6, "structural_tag": 4, "regex": 3, "ebnf": 2, "request": 3}


def random_case(seed: int, number: int) -> Case:
    """Return a case; its name, ``seed:number``, determines it."""
    name = f"{seed}:{number}"
    rng = Random(name)
    front_end = rng.choices(FRONT_ENDS, [WEIGHTS.get(each, 1) for each in FRONT_ENDS])[0]
    return Case(name, front_end, value_of(rng, front_end))


def value_of(rng: Random, front_end: str) -> Any:
    """Return a random input of a front end, possibly mutated."""

    def make() -> Any:
        return text_of(rng, front_end) if front_end in LANGUAGES else VALUES[front_end](rng)

    value = make()
    if rng.random() < MUTATED:
        for _ in range(rng.randint(1, MAX_MUTATIONS)):
            change = mutated if front_end in LANGUAGES else mutated_value
            value = change(rng, value, make())
    return value
