"""Requests of all kinds for a soak: random, broken and hostile grammars.

Representation   request k of a seed depends only on (seed, k), so findings are reproducible.
                 ``wrong`` returns what is wrong with a complete text, or None.
Kinds            schema: random keywords of every draft (from the conformance suite); regex: the
                 common part of Python's and ECMA's dialects; tag: a tool call, or a choice of two
                 formats; ebnf; plain: no grammar; broken: an invalid grammar; hostile: huge, deep,
                 recursive, with NUL bytes, empty.
Not here         sending them (soak).
"""

import json
import re
from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

import regex

from tests.conformance.oracle import Oracle, parsed
from tests.conformance.schemas import SchemaMaker

from .client import Asked

Wrong = Callable[[str], str | None]
#: seconds to match a text with its pattern, which blocks; servers close connections after 5 idle
#: seconds
PATIENCE = 1.0
DRAFTS = (2020, 2020, 2020, 2019, 7, 6, 4)
TOKENS = (1, 4, 16, 32, 64, 128)
PROMPTS = ("x", "import os\nclass", "def f(x):\n    return", "x = 1\n" * 40)
#: kinds per hundred requests
SHARES = {
    "schema": 46, "regex": 12, "tag": 14, "ebnf": 4, "plain": 6, "broken": 8, "hostile": 10,
}  # fmt: skip
#: fates: read to the end, as a stream or not; aborted; left in the middle
FATES = {"wait": 40, "stream": 30, "abort": 14, "leave": 12, "vanish": 4}


class Ordeal(NamedTuple):
    """A request. ``delay``: seconds until it is aborted or left; ``events``: until it is left."""

    number: int
    kind: str
    fate: str
    asked: Asked
    wrong: Wrong
    delay: float
    events: int


def ordeal(seed: int, number: int) -> Ordeal:
    random = Random(f"{seed} {number}")
    kind, fate = _drawn(random, SHARES), _drawn(random, FATES)
    grammar, wrong = _MAKERS[kind](random)
    tokens, heat = random.choice(TOKENS), random.choice((0.0, 1.0, 1.0, 1.5))
    asked = Asked(random.choice(PROMPTS), grammar, tokens, heat)
    delay = random.choice((0.0, 0.01, 0.05, 0.3, 1.0))
    return Ordeal(number, kind, fate, asked, wrong, delay, random.randint(1, 8))


def _drawn(random: Random, shares: dict[str, int]) -> str:
    return random.choices(list(shares), list(shares.values()))[0]


def _nothing(_: str) -> None:
    return None


# -- what can be compiled, mostly ------------------------------------------------------------------
def _schema(random: Random) -> tuple[dict[str, str], Wrong]:
    schema = SchemaMaker(random, random.choice(DRAFTS)).document()
    text = json.dumps(schema, ensure_ascii=random.random() < 0.5)
    return {"json_schema": text}, lambda answer: _misfit(schema, answer)


def _misfit(schema: Any, text: str) -> str | None:
    try:
        value = parsed(text)
    except ValueError as error:
        return f"not JSON: {error}"
    try:
        oracle = Oracle(schema)
        return None if oracle.accepts(value) else "; ".join(oracle.why(value)) or "not valid"
    except Exception as error:  # failures of the oracle, such as patterns that Python cannot parse
        return f"oracle: {type(error).__name__} {error}"


def _regex(random: Random) -> tuple[dict[str, str], Wrong]:
    pattern = _pattern(random, 3)
    return {"regex": pattern}, lambda text: _wrong_match(pattern, text)


def _wrong_match(pattern: str, text: str) -> str | None:
    """Match with a timeout: nested repetitions can keep a backtracking matcher busy for ever."""
    try:
        found = regex.fullmatch(pattern, text, timeout=PATIENCE)
    except TimeoutError:
        return "oracle: the pattern takes too long"
    return None if found else "does not match"


def _pattern(random: Random, depth: int) -> str:
    if depth == 0:
        return random.choice(("a", "bc", "[a-f]", "[0-9]", "[^x]", r"\d", r"\.", "é", " ", "_"))
    parts = [_pattern(random, depth - 1) for _ in range(random.randint(1, 3))]
    joined = "|".join(parts) if random.random() < 0.4 else "".join(parts)
    many = random.choice(("", "", "*", "+", "?", "{2}", "{1,3}", "{0,20}"))
    return f"(?:{joined}){many}"


def _tag(random: Random) -> tuple[dict[str, str], Wrong]:
    tags = [_one_tag(random, number) for number in range(random.randint(1, 4))]
    if random.random() < 0.5:
        made: dict[str, Any] = {"type": "or", "elements": tags}
    else:
        made = {
            "type": "triggered_tags", "triggers": ["<"], "tags": tags, "at_least_one": True,
            "stop_after_first": True,
        }  # fmt: skip
    text = json.dumps({"type": "structural_tag", "format": made})
    return {"structural_tag": text}, lambda answer: _mistagged(tags, answer)


def _one_tag(random: Random, number: int) -> dict[str, Any]:
    schema = SchemaMaker(random, 2020, depth=2).document()
    content = {"type": "json_schema", "json_schema": schema}
    return {"type": "tag", "begin": f"<call_{number}>", "content": content, "end": "</call>"}


def _mistagged(tags: list[dict[str, Any]], text: str) -> str | None:
    for tag in tags:
        begin, end = tag["begin"], tag["end"]
        if text.startswith(begin) and text.endswith(end):
            inner = text[len(begin) : len(text) - len(end)]
            return _misfit(tag["content"]["json_schema"], inner)
    return "in no tag"


def _ebnf(random: Random) -> tuple[dict[str, str], Wrong]:
    words = [f'"{random.choice("abcdef")}{k}"' for k in range(random.randint(1, 6))]
    text = f"root ::= item+ tail?\nitem ::= {' | '.join(words)}\ntail ::= [0-9]{{1,4}}\n"
    found = "|".join(word.strip('"') for word in words)
    pattern = re.compile(f"(?:{found})+(?:[0-9]{{1,4}})?")
    return {"ebnf": text}, lambda answer: None if pattern.fullmatch(answer) else "does not match"


def _plain(_: Random) -> tuple[dict[str, str], Wrong]:
    return {}, _nothing


# -- what can't, or should not ---------------------------------------------------------------------
_BROKEN = (
    *({kind: ""} for kind in ("json_schema", "regex", "ebnf", "structural_tag")),
    *({"json_schema": text} for text in ("{", "[]", "42", "null", '"x"', "nul", "{}}", "\ufeff{}")),
    {"json_schema": '{"type": "no such type"}'},
    {"json_schema": '{"$ref": "#/nowhere"}'},
    {"json_schema": '{"$ref": "https://example.com/x.json"}'},
    {"json_schema": '{"pattern": "["}'},
    {"json_schema": '{"type": "object", "required": "a"}'},
    {"json_schema": '{"enum": []}'},
    {"json_schema": "false"},
    {"json_schema": '{"type": "string", "minLength": 3, "maxLength": 2}'},
    *({"regex": text} for text in ("[", "(", "a{2,1}", "(?<=a)b", r"\1", "*", r"\p{No}{", "(?z)")),
    *({"ebnf": text} for text in ("root", "root ::= x", 'a ::= "b"', 'root ::= "', "::=", "{}")),
    {"structural_tag": "{}"},
    {"structural_tag": '{"type": "structural_tag", "format": {"type": "no_such"}}'},
    {"structural_tag": '{"structures": [], "triggers": []}'},
    {"structural_tag": '{"structures": [{"begin": "<a>"}], "triggers": ["<"]}'},
    {"structural_tag": '{"structures": 5}'},
    {"json_schema": "{}", "regex": "a"},
    {"regex": "a", "ebnf": 'root ::= "a"'},
)


def _broken(random: Random) -> tuple[dict[str, str], Wrong]:
    return dict(random.choice(_BROKEN)), _nothing


def _hostile(random: Random) -> tuple[dict[str, str], Wrong]:
    return random.choice(_HOSTILE)(random), _nothing


def _schema_text(schema: Any) -> dict[str, str]:
    return {"json_schema": json.dumps(schema)}


def _nested(levels: int, opening: str, closing: str, core: str = "1") -> str:
    return opening * levels + core + closing * levels


_HOSTILE: tuple[Callable[[Random], dict[str, str]], ...] = (
    # huge
    lambda r: _schema_text({"enum": [f"{r.random()}" for _ in range(20_000)]}),
    lambda r: _schema_text({"properties": {f"{r.random()}": {} for _ in range(2_000)}}),
    lambda r: _schema_text({"const": "x" * r.choice((100_000, 9 << 20))}),
    lambda r: _schema_text({"anyOf": [{"type": "string", "maxLength": k} for k in range(900)]}),
    lambda r: {"regex": "|".join(f"{r.random()}" for _ in range(900))},
    lambda r: {"regex": "a" * r.choice((20_000, 20_001, 1_000_000))},
    lambda r: {"ebnf": 'root ::= "a"\n' + "".join(f'r{k} ::= "{k}"\n' for k in range(9_000))},
    # deep
    lambda r: {"json_schema": _nested(r.choice((100, 1_000, 100_000)), '{"items":', "}", "{}")},
    lambda r: {"json_schema": _nested(r.choice((100, 1_000, 100_000)), "[", "]")},
    lambda r: {"structural_tag": _nested(r.choice((1_000, 100_000)), '{"format":', "}")},
    lambda r: {"regex": _nested(r.choice((100, 1_000, 9_000)), "(", ")", "a")},
    lambda r: {"ebnf": "root ::= " + _nested(r.choice((100, 1_000, 50_000)), "(", ")", '"a"')},
    # numbers and repetitions
    lambda r: {"regex": r.choice(("a{1000000}", "(a{1000}){1000}", "((a?){50}){50}", "(a*)*b"))},
    lambda r: {"regex": r.choice((r"(a|aa)+", r"[^\x00]{1,65536}", r"(.*a){20}", r"\w{0,9999}"))},
    lambda r: _schema_text({"type": "string", "minLength": 10 ** r.randint(3, 12)}),
    lambda r: _schema_text({"type": "array", "minItems": 10 ** r.randint(3, 12)}),
    lambda r: _schema_text({"type": "array", "uniqueItems": True, "minItems": 300}),
    lambda r: {"json_schema": '{"type":"number","multipleOf":1e-300,"minimum":1e400}'},
    lambda r: {"json_schema": '{"type":"integer","minimum":' + "9" * r.randint(10, 5_000) + "}"},
    # recursion
    lambda r: _schema_text({"$ref": "#"}),
    lambda r: _schema_text({"not": {"$ref": "#"}}),
    lambda r: _schema_text({"allOf": [{"$ref": "#"}, {"type": "object"}]}),
    lambda r: _schema_text({"items": {"$ref": "#"}, "type": "array", "minItems": 1}),
    lambda r: {"ebnf": r.choice(('root ::= root "a"', "root ::= root", "root ::= root root | x"))},
    lambda r: {"ebnf": 'root ::= "a" root | root root | ""'},
    # characters
    lambda r: {"json_schema": '{"const": "\\u0000"}'},
    lambda r: {"json_schema": '{"pattern": "\\u0000+", "type": "string"}'},
    lambda r: {"regex": r.choice(("\x00", "a\x00b", "[\x00-\x1f]+"))},
    lambda r: {"ebnf": 'root ::= "\x00"'},
    lambda r: {"json_schema": "{}\x00"},
    lambda r: {"json_schema": '{"const": "\\ud800"}'},
    lambda r: {"regex": "\ud800"},
    lambda r: _schema_text({"properties": {"": {}, "\u202e": {}, "\U0010ffff": {"const": "é"}}}),
)

_MAKERS: dict[str, Callable[[Random], tuple[dict[str, str], Wrong]]] = {
    "schema": _schema,
    "regex": _regex,
    "tag": _tag,
    "ebnf": _ebnf,
    "plain": _plain,
    "broken": _broken,
    "hostile": _hostile,
}
