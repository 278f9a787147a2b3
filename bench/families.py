"""The cost of masks in each format of the gateway, beside the plain JSON of ``plain``.

Each format has its own copy of one vocabulary, with its special tokens at the end, and a compiler.
All formats write the same true call of the same tools, case by case in turn, as they are enforced
in production.

compile  compiling the structural tag
mask     filling a mask before each token of the call, including the first
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from time import perf_counter
from typing import NamedTuple

import numpy as np

from adapters.formats import (
    SPACED,
    JsonRules,
    OutputSpec,
    PastCall,
    Tool,
    for_own_engine,
    get_format,
)
from engine import Compiler, Matcher, SpecError, Vocabulary
from tests.formats.cases import SPECIALS, STOPS

from .data import ToolCase
from .measure import Result, percentile
from .report import markdown
from .vocabularies import Loaded

PLAIN = "plain"
_WHATS = (50, 90, 99)
_COUNTS = ("accepted", "rejected", "refused")


class Encoded(NamedTuple):
    """A structural tag, and the tokens of an answer that it allows."""

    spec: str
    ids: list[int]


class Family:
    """One format with its vocabulary. ``loaded``: the vocabulary without the format's tokens."""

    def __init__(self, name: str, loaded: Loaded) -> None:
        self.name, self.wire, self._loaded = name, get_format(name), loaded
        first = len(loaded.tokens)
        self._special = {text: first + number for number, text in enumerate(SPECIALS[name])}
        vocabulary = Vocabulary(
            [*loaded.tokens, *(text.encode() for text in self._special)],
            stop_token_ids=[self._special[text] for text in STOPS[name]],
            special_token_ids=[*loaded.special.values(), *self._special.values()],
        )
        self._compiler = Compiler(vocabulary)
        self._mask = np.zeros((1, (vocabulary.size + 31) // 32), dtype=np.int32)
        texts = sorted(self._special, key=len, reverse=True)
        self._marks = re.compile(f"({'|'.join(map(re.escape, texts))})")

    def encoded(self, case: ToolCase) -> Encoded:
        """Return the spec of the case's tools, and the tokens of its first true call.

        Raises:
            FormatError: this format cannot write the tools.
        """
        tools = tuple(Tool(name.replace(".", "_"), schema) for name, schema in case.tools)
        name, arguments = case.calls[0]
        call = PastCall(
            "abcdef123", name.replace(".", "_"), json.dumps(arguments, ensure_ascii=False)
        )
        output = OutputSpec(tools, json_rules=JsonRules(layout=SPACED, element_space=True))
        plan = for_own_engine(self.wire.plan(output, [*self._special]))
        # the prompt writes the beginning of the first message
        text = self.wire.calls_texts([call])[0].removeprefix(getattr(self.wire, "start", ""))
        return Encoded(plan.spec_json, [*self._ids(text)])

    def _ids(self, text: str) -> Iterator[int]:
        for piece in self._marks.split(text):
            if piece in self._special:
                yield self._special[piece]
            else:
                yield from self._loaded.encoding.encode(piece, disallowed_special=())

    def run(self, encoded: Encoded, result: Result) -> None:
        """Add the times of one answer."""
        start = perf_counter()
        try:
            matcher = Matcher(self._compiler.compile_structural_tag(encoded.spec))
        except SpecError:
            result.counts["refused"] += 1
            return
        result.times["compile"].append((perf_counter() - start) * 1e6)
        for token in encoded.ids:
            start = perf_counter()
            matcher.fill_bitmask(self._mask)
            result.times["mask"].append((perf_counter() - start) * 1e6)
            if not matcher.accept_token(token):
                result.counts["rejected"] += 1
                return
        result.counts["accepted"] += 1


def measure(loaded: Loaded, cases: Iterable[ToolCase], names: Sequence[str]) -> dict[str, Result]:
    """Return the results by format."""
    families = [Family(name, loaded) for name in dict.fromkeys((PLAIN, *names))]
    found = {family.name: Result() for family in families}
    for case in cases:
        if not case.calls:
            continue
        for family in families:
            family.run(family.encoded(case), found[family.name])
    return found


def table(found: dict[str, Result]) -> str:
    """Return a row for each format, with the ratios to ``plain``."""
    head = ["format (us)", *_COUNTS, "compile p50"]
    lines = [[*head, *(f"mask p{what}" for what in _WHATS), "p50 / plain", "p99 / plain"]]
    plain = found[PLAIN].times["mask"]
    for name, result in found.items():
        masks = result.times["mask"]
        ratios = [percentile(masks, what) / percentile(plain, what) for what in (50, 99)]
        times = [percentile(result.times["compile"], 50)]
        times += [percentile(masks, what) for what in _WHATS]
        lines.append(
            [
                name,
                *(f"{result.counts[what]:,}" for what in _COUNTS),
                *(f"{value:,.1f}" for value in times),
                *(f"{value:.2f}" for value in ratios),
            ]
        )
    return markdown(lines)
