"""Random specs from a seed: schemas, patterns, grammars and structural tags, small and tricky.

Drawn specs are likely to collide: few letters, bounds near those of tokens, ends that look like
preceding text. The engine refuses a spec by name, and then another one is drawn.
"""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from engine import SPEC_VERSION
from tests.conformance.schemas import Schema, SchemaMaker, Words
from tests.engine.cases import Case
from tests.engine.frontends.random_schemas import BOUNDS, FORMATS, NAMES, PATTERNS

Spec = dict[str, Any]

TEXTS = ["", "a", "ab", "END", "</t>", "é", "漢字", "a<", "<", "aaa", '"', "\n", "x1"]
ENDS = ["</t>", ")", "END", "é", "aab", "<|call|>", "\n", "</function>"]
EXCLUDES = ["ab", "<", "é", "</t>", "END", "aa", "<tool_call>"]
SPECIALS = ["<|start|>", "<|message|>", "<tool_call>", "</tool_call>", "<|end|>"]
CLASSES = ["a", "[ab]", "[^a]", ".", "[a-zé]", "\\d", "[^<\\n]", "漢", "[é-ü]", "\\w", " ", "<"]
WORDS = Words(
    names=NAMES,
    patterns=PATTERNS,
    formats=FORMATS,
    bounds=BOUNDS,
    counts=(0, 0, 0, 1, 2, 3, 5, 8, 13, 24, 40),
    scalars=("", "a", "ab", "é", 'c"d', "a/b", "zz\n", 0, 1, -1, 2.5, 1e22, True, False, None),
)
LAYOUTS: list[Spec] = [{"indent": 1}, {"separators": [", ", ": "]}, {"indent": "\t"}]
STYLES = [
    *("json", "qwen_xml", "minimax_xml", "glm_xml", "cohere_xml", "kimi_k3_xml", "python"),
    {"open": "<{key}>", "close": "</{key}>", "constants": ["True", "False", "None"]},
    {"open": "{key}: ", "close": "\n", "values": "quoted"},
]


class SpecMaker:
    """Draws specs; ``rng`` decides everything."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng

    def case(self, name: str) -> Case:
        kinds: list[tuple[str, Callable[[], Any], int]] = [
            ("json_schema", lambda: self.schema(3), 6),
            ("regex", lambda: self.pattern(3), 3),
            ("structural_tag", lambda: {"type": "structural_tag", "format": self.format(3)}, 8),
            ("grammar", lambda: (self.grammar(), "ebnf"), 2),
            ("choice", lambda: self.rng.sample(TEXTS, self.rng.randint(1, 6)), 1),
        ]
        kind, make, _ = self.rng.choices(kinds, [weight for _, _, weight in kinds])[0]
        return Case(name, kind, make(), ())

    def bounds(self, most: int = 40) -> tuple[int, int]:
        low = self.rng.choice([0, 0, 0, 1, 2, 3, self.rng.randint(0, most)])
        return low, low + self.rng.choice([0, 1, 2, 3, 5, self.rng.randint(1, most)])

    def some(self, values: Sequence[Any], most: int) -> list[Any]:
        return self.rng.sample(values, self.rng.randint(0, min(most, len(values))))

    # -- patterns ---------------------------------------------------------------------------------
    def pattern(self, depth: int) -> str:
        draw = self.rng.random()
        if depth == 0 or draw < 0.3:
            return self.rng.choice(CLASSES)
        if draw < 0.55:
            return "".join(self.pattern(depth - 1) for _ in range(self.rng.randint(1, 3)))
        if draw < 0.7:
            return f"({'|'.join(self.pattern(depth - 1) for _ in range(self.rng.randint(1, 3)))})"
        low, high = self.bounds()
        times = self.rng.choice(["*", "+", "?", f"{{{low},{high}}}", f"{{{low}}}", f"{{{low},}}"])
        return f"({self.pattern(depth - 1)}){times}"

    # -- schemas ----------------------------------------------------------------------------------
    def schema(self, depth: int) -> Schema:
        return SchemaMaker(self.rng, depth=depth, words=WORDS).document()

    def object_schema(self, depth: int) -> Spec:
        schema = self.schema(depth)
        return {**(schema if isinstance(schema, dict) else {}), "type": "object"}

    # -- structural tags --------------------------------------------------------------------------
    def format(self, depth: int) -> Spec:
        leaves = [self.text, self.text, self.text, self.value, self.tokens, self.literal]
        composed = [self.sequence, self.repeat, self.tag, self.tag, self.triggered, self.dispatch]
        if depth == 0 or self.rng.random() < 0.25:
            return self.rng.choice(leaves)()
        return self.rng.choice(composed)(depth - 1)

    def text(self) -> Spec:
        made: Spec = {"type": "any_text", "excludes": self.some(EXCLUDES, 2)}
        if self.rng.random() < 0.5:
            made["max_tokens"] = self.rng.choice([0, 1, 1, 2, 3, 4, 5, 9, 30])
        if self.rng.random() < 0.4:
            made["max_chars"] = self.rng.choice([0, 1, 2, 3, 5, 9, 30])
        return made

    def value(self) -> Spec:
        draw = self.rng.random()
        if draw < 0.3:
            return {"type": "regex", "pattern": self.pattern(2)}
        if draw < 0.4:
            return {"type": "grammar", "grammar": self.grammar()}
        made: Spec = {"type": "json_schema", "json_schema": self.schema(1)}
        if draw < 0.6:
            made |= {"json_schema": self.object_schema(2), "style": self.rng.choice(STYLES)}
        if self.rng.random() < 0.3:
            made["any_order"] = True
        if self.rng.random() < 0.3:
            made["max_whitespace_cnt"] = self.rng.choice([0, 1, 2, 5])
        elif self.rng.random() < 0.3:
            made["switchyard"] = {"version": SPEC_VERSION, **self.rng.choice(LAYOUTS)}
            if made.get("style", "json") != "json":
                made["switchyard"]["argument_order"] = self.rng.choice(["any", "schema"])
        return made

    def tokens(self) -> Spec:
        draw = self.rng.random()
        excludes = [*self.some(SPECIALS, 2), *self.some(range(60, 300), 2)]
        if draw < 0.3:
            return {"type": "token", "token": self.rng.choice([*SPECIALS, 65, 257])}
        if draw < 0.5:
            return {"type": "exclude_token", "exclude_tokens": excludes}
        most = self.rng.choice([None, 0, 1, 3, 20])
        return {"type": "any_tokens", "exclude_tokens": excludes, "max_tokens": most}

    def literal(self) -> Spec:
        return {"type": "const_string", "value": self.rng.choice(TEXTS)}

    def sequence(self, depth: int) -> Spec:
        elements = [self.format(depth) for _ in range(self.rng.randint(1, 3))]
        return {"type": self.rng.choice(["sequence", "sequence", "or"]), "elements": elements}

    def repeat(self, depth: int) -> Spec:
        kind = self.rng.choice(["optional", "star", "plus", "repeat"])
        made: Spec = {"type": kind, "content": self.format(depth)}
        if kind == "repeat":
            made["min"], made["max"] = self.bounds(20)
        return made

    def tag(self, depth: int, begin: str = "") -> Spec:
        end: Any = self.rng.choice([self.rng.choice(ENDS), self.some(ENDS, 2) or ["x"]])
        if self.rng.random() < 0.2:
            end = {"type": "token", "token": self.rng.choice(SPECIALS)}
        begin = begin or self.rng.choice(["<t>", "(", "<tool_call>", "a", ""])
        return {"type": "tag", "begin": begin, "content": self.format(depth), "end": end}

    def triggered(self, depth: int) -> Spec:
        triggers = self.rng.choice([["<t"], ["a", "<"], ["<fun", "é"], ["<tool_call>"]])
        tags = [self.tag(depth, trigger + self.rng.choice(["", ">", "b"])) for trigger in triggers]
        made: Spec = {"type": "triggered_tags", "triggers": triggers, "tags": tags}
        made["excludes"] = self.some(EXCLUDES, 1)
        for flag in self.some(["at_least_one", "stop_after_first"], 2):
            made[flag] = True
        if self.rng.random() < 0.25:
            flags = {key: made[key] for key in made if key in ("at_least_one", "stop_after_first")}
            separator = self.rng.choice(TEXTS)
            return {"type": "tags_with_separator", "tags": tags, "separator": separator, **flags}
        return made

    def dispatch(self, depth: int) -> Spec:
        loop = self.rng.random() < 0.7
        if self.rng.random() < 0.4:
            rules = [[self.rng.choice(SPECIALS), self.format(depth)]]
            kept = [token for token in self.some(SPECIALS, 2) if token != rules[0][0]]
            return {
                "type": "token_dispatch", "rules": rules, "loop": loop, "exclude_tokens": kept,
            }  # fmt: skip
        patterns = self.some([text for text in TEXTS if text], 3) or ["<t>"]
        rules = [[pattern, self.format(depth)] for pattern in patterns]
        excludes = [text for text in self.some(EXCLUDES, 1) if text not in patterns]
        return {"type": "dispatch", "rules": rules, "loop": loop, "excludes": excludes}

    # -- grammars ---------------------------------------------------------------------------------
    def grammar(self) -> str:
        names = ["root", "x", "y"]
        lines = []
        for name in names:
            ways = [self._way(names) for _ in range(self.rng.randint(1, 3))]
            lines.append(f"{name} ::= {' | '.join(ways)}")
        return "\n".join(lines)

    def _way(self, names: list[str]) -> str:
        parts = []
        for _ in range(self.rng.randint(1, 3)):
            low, high = self.bounds(20)
            atom = self.rng.choice(['"a"', '"ab"', "[a-c]", "[^a]", '"é"', "x", "y", *names])
            times = self.rng.choice(["", "", "*", "?", "+", f"{{{low},{high}}}"])
            parts.append(f"({atom}){times}" if times else atom)
        return " ".join(parts)
