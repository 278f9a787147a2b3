"""Grammars as text -> IR: GBNF, xgrammar's EBNF, and Lark.

source   a text and the way to its places; escapes that all of them share
rules    names and the IR rules behind them
ebnf     GBNF as llama.cpp reads it, and xgrammar's EBNF
lark     Lark as llguidance reads it: statements; expressions reads the rest, and parts is what was
         read; attributes and parameters of rules; emission what is made of names; substrings
         %regex; common the library of terminals

Every rule of a text becomes a rule of the IR; left recursion and ambiguity need no care. What a
text means is its context-free language over characters: there is no lexer, so no longest match.

Tokens   a literal that holds a special token's text matches the token or its spelled bytes; all
         else matches characters, and no special token.
"""

from ...errors import SpecError
from ...grammar.ir import Grammar, Node
from ..structural_tag.tag_formats import TagVocabulary
from .ebnf import EBNF, GBNF, parse_ebnf
from .expressions import BuildSchema
from .lark import parse_lark

__all__ = ["SYNTAXES", "build_grammar"]

SYNTAXES = ("ebnf", "gbnf", "lark")


def build_grammar(
    grammar: Grammar,
    text: str,
    *,
    syntax: str,
    vocabulary: TagVocabulary,
    build_schema: BuildSchema | None = None,
    pointer: str = "",
) -> Node:
    """The language of the text's root rule: ``root``, of Lark ``start``.

    Args:
        syntax: "ebnf", "gbnf" or "lark".
        build_schema: the front end for ``%json`` of Lark; without it that is refused.
        pointer: where the text stands in what the caller sent.

    Raises:
        SpecError: the text is ill-formed, with line and column; UnsupportedSchema: it has a
        construct that can't be enforced, by name; LimitExceeded: ``grammar_rules``,
        ``spec_depth``.
    """
    if not isinstance(text, str):
        raise SpecError(f"a grammar must be a string, not {type(text).__name__}", pointer)
    if syntax == "lark":
        return parse_lark(grammar, text, vocabulary, build_schema, pointer)
    if syntax not in SYNTAXES:
        raise ValueError(f"syntax must be one of {', '.join(SYNTAXES)}, not {syntax!r}")
    return parse_ebnf(grammar, text, EBNF if syntax == "ebnf" else GBNF, vocabulary, pointer)
