"""Macros of xgrammar's EBNF, and substrings, which Lark's ``%regex`` also accepts.

A macro is a name directly followed by ( and its arguments:

    Token(1, 2), ExcludeToken(1, 2)               one of these tokens, any other token
    TagDispatch(("<f>", rule), ..., loop_after_dispatch=true, excludes=("a", ...))
    TokenTagDispatch((7, rule), ..., loop_after_dispatch=true, excludes=(8, ...))
    Regex("pattern", json_string=false, flags="is")
    Substring("chunk", ...)                        a run of consecutive chunks, possibly empty

A dispatch is that of structural tags. A substring is a run of consecutive chunks of a text; in
``%regex``, one key says how the text is cut:

    substring_chunks   a list of texts
    substring_words    a text, cut between words, white space and other characters
    substring_chars    a text, cut into characters

The suffix automaton of n chunks has at most 2n states and 3n edges. Each run of chunks is the
label of exactly one path from state 0; all states are final.

Source   xgrammar 0.2.8, grammar_parser.cc. A. Blumer et al., The smallest automaton recognizing the
         subwords of a text, TCS 40, 1985. The cuts are llguidance's.
Refused  by name: triggers that are not special tokens, flags that cannot be enforced.
"""

import re
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from ...errors import SpecError
from ...grammar.ir import Grammar, Node
from ...native.resources import WorkBudget
from ..regex.char_automaton import Bound, CharAutomaton, intersection
from ..regex.char_classes import JSON_UNESCAPED
from ..regex.char_nfa import from_tree
from ..regex.front_end import emit_whole
from ..regex.regex_syntax import END, START, cat
from ..structural_tag.structural_tag import build_free_text
from ..structural_tag.tag_formats import Mark
from ..structural_tag.tag_vocabulary import TagVocabulary
from .source import CHARS_PER_STEP, Rules, Source

#: runs of white space, of letters and digits, and of other characters
_WORDS = re.compile(r"\s+|\w+|[^\w\s]+")
#: steps for a chunk of a substring, and for an argument of a macro
CHUNK_STEPS = 6
ARGUMENT_STEPS = 3
#: arguments of each macro, for error messages
USAGE = {
    "Token": "one token id or more",
    "ExcludeToken": "one token id or more",
    "TagDispatch": 'pairs ("text", rule), loop_after_dispatch and excludes',
    "TokenTagDispatch": "pairs (token id, rule), loop_after_dispatch and excludes",
    "Regex": "a pattern, json_string and flags",
    "Substring": "texts",
}


class RuleName(NamedTuple):
    """The name of a rule as an argument, with its position."""

    text: str
    at: int


class Number(NamedTuple):
    number: int
    at: int


#: bool, str, RuleName, Number, or a tuple of values
Value = Any
#: of a suffix automaton: a state, a chunk, the next state
Edge = tuple[int, str, int]


class Words(Protocol):
    """The parser of rules, as far as arguments need it."""

    s: Source

    def space(self) -> None: ...
    def literal(self) -> str: ...
    def name(self) -> str: ...


class Bounds(NamedTuple):
    """Bounds of a rule's free text; None: no bound."""

    max_chars: int | None = None
    max_tokens: int | None = None


class Call:
    """The arguments of one macro."""

    def __init__(self, words: Words, name: str, at: int) -> None:
        self.s, self.name, self.at = words.s, name, at
        self.values: list[Value] = []
        self.named: dict[str, Value] = {}
        self._words = words
        words.s.want("(")
        words.space()
        while words.s.peek() != ")":
            self._argument()
            words.space()
            if not words.s.take(","):
                break
            words.space()
            if words.s.peek() == ")":
                raise words.s.error("an argument is missing")
        words.s.want(")")

    def _argument(self) -> None:
        value = self._value(1)
        self._words.space()
        if isinstance(value, RuleName) and self.s.take("="):
            self._words.space()
            self.named[value.text] = self._value(1)
        else:
            self.values.append(value)

    def _value(self, depth: int) -> Value:
        self.s.check("spec_depth", depth)
        self.s.budget.spend(ARGUMENT_STEPS)
        c, at = self.s.peek(), self.s.at
        if c == '"':
            return self._words.literal()
        if c.isascii() and c.isdigit():
            return Number(self.s.count(), at)
        if c == "(":
            return self._tuple(depth)
        try:
            word = self._words.name()
        except SpecError:
            raise self.s.error("an argument is missing") from None
        return word == "true" if word in ("true", "false") else RuleName(word, at)

    def _tuple(self, depth: int) -> Value:
        self.s.at += 1
        made: list[Value] = []
        self._words.space()
        while not self.s.take(")"):
            made.append(self._value(depth + 1))
            self._words.space()
            if not self.s.take(",") and self.s.peek() != ")":
                raise self.s.error("')' is missing")
            self._words.space()
        return tuple(made)

    # -- checks -----------------------------------------------------------------------------------
    def misuse(self) -> SpecError:
        return self.s.error(f"{self.name} takes {USAGE[self.name]}", self.at)

    def take(self, name: str, kind: type, default: Value) -> Value:
        value = self.named.pop(name, default)
        if type(value) is not kind:
            raise self.misuse()
        return value

    def texts(self, values: Value) -> tuple[str, ...]:
        if not all(isinstance(value, str) for value in values):
            raise self.misuse()
        return tuple(values)

    def finish(self) -> None:
        if self.named:
            raise self.misuse()


class Macros:
    """Adds macros to one grammar."""

    def __init__(
        self, grammar: Grammar, source: Source, vocabulary: TagVocabulary, rules: Rules
    ) -> None:
        self.g, self.s, self.vocabulary, self.rules = grammar, source, vocabulary, rules

    def node(self, words: Words, name: str, at: int, bounds: Bounds) -> Node:
        """Read the arguments of a macro and add its node."""
        if name == "JSONSchema":
            raise self.s.refuse(name, at, "write it as a structural tag")
        if name not in _EMIT:
            raise self.s.error(f"there is no macro {name!r}", at)
        call = Call(words, name, at)
        node = _EMIT[name](self, call, bounds)
        call.finish()
        return node

    # -- tokens -----------------------------------------------------------------------------------
    def _token_id(self, call: Call, value: Value) -> int:
        if not isinstance(value, Number):
            raise call.misuse()
        self.s.check_token(value.number, self.vocabulary.size, value.at)
        return value.number

    def _special(self, call: Call, value: Value) -> int:
        token = self._token_id(call, value)
        if token not in self.vocabulary.special_ids:
            raise self.s.refuse(call.name, call.at, f"token {token} is not a special token")
        return token

    def _tokens(self, call: Call, _: Bounds) -> Node:
        ids: list[int] = []
        for value in call.values:
            self.s.budget.spend(1)
            ids.append(self._token_id(call, value))
        if not ids:
            raise call.misuse()
        if call.name == "Token":
            return self.g.tokens(ids)
        return self.vocabulary.other_tokens(self.g, ids)

    # -- free text --------------------------------------------------------------------------------
    def _tag_dispatch(self, call: Call, bounds: Bounds) -> Node:
        def mark(value: Value) -> str:
            if not isinstance(value, str) or not value:
                raise call.misuse()
            return value

        return self._dispatch(call, mark, bounds)

    def _token_dispatch(self, call: Call, bounds: Bounds) -> Node:
        return self._dispatch(call, lambda value: self._special(call, value), bounds)

    def _dispatch(self, call: Call, mark: Callable[[Value], Mark], bounds: Bounds) -> Node:
        arms: list[tuple[Mark, Node]] = []
        for pair in call.values:
            self.s.budget.spend(ARGUMENT_STEPS)
            if type(pair) is not tuple or len(pair) != 2 or not isinstance(pair[1], RuleName):
                raise call.misuse()
            arms.append((mark(pair[0]), self.rules.ref(pair[1].text, pair[1].at)))
        excludes = tuple(dict.fromkeys(mark(v) for v in call.take("excludes", tuple, ())))
        loop = call.take("loop_after_dispatch", bool, True)
        if arms and bounds != Bounds():
            name = "max_chars" if bounds.max_chars is not None else "max_tokens"
            raise self.s.refuse(name, call.at, "of text with tags in it")
        return build_free_text(
            self.g, self.vocabulary, arms, excludes=excludes, loop=loop, max_chars=bounds.max_chars,
            max_tokens=bounds.max_tokens, pointer=self.s.pointer,
        )  # fmt: skip

    # -- patterns ---------------------------------------------------------------------------------
    def _regex(self, call: Call, _: Bounds) -> Node:
        if len(call.values) != 1:
            raise call.misuse()
        (pattern,) = call.texts(call.values)
        # without flags, xgrammar's dot is any character
        flags = call.take("flags", str, "s")
        if not set(flags) <= set("isu"):
            raise self.s.refuse(f"the flags {flags!r}", call.at)
        inside_json = call.take("json_string", bool, False)
        try:
            return self._pattern(pattern, flags.replace("u", ""), inside_json)
        except SpecError as error:
            raise self.s.within(error, call.at) from None

    def _pattern(self, pattern: str, flags: str, inside_json: bool) -> Node:
        tree = self.s.pattern(pattern, flags)
        if not inside_json:
            return emit_whole(self.g, tree, self.s.pointer)
        # the text as it is written, without escapes
        bound = Bound(self.s.limits.pattern_states, self.s.pointer, self.g.budget)
        matches = from_tree(cat((START, tree, END)), bound, search=False)
        found = intersection([matches, RAW_TEXT], [], bound)
        return found.to_node(self.g, inside_json=False)

    def _substring(self, call: Call, _: Bounds) -> Node:
        chunks = list(call.texts(call.values))
        return substring_node(self.g, *suffix_automaton(chunks, self.s.budget))


# not in the object: bound methods would form a cycle that keeps the grammar after a refusal
_EMIT: dict[str, Callable[[Macros, Call, Bounds], Node]] = {
    "Token": Macros._tokens,
    "ExcludeToken": Macros._tokens,
    "TagDispatch": Macros._tag_dispatch,
    "TokenTagDispatch": Macros._token_dispatch,
    "Regex": Macros._regex,
    "Substring": Macros._substring,
}
#: texts that JSON strings may contain without escapes
RAW_TEXT = CharAutomaton([[(JSON_UNESCAPED, 0)]], [0])


# -- substrings ------------------------------------------------------------------------------------
def words_of(text: str, source: Source) -> list[str]:
    found: list[str] = []
    for word in _WORDS.finditer(text):
        source.budget.spend(1 + (word.end() - word.start()) // CHARS_PER_STEP)
        found.append(word[0])
        check_chunks(len(found), source)
    return found


def chars_of(text: str, source: Source) -> list[str]:
    check_chunks(len(text), source)
    return list(text)


def check_chunks(count: int, source: Source) -> None:
    """Raise LimitExceeded if the automaton of so many chunks may have too many states."""
    source.check("pattern_states", 2 * count)


def suffix_automaton(chunks: list[str], budget: WorkBudget) -> tuple[int, list[Edge]]:
    """Return the number of states and the edges."""
    longest, link = [0], [-1]
    targets: list[dict[str, int]] = [{}]
    last = 0
    for chunk in filter(None, chunks):
        budget.spend(CHUNK_STEPS)
        new, at = len(targets), last
        targets.append({})
        longest.append(longest[last] + 1)
        link.append(0)
        while at >= 0 and chunk not in targets[at]:
            targets[at][chunk] = new
            at = link[at]
        if at >= 0:
            known = targets[at][chunk]
            if longest[at] + 1 != longest[known]:
                copy = len(targets)
                targets.append(dict(targets[known]))
                longest.append(longest[at] + 1)
                link.append(link[known])
                while at >= 0 and targets[at].get(chunk) == known:
                    targets[at][chunk] = copy
                    at = link[at]
                link[known] = known = copy
            link[new] = known
        last = new
    edges: list[Edge] = []
    for state, out in enumerate(targets):
        budget.spend(1)
        edges.extend((state, chunk, to) for chunk, to in out.items())
    return len(targets), edges


def substring_node(grammar: Grammar, states: int, edges: list[Edge]) -> Node:
    """Add a suffix automaton as a GRAPH."""
    nodes: dict[str, Node] = {}
    moves: list[tuple[int, Node, int]] = []
    for source, chunk, to in edges:
        grammar.budget.spend(1)
        if chunk not in nodes:
            nodes[chunk] = grammar.bytes(chunk.encode())
        moves.append((source, nodes[chunk], to))
    return grammar.graph(states, moves, range(states))
