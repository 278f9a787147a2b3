"""ECMA-262 regular expressions (Unicode mode, with the leniencies of Annex B that people rely on)
-> a tree.

Lenient: any punctuation may be escaped; ``]``, ``}`` and a ``{`` that opens no quantifier stand for
themselves; ``-`` in a class beside a class escape does too; ``(?P<name>`` is taken for
``(?<name>``.
Refused by name: look-around, back-references, word boundaries, inline flags, properties other than
general categories.
Refused as ill-formed, because dialects disagree: ``{,n}``, unknown letters behind a backslash,
octal escapes.

Cost      linear; groups are kept on a list, not on Python's stack.
Source    ECMA-262, section 22.2.
"""

from ..errors import LimitExceeded, SpecError, UnsupportedSchema
from ..ir import Ranges
from ..limits import Limits
from .charset import char, complement, intersect, union
from .regex_classes import CLASSES, CONTROLS, DOT, property_ranges
from .regex_tree import END, START, Anchor, Chars, Tree, alt, cat, repeat

HEX = frozenset("0123456789abcdefABCDEF")
#: digits of a count; the engine's counters hold 32 bits
COUNT_DIGITS = 9


def parse(pattern: str, *, pointer: str, limits: Limits) -> Tree:
    """
    Raises:
        SpecError: not a regular expression; the message names the position.
        UnsupportedSchema: a construct that can't be enforced, by name.
        LimitExceeded: ``pattern_chars`` or, for nested groups, ``spec_depth``.
    """
    if len(pattern) > limits.pattern_chars:
        raise LimitExceeded("pattern_chars", limits.pattern_chars, len(pattern), pointer)
    return _Parser(pattern, pointer, limits.spec_depth).parse()


class _Parser:
    """``at`` is the position of the next character."""

    def __init__(self, pattern: str, pointer: str, depth: int) -> None:
        self.text, self.pointer, self.depth = pattern, pointer, depth
        self.at = 0

    # -- structure --------------------------------------------------------------------------------
    def parse(self) -> Tree:
        open_groups: list[tuple[list[Tree], list[Tree]]] = []
        parts: list[Tree] = []
        branches: list[Tree] = []
        while self.at < len(self.text):
            c = self.text[self.at]
            self.at += 1
            if c == "(":
                self._group()
                open_groups.append((branches, parts))
                if len(open_groups) > self.depth:
                    raise LimitExceeded("spec_depth", self.depth, len(open_groups), self.pointer)
                branches, parts = [], []
            elif c == "|":
                branches.append(cat(parts))
                parts = []
            elif c == ")":
                if not open_groups:
                    raise self._error("unmatched )", back=1)
                group = alt([*branches, cat(parts)])
                branches, parts = open_groups.pop()
                parts.append(self._quantified(group, is_group=True))
            else:
                parts.append(self._quantified(self._atom(c)))
        if open_groups:
            raise self._error("missing )")
        return alt([*branches, cat(parts)])

    def _error(self, message: str, *, back: int = 0) -> SpecError:
        return SpecError(f"pattern, position {self.at - back}: {message}", self.pointer)

    def _refuse(self, what: str) -> UnsupportedSchema:
        message = f"pattern, position {self.at}: {what} can't be enforced"
        return UnsupportedSchema(self.pointer, "pattern", message)

    def _peek(self, n: int = 1) -> str:
        return self.text[self.at : self.at + n]

    def _take(self, text: str) -> bool:
        if self.text.startswith(text, self.at):
            self.at += len(text)
            return True
        return False

    def _group(self) -> None:
        """What may stand behind the (."""
        if self._peek() != "?":
            return
        if self._peek(3) in ("?<=", "?<!"):
            raise self._refuse("look-behind")
        if self._peek(2) in ("?=", "?!"):
            raise self._refuse("look-ahead")
        if self._take("?:"):
            return
        if not (self._take("?<") or self._take("?P<")):
            raise self._refuse("a group with flags")
        end = self.text.find(">", self.at)
        if end < 0 or not self.text[self.at : end].isidentifier():
            raise self._error("a group needs a name between < and >")
        self.at = end + 1

    # -- quantifiers ------------------------------------------------------------------------------
    def _quantified(self, body: Tree, *, is_group: bool = False) -> Tree:
        bounds = self._quantifier()
        if bounds is None:
            return body
        if isinstance(body, Anchor) and not is_group:
            raise self._error("nothing to repeat")
        low, high = bounds
        if high is not None and high < low:
            raise self._error("numbers out of order in {} quantifier")
        self._take("?")
        if self._peek() and self._peek() in "*+?":
            raise self._error("nothing to repeat")
        return repeat(body, low, high)

    def _quantifier(self) -> tuple[int, int | None] | None:
        c = self._peek()
        if c not in ("*", "+", "?", "{"):
            return None
        if c != "{":
            self.at += 1
            return {"*": (0, None), "+": (1, None), "?": (0, 1)}[c]
        end = self.text.find("}", self.at)
        low, comma, high = self.text[self.at + 1 : max(end, 0)].partition(",")
        if end < 0 or not _is_number(low, high):
            if end > 0 and comma and not low and _is_number(high):
                raise self._error("a quantifier {,n} has no meaning here; write {0,n}")
            return None
        if max(len(low), len(high)) > COUNT_DIGITS:
            raise self._error(f"a count of more than {COUNT_DIGITS} digits")
        self.at = end + 1
        return int(low), (int(high) if high else None) if comma else int(low)

    # -- atoms ------------------------------------------------------------------------------------
    def _atom(self, c: str) -> Tree:
        if c == "[":
            return Chars(self._class())
        if c == ".":
            return Chars(DOT)
        if c == "^":
            return START
        if c == "$":
            return END
        if c == "\\":
            return Chars(self._escape(in_class=False))
        if c in "*+?":
            raise self._error("nothing to repeat", back=1)
        if c == "{":
            self.at -= 1
            if self._quantifier() is not None:
                raise self._error("nothing to repeat")
            self.at += 1
        return Chars(_literal(ord(c)))

    def _class(self) -> Ranges:
        """Behind the [."""
        negated = self._take("^")
        found: list[Ranges] = []
        while not self._take("]"):
            low, single = self._class_atom()
            if single and self._peek() == "-" and self._peek(2) not in ("-]", "-"):
                self.at += 1
                high, also_single = self._class_atom()
                if also_single:
                    found.append(self._class_range(low, high))
                    continue
                found.append(_literal(0x2D))
                found.append(_literal(high) if isinstance(high, int) else high)
            found.append(_literal(low) if isinstance(low, int) else low)
        ranges = union(*found)
        return complement(ranges) if negated else ranges

    def _class_range(self, low: int | Ranges, high: int | Ranges) -> Ranges:
        assert isinstance(low, int) and isinstance(high, int)
        if high < low:
            raise self._error("range out of order in a class")
        return union(((low, high),))

    def _class_atom(self) -> tuple[int | Ranges, bool]:
        """A member of a class: (code, True) for a single character, (set, False) for a class
        escape.
        """
        c = self._peek()
        if not c:
            raise self._error("missing ]")
        self.at += 1
        if c != "\\":
            return ord(c), True
        kind = self._peek()
        if kind and kind in "dDwWsSpP":
            return self._escape(in_class=True), False
        if kind == "-":
            self.at += 1
            return 0x2D, True
        return self._code(in_class=True), True

    def _escape(self, *, in_class: bool) -> Ranges:
        """Behind the backslash."""
        c = self._peek()
        if c in CLASSES:
            self.at += 1
            return CLASSES[c]
        if c and c in "pP":
            return self._property(negated=c == "P")
        return _literal(self._code(in_class=in_class))

    def _code(self, *, in_class: bool) -> int:
        """An escape for one character; lone surrogates, which match no text, are given back as they
        are.
        """
        c = self._peek()
        if not c:
            raise self._error("a backslash at the end")
        self.at += 1
        if c == "b" and in_class:
            return 0x08
        if c in "bB":
            raise self._refuse("a word boundary")
        if c == "k" or (c in "123456789" and not in_class):
            raise self._refuse("a back-reference")
        if c in CONTROLS and not (c == "0" and self._peek().isdecimal()):
            return CONTROLS[c]
        if c == "c" and self._peek().isascii() and self._peek().isalpha():
            self.at += 1
            return ord(self.text[self.at - 1]) % 32
        if c == "x" and (code := self._hex(2)) is not None:
            return code
        if c == "u":
            return self._unicode_escape()
        if c.isascii() and c.isalnum():
            raise self._error(f"unknown escape \\{c}")
        return ord(c)

    def _hex(self, n: int) -> int | None:
        digits = self._peek(n)
        if len(digits) != n or not set(digits) <= HEX:
            return None
        self.at += n
        return int(digits, 16)

    def _unicode_escape(self) -> int:
        if self._take("{"):
            end = self.text.find("}", self.at)
            digits = self.text[self.at : max(end, 0)]
            if not digits or not set(digits) <= HEX or int(digits, 16) > 0x10FFFF:
                raise self._error(
                    "the hexadecimal digits of a character are needed between { and }"
                )
            self.at = end + 1
            return int(digits, 16)
        code = self._hex(4)
        if code is None:
            raise self._error("four hexadecimal digits are needed behind \\u")
        if 0xD800 <= code <= 0xDBFF and self._peek(2) == "\\u":
            return self._pair(code)
        return code

    def _pair(self, high: int) -> int:
        """A surrogate pair written as two escapes is one character."""
        at = self.at
        self.at += 2
        low = self._hex(4)
        if low is None or not 0xDC00 <= low <= 0xDFFF:
            self.at = at
            return high
        return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00)

    def _property(self, *, negated: bool) -> Ranges:
        end = self.text.find("}", self.at)
        if self._peek(2)[1:] != "{" or end < 0:
            raise self._error("a property needs a name between { and }")
        name = self.text[self.at + 2 : end]
        ranges = property_ranges(name)
        if ranges is None:
            raise self._refuse(f"the property {name!r}")
        self.at = end + 1
        return complement(ranges) if negated else ranges


def _literal(c: int) -> Ranges:
    """One character; a lone surrogate is no text and makes the empty set."""
    return intersect(char(c), ((0, 0xD7FF), (0xE000, 0x10FFFF)))


def _is_number(*texts: str) -> bool:
    """Whether the first is a decimal number and the others are too, or are empty."""
    return bool(texts[0]) and all(
        not text or (text.isascii() and text.isdecimal()) for text in texts
    )
