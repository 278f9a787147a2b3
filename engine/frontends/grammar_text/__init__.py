"""Grammars as text to IR: GBNF, xgrammar's EBNF, and Lark.

source            the text with a position, and its rules
ebnf, macros      GBNF (llama.cpp) and EBNF (xgrammar); macros of EBNF, and substrings
lark              statements of Lark (llguidance), and its library of terminals
lark_builder      definitions of Lark, and the rules built from them
lark_parser       expressions of Lark, and parameters of its rules
lark_expressions  the syntax tree of expressions
left_recursion    the check of grammars whose texts are read back

Every rule of a text becomes a rule of the IR. Left recursion and ambiguity are allowed. A grammar
denotes a context-free language over characters; there is no lexer, hence no longest match.

Tokens   a literal that contains the text of a special token matches that token or its bytes;
         everything else matches characters and no special token.
"""

from ...errors import SpecError
from ...grammar.ir import Grammar, Node
from ..structural_tag.tag_vocabulary import TagVocabulary
from .ebnf import EBNF, GBNF, parse_ebnf
from .lark import parse_lark
from .lark_parser import BuildSchema

__all__ = ["SYNTAXES", "build_grammar"]

SYNTAXES = ("ebnf", "gbnf", "lark")


def build_grammar(
    grammar: Grammar,
    text: str,
    *,
    syntax: str,
    vocabulary: TagVocabulary,
    build_schema: BuildSchema | None = None,
    inside_json: bool = False,
    readable: bool = False,
    pointer: str = "",
) -> Node:
    """Add a grammar and return the node of its root rule: ``root``, or ``start`` in Lark.

    Args:
        syntax: "ebnf", "gbnf" or "lark".
        build_schema: the front end for ``%json`` of Lark, which is refused without it.
        inside_json: add the texts as the inside of a JSON string; for Lark only.
        readable: refuse grammars whose texts the event parser cannot read.
        pointer: JSON pointer of the text in the caller's document.

    Raises:
        SpecError: the text is ill-formed; the message names line and column.
        UnsupportedSchema: a construct cannot be enforced; the message names it.
        LimitExceeded: ``grammar_rules``, ``spec_depth``.
    """
    if not isinstance(text, str):
        raise SpecError(f"a grammar must be a string, not {type(text).__name__}", pointer)
    if syntax == "lark":
        return parse_lark(
            grammar,
            text,
            vocabulary,
            build_schema,
            pointer,
            inside_json=inside_json,
            readable=readable,
        )
    if syntax not in SYNTAXES:
        raise ValueError(f"syntax must be one of {', '.join(SYNTAXES)}, not {syntax!r}")
    if inside_json:
        raise ValueError(f"inside_json requires Lark, not {syntax!r}")
    dialect = EBNF if syntax == "ebnf" else GBNF
    return parse_ebnf(grammar, text, dialect, vocabulary, pointer, readable=readable)
