"""Generated specs, each with a valid value: any number, of any size, no two alike.

The ``Random`` argument determines everything. The keywords are those that all engines accept:
objects, arrays, strings, numbers, enums, required and optional properties.
"""

import json
from random import Random
from typing import Any

from .data import SchemaCase, ToolCase

_WORDS = (  # noqa: SIM905
    "account address amount author balance category city code color comment count country currency "
    "date description discount email end event field filter format group height history id image "
    "index item key label language length level limit line list location message method mode "
    "model name note number option order owner page path period phone place price product query "
    "range rate reason region result role score section shape source speed start state status "
    "street target team text time title token total type unit user value version view weight width "
    "year zone"
).split()


def _name(random: Random, words: int = 2) -> str:
    return "_".join(random.sample(_WORDS, words))


def _text(random: Random) -> tuple[Any, Any]:
    return {"type": "string"}, " ".join(random.choices(_WORDS, k=random.randint(1, 4)))


def _bounded(random: Random) -> tuple[Any, Any]:
    return {"type": "string", "maxLength": random.randint(20, 80)}, random.choice(_WORDS)


def _integer(random: Random) -> tuple[Any, Any]:
    return {"type": "integer"}, random.randint(0, 5000)


def _number(random: Random) -> tuple[Any, Any]:
    return {"type": "number"}, random.randint(0, 999) / 4


def _flag(random: Random) -> tuple[Any, Any]:
    return {"type": "boolean"}, random.random() < 0.5


def _enum(random: Random) -> tuple[Any, Any]:
    values = random.sample(_WORDS, random.randint(2, 6))
    return {"type": "string", "enum": values}, random.choice(values)


def _texts(random: Random) -> tuple[Any, Any]:
    items, value = _text(random)
    return {"type": "array", "items": items}, [value] * random.randint(1, 3)


_LEAVES = (_text, _text, _text, _bounded, _integer, _integer, _number, _flag, _enum, _texts)


def record(random: Random, fields: int, depth: int = 1) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a closed object with this many properties, including objects up to ``depth``."""
    properties, value, required = {}, {}, []
    for k in range(fields):
        name = f"{_name(random)}_{k}"
        nested = depth > 0 and random.random() < 0.15
        made = record(random, 3, depth - 1) if nested else random.choice(_LEAVES)(random)
        properties[name], one = made
        if random.random() < 0.6:
            required.append(name)
        if name in required or random.random() < 0.3:
            value[name] = one
    schema = {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }
    return schema, value


def schema_case(random: Random, fields: int = 6) -> SchemaCase:
    schema, value = record(random, fields)
    return SchemaCase("made", schema, [(json.dumps(value), True)])


def schema_of(random: Random, size: int) -> SchemaCase:
    """Return a schema of about ``size`` bytes of JSON: an object of objects of six properties."""
    properties: dict[str, Any] = {}
    value: dict[str, Any] = {}
    held = 0
    while held < size - 64:
        name = f"{_name(random)}_{len(properties)}"
        properties[name], value[name] = record(random, 6)
        held += len(json.dumps(properties[name])) + len(name) + 6
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return SchemaCase(f"made, {size} bytes", schema, [(json.dumps(value), True)])


def tool_case(random: Random, tools: int = 4) -> ToolCase:
    """Return tools of two to six parameters, and a call of one of them."""
    made = [(f"{_name(random)}_{k}", record(random, random.randint(2, 6))) for k in range(tools)]
    name, (_, value) = random.choice(made)
    return ToolCase("made", [(n, schema) for n, (schema, _) in made], [(name, value)])


def regex(random: Random) -> str:
    """Return a regular expression of words, classes and counts."""
    some, number = random.sample(_WORDS, 4), random.randrange(1 << 30)
    most = random.randrange(4, 60)
    return (
        rf"({some[0]}|{some[1]}{number})-[a-f\d]{{3,{most}}}(-[A-Za-z ]+)*\.({some[2]}|{some[3]})"
    )


def lark_grammar(random: Random) -> str:
    """Return a grammar with recursion, terminals and ignored blanks."""
    some, number = random.sample(_WORDS, 5), random.randrange(1 << 30)
    return (
        'start: item ("," item)*\n'
        f'item: "{some[0]}{number}" "=" value | "{some[1]}" "(" item ")" | WORD\n'
        f'value: NUMERAL | QUOTED | "[" value ("," value)* "]" | "{some[2]}"\n'
        f"WORD: /{some[3]}[a-z]{{1,{random.randrange(3, 30)}}}/\n"
        f'NUMERAL: /-?[0-9]+(\\.[0-9]+)?/\nQUOTED: /"[^"\\n]*"/\n%ignore / +/\n'
    )


def ebnf_grammar(random: Random) -> str:
    """Return a grammar without terminals."""
    some, number = random.sample(_WORDS, 4), random.randrange(1 << 30)
    return (
        'root ::= item ("," item)*\n'
        f'item ::= "{some[0]}{number}=" value | "{some[1]}(" item ")" | [a-z]{{1,9}} "{some[2]}"\n'
        f'value ::= [0-9]+ | "\\"" [^"\\n]* "\\"" | "[" value ("," value)* "]" | "{some[3]}"\n'
    )


def tool_cases(real: list[ToolCase], count: int, seed: int = 11) -> list[ToolCase]:
    """Return the distinct sets of ``real``, followed by generated ones if there are too few."""
    distinct = list({json.dumps(case.tools): case for case in real}.values())[:count]
    return distinct + [tool_case(Random(seed + k)) for k in range(count - len(distinct))]


def large_sets(real: list[ToolCase], tools: int, sets: int, seed: int = 13) -> list[ToolCase]:
    """Return sets of ``tools`` tools without common tools.

    Real cases are used whole while all their tools are new; a set's calls are those of its first
    case, and generated tools fill it up.
    """
    dealt: list[list[ToolCase]] = [[] for _ in range(sets)]
    owned: list[dict[str, Any]] = [{} for _ in range(sets)]
    known: set[str] = set()
    turn = 0
    for case in real:
        own, names = owned[turn % sets], {name for name, _ in case.tools}
        if case.calls and not names & known and len(own) + len(names) <= tools:
            known |= names
            own.update(case.tools)
            dealt[turn % sets].append(case)
            turn += 1
    return [_filled(Random(seed + k), owned[k], dealt[k], tools) for k in range(sets)]


def _filled(random: Random, own: dict[str, Any], cases: list[ToolCase], count: int) -> ToolCase:
    more = tool_case(random, max(1, count - len(own)))
    every = [*own.items(), *more.tools][:count]
    calls = cases[0].calls if cases else more.calls
    random.shuffle(every)
    return ToolCase(f"{count} tools", every, calls)
