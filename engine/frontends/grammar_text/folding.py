"""Letter case, and patterns as Lark's regular expressions mean them."""

import re

from ...ir import Grammar, Node

#: what a pattern is cut into: escapes, classes, heads of named groups, and all other characters
_PIECES = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]|\(\?P?<[^>]*>|.", re.DOTALL)
#: what would have to be folded before it is complemented, and characters by their numbers
_NOT_FOLDED = re.compile(r"\\[WDSPpxuc]|\[\^")


def folded(grammar: Grammar, text: str) -> Node:
    """A text in any letter case, character by character."""
    parts = []
    for character in text:
        ways = {character, *(c for c in (character.lower(), character.upper()) if len(c) == 1)}
        parts.append(grammar.chars(sorted((ord(c), ord(c)) for c in ways)))
    return grammar.seq(*parts)


def with_dots(pattern: str, *, all_characters: bool) -> str:
    """The pattern for an ECMA-262 reader: the dot is any character, but for a newline without the
    flag ``s``.
    """
    dot = r"[\s\S]" if all_characters else r"[^\n]"
    return "".join(dot if piece == "." else piece for piece in _PIECES.findall(pattern))


def in_any_case(pattern: str) -> str | None:
    """The pattern with both cases of every letter of ASCII; None where that is not exact."""
    if not pattern.isascii():
        return None
    made = []
    for piece in _PIECES.findall(pattern):
        if _is_not_folded(piece):
            return None
        if piece[0] == "[":
            made.append(_class_in_any_case(piece))
        elif piece.isalpha():
            made.append(f"[{piece.lower()}{piece.upper()}]")
        else:
            made.append(piece)
    return None if None in made else "".join(map(str, made))


def _is_not_folded(piece: str) -> bool:
    parts = re.findall(r"\\.|^\[\^|.", piece, re.DOTALL)
    return any(_NOT_FOLDED.fullmatch(part) for part in parts)


def _class_in_any_case(piece: str) -> str | None:
    """A class whose ranges don't run across letters of one case only in part."""
    made = ""
    for low, high in re.findall(r"(\\.|[^\\])(?:-(\\.|[^\\]))?", piece[1:-1], re.DOTALL):
        made += f"{low}-{high}" if high else low
        if len(low) > 1 or len(high) > 1:
            if high:
                return None
            continue
        span = range(ord(low), ord(high or low) + 1)
        letters = [chr(c).isalpha() for c in span]
        if all(letters) and low.isupper() == (high or low).isupper():
            made += low.swapcase() + (f"-{high.swapcase()}" if high else "")
        elif any(letters):
            return None
    return f"[{made}]"
