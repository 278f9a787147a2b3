"""Random answers: walks through the masks of a family's grammar, drawn towards realistic text.

A walk draws a group of tokens first and a token of the group second, so that rare groups (marks,
text that looks like something else) occur as often as words. Characters beyond ASCII are tokens.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any

import numpy as np

from adapters.formats import (
    NO_RULES,
    Format,
    FormatPlan,
    JsonRules,
    OutputSpec,
    for_own_engine,
    get_format,
)
from engine import STYLES, Compiled, Compiler, Matcher, UnsupportedSchema, Vocabulary

from .cases import SPECIALS, STOPS
from .harness import read
from .random_schemas import TOOL_SETS

#: tokens after which a walk is drawn towards its end, and after which it is given up
PATIENCE, LIMIT = 40, 400
WORDS = (
    "Oslo", " the", "a", "x1", "size", " and ", "city", "_id", "New York", ".", ", ", "-", "/",
)  # fmt: skip
#: text that a reader may take for something else
TRICKY = (
    " ", "  ", "\n", "\n\n", "\t", "\r\n", "\u00a0", "\u2028", "é", "漢", "😀", "\\", "\\n", '\\"',
    "\\u00e9", "\\/", "\\ud83d\\ude00", "'", '"', "`", "<", ">", "</", "/>", "<b>", "&amp;", "&lt;",
    "&", "{", "}", "[", "]",
    "{}", '{"a": 1}', "[1, 2]", "5", "-0", "1.0", "1e5", "007", "true", "True", "false", "null",
    "None", "inf", "NaN", "(", ")", "=", ":", ";", "|", "<|", "|>", "#", "%s", "${x}", "```",
)  # fmt: skip
#: tokens that end values, keys and calls
CLOSERS = ('"', "}", "]", "'", ")", '"}', ",", ": ", "\n}", "</")


@dataclass(frozen=True)
class RandomAnswer:
    """A whole answer, without the token that ends it, and its meaning."""

    text: str
    calls: list[tuple[str, Any]]
    content: str


class Walker:
    """Random answers of one format.

    ``wire``: a format that has no name; then ``specials`` are its special tokens and the last one
    stops. ``rules``: of JSON.
    """

    def __init__(
        self,
        name: str,
        wire: Format | None = None,
        specials: Sequence[str] | None = None,
        rules: JsonRules = NO_RULES,
    ) -> None:
        self.name = name
        self._rules = rules
        self._wire = get_format(name) if wire is None else wire
        self._specials = SPECIALS[name] if specials is None else tuple(specials)
        stops = STOPS[name] if specials is None else self._specials[-1:]
        marks = [text.encode() for text in self._specials]
        texts = [*WORDS, *TRICKY, *CLOSERS, *self._specials, *self._ends(), *self._all_triggers()]
        longer = [t for t in dict.fromkeys(map(str.encode, texts)) if len(t) > 1]
        self._tokens = [*(bytes([byte]) for byte in range(256)), *longer, *marks]
        self._first_special = len(self._tokens) - len(marks)
        self._stops = [self._first_special + self._specials.index(text) for text in stops]
        self._vocabulary = Vocabulary(
            self._tokens,
            stop_token_ids=self._stops,
            special_token_ids=range(self._first_special, len(self._tokens)),
        )
        self._compiler = Compiler(self._vocabulary)

    def answer(self, tools: str, choice: str, chance: Random) -> RandomAnswer | None:
        """Return a random answer; None: it did not end in time."""
        plan, grammar = self.grammar(tools, choice)
        ids = self._walk(plan, grammar, chance)
        if ids is None:
            return None
        said = read(plan, grammar, ids)
        calls = [(name, json.loads(arguments)) for name, arguments in said.calls]
        return RandomAnswer(self._text(ids), calls, said.content)

    @cache  # noqa: B019
    def expresses(self, tools: str) -> bool:
        """Whether the family's style can express the schemas of a set."""
        try:
            self.grammar(tools, "required")
        except UnsupportedSchema:
            return False
        return True

    @cache  # noqa: B019
    def grammar(self, tools: str, choice: str) -> tuple[FormatPlan, Compiled]:
        """Return plan and grammar of a tool choice, without reasoning."""
        plan = for_own_engine(self._plan(tools, choice))
        return plan, self._compiler.compile_structural_tag(plan.spec_json)

    def _plan(self, tools: str, choice: str) -> FormatPlan:
        output = OutputSpec(
            TOOL_SETS[tools], tool_choice=choice, reasoning="off", json_rules=self._rules
        )
        return self._wire.plan(output, self._specials)

    def _walk(self, plan: FormatPlan, grammar: Compiled, chance: Random) -> list[int] | None:
        matcher, ids = Matcher(grammar), []
        mask = np.zeros((1, self._vocabulary.words), dtype=np.int32)
        groups = self._groups(plan)
        while len(ids) < LIMIT:
            matcher.fill_bitmask(mask)
            flags = np.unpackbits(mask.view(np.uint8), bitorder="little")
            pull = 0.8 if len(ids) > PATIENCE else 0.3
            weights = zip(groups, (pull, 0.5, 0.8, 0.5, 1), strict=True)
            drawn = (group for group, weight in weights if chance.random() < weight)
            found = next((some for group in drawn if (some := group[flags[group] == 1]).size), None)
            if found is None:
                found = np.flatnonzero(flags)
            ids.append(int(found[chance.randrange(len(found))]))
            assert matcher.accept_token(ids[-1])
            if matcher.is_terminated():
                return ids
        return None

    def _text(self, ids: list[int]) -> str:
        kept = ids[:-1] if ids[-1] in self._stops else ids
        return b"".join(self._tokens[token] for token in kept).decode()

    def _groups(self, plan: FormatPlan) -> tuple[np.ndarray, ...]:
        """Return ids: closers and marks, words, tricky text, marks as text, and ASCII."""
        number = {token: at for at, token in enumerate(self._tokens[: self._first_special])}
        specials = range(self._first_special, len(self._tokens))

        def ids(*texts: str) -> list[int]:
            return [number[text.encode()] for text in texts]

        closers = [*ids(*CLOSERS, *self._ends(), *_triggers(plan.spec)), *specials]
        words = [*ids(*WORDS), *range(ord("a"), ord("z") + 1), *range(ord("0"), ord("9") + 1)]
        groups = (closers, words, ids(*TRICKY), ids(*self._specials), range(128))
        return tuple(map(np.array, groups))

    def _ends(self) -> list[str]:
        """Return the marks around raw values, which chance alone hardly writes."""
        notation = getattr(self._wire, "arguments", None)
        style = getattr(notation, "style", None)
        style = STYLES.get(style) if isinstance(style, str) else style
        if style is None or "{key}" in style.close:
            return []
        return [text for text in (style.close, *style.wrap) if text]

    def _all_triggers(self) -> list[str]:
        plans = (self._plan(tools, "auto") for tools in TOOL_SETS)
        return [trigger for plan in plans for trigger in _triggers(plan.spec)]


def _triggers(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        yield from (text for text in node.get("triggers", ()) if isinstance(text, str))
        for value in node.values():
            yield from _triggers(value)
    elif isinstance(node, list):
        for value in node:
            yield from _triggers(value)
