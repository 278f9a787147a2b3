"""Answers and a compiled grammar: the vocabulary of a format, encoding, acceptance, reading.

The vocabulary holds all bytes, some longer tokens and the format's special tokens.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from random import Random

import numpy as np

from adapters.formats import FormatPlan, OutputSpec, get_format
from engine import STYLES, Compiled, Compiler, Matcher, Style, Vocabulary
from tests.engine.harness import new_mask

from .cases import SPECIALS, STOPS, Said

#: tokens that cross the borders of marks, names and values
LONGER = (
    b'"}', b"}}", b'{"', b'": ', b"\n</", b"Oslo", b'"f"', b"<tool", b" functions", b"; {", b"></",
    "漢".encode(), "😀".encode()[:2], b"to=", b"json", b"assistant", b">\n", b"\n\n", b"call>\n{",
)  # fmt: skip
#: the ends of raw values, which chance alone hardly writes
ENDS = tuple(
    style.close.encode() for style in STYLES.values() if style.close and "{key}" not in style.close
)


def own_ends(name: str) -> list[bytes]:
    """Return the end of raw values in a style that the engine has no name for."""
    style = getattr(getattr(get_format(name), "arguments", None), "style", "json")
    return [style.close.encode()] if isinstance(style, Style) and style.close else []


@lru_cache
def compiler(name: str) -> Compiler:
    tokens = [bytes([byte]) for byte in range(256)]
    longer = [*dict.fromkeys([*LONGER, *ENDS, *own_ends(name)])]
    specials = [text.encode() for text in SPECIALS[name]]
    first = len(tokens) + len(longer)
    stops = [first + SPECIALS[name].index(text) for text in STOPS[name]]
    vocabulary = Vocabulary(
        [*tokens, *longer, *specials],
        stop_token_ids=stops,
        special_token_ids=range(first, first + len(specials)),
    )
    return Compiler(vocabulary)


def compiled(name: str, output: OutputSpec) -> tuple[FormatPlan, Compiled]:
    return compiled_as(name, output, lambda plan: plan)


def compiled_as(
    name: str, output: OutputSpec, dialect: Callable[[FormatPlan], FormatPlan]
) -> tuple[FormatPlan, Compiled]:
    """Return the plan in a dialect of the structural tag, and its grammar."""
    plan = dialect(get_format(name).plan(output, SPECIALS[name]))
    return plan, compiler(name).compile_structural_tag(plan.spec_json)


@lru_cache
def pieces(name: str, longest: int) -> re.Pattern[bytes]:
    """Return the pattern of the next token: a special one, or the longest of up to that length."""
    tokens = compiler(name).vocabulary.tokens
    first = len(tokens) - len(SPECIALS[name])
    short = sorted((t for t in tokens[256:first] if len(t) <= longest), key=len, reverse=True)
    return re.compile(b"|".join(map(re.escape, [*tokens[first:], *short])) + b"|.", re.DOTALL)


def encode(name: str, text: str, longest: int = 1) -> list[int]:
    """Special tokens by id; the rest in tokens of up to ``longest`` bytes."""
    ids = {token: number for number, token in enumerate(compiler(name).vocabulary.tokens)}
    return [ids[piece] for piece in pieces(name, longest).findall(text.encode())]


def is_accepted(grammar: Compiled, ids: list[int]) -> bool:
    matcher = Matcher(grammar)
    return all(map(matcher.accept_token, ids)) and (matcher.can_stop() or matcher.is_terminated())


def read(plan: FormatPlan, grammar: Compiled, ids: list[int]) -> Said:
    parser, reader, said = grammar.parser(), plan.reader(), Said()
    for token in ids:
        said.add(reader.feed(parser.feed(token)))
    said.add(reader.feed(parser.finish()))
    return said.add(reader.finish())


def walk(
    grammar: Compiled, chance: Random, closers: np.ndarray, *, patience: int, limit: int
) -> list[int]:
    """Return the tokens of a random answer, cut off at ``limit``.

    ``closers``: tokens that end strings, values and tags; behind ``patience`` tokens, most are
    drawn from them.
    """
    matcher, ids, mask = Matcher(grammar), [], new_mask(grammar.vocabulary)
    while len(ids) < limit and not matcher.is_terminated():
        matcher.fill_bitmask(mask)
        flags = np.unpackbits(mask.view(np.uint8), bitorder="little")
        pull = 0.8 if len(ids) > patience else 0.3
        allowed = closers[flags[closers] == 1] if chance.random() < pull else closers[:0]
        if not allowed.size:
            allowed = np.flatnonzero(flags)
        ids.append(int(allowed[chance.randrange(len(allowed))]))
        assert matcher.accept_token(ids[-1])
    return ids
