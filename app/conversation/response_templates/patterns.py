"""Patterns of response templates, read as pieces of text. They are never executed.

A pattern that opens or closes a region is written for a reader: it accepts more than the model
writes. A family needs the texts themselves. So a pattern is parsed, not compiled, and each of its
alternatives becomes a sequence of pieces:

    <tool_call>\\s*<function=(?P<name>\\w+)>    Text, Gap, Text, Group, Text

Zero-width parts (``^``, ``$``, ``(?=...)``) have no text and are left out.

Bounds      the work is linear in MAX_PATTERN times MAX_ALTERNATIVES. No expression of a checkpoint
            is run on any text: it could take exponential time, or gigabytes to compile.
Not here    the white space at gaps (call_shape).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

#: characters of a pattern or a literal; the longest known pattern has 400
MAX_PATTERN = 1_000
#: sequences that alternatives and optional parts make of one pattern
MAX_ALTERNATIVES = 16
#: groups inside of groups
MAX_DEPTH = 16
#: characters of an id that a pattern does not bound
MAX_RUN = 1_000

_ASCII = frozenset(map(chr, range(128)))
_SPACE = frozenset(" \t\n\r\f\v")
_DIGITS = frozenset("0123456789")
_WORD = _DIGITS | frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "v": "\v"}
_SETS = {"s": _SPACE, "w": _WORD, "d": _DIGITS}
_ZERO_WIDTH = frozenset("AZz")


class UnreadablePattern(ValueError):
    """A pattern has a part that is no text. The message names the part."""


@dataclass(frozen=True)
class Text:
    text: str


@dataclass(frozen=True)
class Gap:
    """White space of any length; ``usual``: written unless a rendered call shows another."""

    usual: str = ""


@dataclass(frozen=True)
class Run:
    """From ``least`` to ``most`` characters of a set. ``others``: those beyond ASCII are in it."""

    characters: frozenset[str]
    others: bool
    least: int = 1
    most: int = 1

    def __contains__(self, character: str) -> bool:
        return character in self.characters if character.isascii() else self.others

    @property
    def is_space(self) -> bool:
        return self.characters <= _SPACE

    @property
    def excluded(self) -> frozenset[str]:
        """The ASCII characters that are not in the set."""
        return _ASCII - self.characters


@dataclass(frozen=True)
class Group:
    """A named group: runs of characters, one after the other."""

    name: str
    runs: tuple[Run, ...]


Piece = Text | Gap | Run | Group
Pieces = tuple[Piece, ...]


def read_literal(text: str) -> Pieces:
    """Return a literal as pieces. Raises UnreadablePattern."""
    if not text or len(text) > MAX_PATTERN:
        raise UnreadablePattern(f"has {len(text)} characters, allowed are 1 to {MAX_PATTERN}")
    _check_text(text)
    return (Text(text),)


def read_pattern(pattern: str) -> list[Pieces]:
    """Return the alternatives of a regular expression, each without white space around it.

    Raises:
        UnreadablePattern: the pattern is too long, broken, or has a part that is no text.
    """
    if len(pattern) > MAX_PATTERN:
        raise UnreadablePattern(f"has {len(pattern)} characters, allowed are {MAX_PATTERN}")
    _check_text(pattern)
    parser = _Parser(pattern)
    found = parser.alternatives(0)
    if parser.at < len(pattern):
        raise UnreadablePattern("has a closing parenthesis without an opening one")
    return [*dict.fromkeys(trimmed(tidy(pieces)) for pieces in found)]


def tidy(pieces: Sequence[Any]) -> tuple[Any, ...]:
    """Return pieces of which no two texts or gaps are neighbours; white space beside a gap is a
    part of it.
    """
    made: list[Any] = []
    for piece in pieces:
        last = made[-1] if made else None
        if isinstance(piece, Text) and isinstance(last, Text):
            made[-1] = Text(last.text + piece.text)
        elif isinstance(piece, Text) and isinstance(last, Gap):
            rest = piece.text.lstrip()
            made[-1] = Gap(last.usual + piece.text[: len(piece.text) - len(rest)])
            made += [Text(rest)] if rest else []
        elif isinstance(piece, Gap) and isinstance(last, Text):
            kept = last.text.rstrip()
            made[-1:] = [Text(kept)] if kept else []
            made.append(Gap(last.text[len(kept) :] + piece.usual))
        elif isinstance(piece, Gap) and isinstance(last, Gap):
            made[-1] = Gap(last.usual + piece.usual)
        else:
            made.append(piece)
    return tuple(made)


def trimmed(pieces: Pieces) -> Pieces:
    """Return pieces without gaps at their ends."""
    first = 1 if pieces and isinstance(pieces[0], Gap) else 0
    end = len(pieces) - 1 if len(pieces) > first and isinstance(pieces[-1], Gap) else len(pieces)
    return pieces[first:end]


@dataclass
class _Parser:
    """A parser of the common part of Python's expressions."""

    pattern: str
    at: int = field(default=0)

    def alternatives(self, depth: int) -> list[list[Piece]]:
        if depth > MAX_DEPTH:
            raise UnreadablePattern(f"has more than {MAX_DEPTH} groups inside of groups")
        found = self._sequence(depth)
        while self._next("|"):
            found = found + self._sequence(depth)
            self._check(found)
        return found

    def _sequence(self, depth: int) -> list[list[Piece]]:
        found: list[list[Piece]] = [[]]
        while self.at < len(self.pattern) and self.pattern[self.at] not in "|)":
            start = self.at
            parts = self._quantified(self._atom(depth), start)
            found = [before + part for before, part in product(found, parts)]
            self._check(found)
        return found

    def _atom(self, depth: int) -> list[list[Piece]]:
        character = self._take()
        if character == "(":
            return self._group(depth)
        if character == "[":
            made = self._class()
            only = "".join(made.characters) if len(made.characters) == 1 else ""
            return [[Text(only) if only and not made.others else made]]
        if character == ".":
            return [[Run(_ASCII, others=True)]]
        if character in "^$":
            return [[]]
        if character in "*+?{":
            raise UnreadablePattern(f"has {character!r} without anything to repeat")
        if character == "\\":
            escaped = self._escape(in_class=False)
            if escaped is None:
                return [[]]
            return [[Text(escaped) if isinstance(escaped, str) else escaped]]
        return [[Text(character)]]

    def _group(self, depth: int) -> list[list[Piece]]:
        name, is_ahead = "", False
        if self._next("?"):
            if self._next("P<") or self._next("<"):
                end = self.pattern.find(">", self.at)
                name = self.pattern[self.at : end] if end > 0 else ""
                if not name.isidentifier():
                    raise UnreadablePattern("has a group without a name, or a look-behind")
                self.at = end + 1
            elif self._next("="):
                is_ahead = True
            elif not self._next(":"):
                raise UnreadablePattern(f"has (?{self.pattern[self.at : self.at + 1]}...)")
        found = self.alternatives(depth + 1)
        if not self._next(")"):
            raise UnreadablePattern("has an opening parenthesis without a closing one")
        if is_ahead:
            return [[]]
        return [self._named(name, pieces) for pieces in found] if name else found

    @staticmethod
    def _named(name: str, pieces: Sequence[Piece]) -> list[Piece]:
        runs = []
        for piece in pieces:
            if isinstance(piece, Text):
                runs += [Run(frozenset(c), others=False) for c in piece.text if c.isascii()]
                if not piece.text.isascii():
                    raise UnreadablePattern(f"has text beyond ASCII in the group {name!r}")
            elif isinstance(piece, Run):
                runs.append(piece)
            else:
                raise UnreadablePattern(f"has a group or white space in the group {name!r}")
        return [Group(name, tuple(runs))]

    def _quantified(self, parts: list[list[Piece]], start: int) -> list[list[Piece]]:
        bounds = self._quantifier()
        piece = parts[0][0] if len(parts) == 1 and len(parts[0]) == 1 else None
        run = _as_run(piece)
        if run is not None and run.is_space and (bounds or isinstance(piece, Run)):
            least = run.least if bounds is None else bounds[0]
            return [[Gap(" " * (least > 0))]]
        if bounds is None:
            return parts
        if bounds == (0, 1) and not isinstance(piece, Run):
            return [[], *parts]
        if not isinstance(piece, Run) or (piece.least, piece.most) != (1, 1):
            raise UnreadablePattern(f"repeats {self.pattern[start : self.at][:40]!r}")
        return [[Run(piece.characters, piece.others, *bounds)]]

    def _quantifier(self) -> tuple[int, int] | None:
        bounds = None
        if self._next("*"):
            bounds = 0, MAX_RUN
        elif self._next("+"):
            bounds = 1, MAX_RUN
        elif self._next("?"):
            bounds = 0, 1
        elif self._next("{"):
            end = self.pattern.find("}", self.at)
            least, comma, most = self.pattern[self.at : max(end, self.at)].partition(",")
            if not _is_count(least) or (most and not _is_count(most)):
                raise UnreadablePattern("has an opening brace that is no count")
            self.at = end + 1
            bounds = int(least), int(most or (MAX_RUN if comma else least))
        if bounds is not None and not self._next("?"):
            self._next("+")
        return bounds

    def _escape(self, *, in_class: bool) -> str | Run | None:
        """Return the character or set of an escape; None: it is zero-width."""
        character = self._take()
        if character in _ESCAPED:
            return _ESCAPED[character]
        if character.lower() in _SETS:
            chosen = _SETS[character.lower()]
            if character.islower():
                return Run(chosen, others=character == "w")
            return Run(_ASCII - chosen, others=character != "W")
        if character in "xu":
            digits = self.pattern[self.at : self.at + (2 if character == "x" else 4)]
            self.at += len(digits)
            if len(digits) < 2 or not set(digits) <= set("0123456789abcdefABCDEF"):
                raise UnreadablePattern(f"has the escape \\{character}{digits}")
            _check_text(chr(int(digits, 16)))
            return chr(int(digits, 16))
        if character in _ZERO_WIDTH and not in_class:
            return None
        if character.isalnum():
            raise UnreadablePattern(f"has the escape \\{character}")
        return character

    def _class(self) -> Run:
        is_negated = self._next("^")
        chosen: set[str] = set()
        others, is_first = False, True
        while is_first or self.pattern[self.at : self.at + 1] != "]":
            is_first = False
            one = self._class_item()
            if isinstance(one, Run):
                chosen |= one.characters
                others = others or one.others
                continue
            last = one
            if (
                self.pattern[self.at : self.at + 1] == "-"
                and self.pattern[self.at + 1 :][:1] != "]"
            ):
                self._take()
                end = self._class_item()
                if isinstance(end, Run) or end < one:
                    raise UnreadablePattern("has a range without an end")
                last = end
            chosen |= {c for c in _ASCII if one <= c <= last}
            others = others or not last.isascii()
        self._take()
        if is_negated:
            return Run(_ASCII - chosen, others=not others)
        return Run(frozenset(chosen), others)

    def _class_item(self) -> str | Run:
        if self._next("[:"):
            raise UnreadablePattern("has a named class")
        character = self._take()
        if character != "\\":
            return character
        made = self._escape(in_class=True)
        assert made is not None
        return made

    def _take(self) -> str:
        if self.at >= len(self.pattern):
            raise UnreadablePattern("ends too early")
        self.at += 1
        return self.pattern[self.at - 1]

    def _next(self, text: str) -> bool:
        found = self.pattern.startswith(text, self.at)
        self.at += len(text) if found else 0
        return found

    @staticmethod
    def _check(found: Sequence[object]) -> None:
        if len(found) > MAX_ALTERNATIVES:
            raise UnreadablePattern(f"has more than {MAX_ALTERNATIVES} alternatives")


def _check_text(text: str) -> None:
    """Raise UnreadablePattern for half a surrogate pair, which no answer contains."""
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise UnreadablePattern("has half a surrogate pair")


def _as_run(piece: Piece | None) -> Run | None:
    if isinstance(piece, Run):
        return piece
    if isinstance(piece, Text) and len(piece.text) == 1 and piece.text.isascii():
        return Run(frozenset(piece.text), others=False)
    return None


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 4
