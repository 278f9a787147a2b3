"""Forced text: the share of a true tool call that its grammar forces, without a forward pass.

The grammar of a tool set is the JSON schema of one call, {"name", "arguments"}. The walk through a
true call asks the engine at each position for the text that must come. Bytes of that text count as
forced, and the walk continues after it; without forced text it continues by a byte.

With ``tokens``, the walk simulates a model that writes the true call in its tokenizer's tokens,
except for forced tokens, which it is given. Each other token takes a pass, which also reads the
forced tokens before it.

compact    no white space in grammar and call
flexible   the engine's flexible white space; the call has ", " and ": "
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from .data import ToolCase
from .engines import Engine
from .report import markdown
from .vocabularies import Loaded
from .worker import OK, Runner

#: separators of the true call by kind
KINDS = {"compact": (",", ":"), "flexible": (", ", ": ")}
#: characters before and after each forced text, in a call that is shown
OPEN, CLOSE = "[", "]"


class Share(NamedTuple):
    """Forced bytes of all bytes. ``shown``: the call with forced text in brackets."""

    forced: int
    bytes: int
    shown: str


class Walk(NamedTuple):
    """``ids`` that came out, ``forced`` of them forced; ``own``: the tokenizer's, of the call."""

    ids: list[int]
    forced: int
    own: list[int]

    @property
    def passes(self) -> int:
        return len(self.ids) - self.forced


class Contradiction(Exception):
    """An engine forces text that differs from the true call."""


def call_schema(case: ToolCase) -> dict[str, Any]:
    """Return the schema of a call of one of the tools."""
    return {"anyOf": [_call(name, parameters) for name, parameters in case.tools]}


def _call(name: str, parameters: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"name": {"const": name}, "arguments": parameters},
        "required": ["name", "arguments"],
        "additionalProperties": False,
    }


def forced(engine: Engine, loaded: Loaded, case: ToolCase, kind: str) -> list[Share]:
    """Run a task: a share for each true call."""
    compiled = engine.compile_call(call_schema(case), compact=kind == "compact")
    return [_walk(engine, engine.start(compiled), text.encode()) for text in texts(case, kind)]


def texts(case: ToolCase, kind: str) -> list[str]:
    """Return the true calls."""
    calls = [{"name": name, "arguments": arguments} for name, arguments in case.calls]
    return [json.dumps(call, separators=KINDS[kind], ensure_ascii=False) for call in calls]


def tokens(engine: Engine, loaded: Loaded, case: ToolCase, kind: str) -> list[Walk]:
    """Run a task of our engine: a walk for each true call."""
    compiled = engine.compile_call(call_schema(case), compact=kind == "compact")
    return [
        token_walk(engine.start(compiled), loaded.encoding.encode(text, disallowed_special=()))
        for text in texts(case, kind)
    ]


def token_walk(matcher: Any, own: list[int]) -> Walk:
    """Walk one call. Raises Contradiction if forced tokens never return to ``own``."""
    vocabulary = matcher.compiled.vocabulary
    text = b"".join(vocabulary.tokens[number] for number in own)
    ids: list[int] = []
    at = count = 0
    while at < len(text):
        must = matcher.forced_tokens()
        # after another split than its own, a model continues as its tokenizer splits the rest
        rest = own[len(ids) :] if own[: len(ids)] == ids else vocabulary.encode(text[at:].decode())
        for number in must or rest[:1]:
            piece = vocabulary.tokens[number]
            if not text.startswith(piece, at) or not matcher.accept_token(number):
                raise Contradiction(f"{piece!r} instead of {text[at:]!r}")
            ids.append(number)
            at += len(piece)
        count += len(must)
    return Walk(ids, count, own)


def _walk(engine: Engine, state: Any, text: bytes) -> Share:
    at, count, shown = 0, 0, b""
    while at < len(text):
        must = engine.forced(state)
        if not text.startswith(must, at):
            raise Contradiction(f"{must!r} instead of {text[at:]!r}")
        piece = must or text[at : at + 1]
        if not engine.accept_bytes(state, piece):
            raise Contradiction(f"{piece!r} is rejected after {text[:at]!r}")
        at, count = at + len(piece), count + len(must)
        shown += OPEN.encode() + must + CLOSE.encode() if must else piece
    return Share(count, len(text), shown.decode())


def measure(
    runners: Mapping[str, Runner], cases: Iterable[ToolCase]
) -> dict[str, dict[str, list[Share]]]:
    """Return calls by kind and engine, of the cases that every engine accepts."""
    found: dict[str, dict[str, list[Share]]] = {kind: {n: [] for n in runners} for kind in KINDS}
    for case in cases:
        for kind, shares in found.items():
            outcomes = {name: r.run(forced, case, kind) for name, r in runners.items()}
            if all(outcome.status == OK for outcome in outcomes.values()):
                for name, outcome in outcomes.items():
                    shares[name] += outcome.value
    return found


def percent(shares: Sequence[Share]) -> float | None:
    """Return the forced share of all bytes."""
    count = sum(share.bytes for share in shares)
    return 100 * sum(share.forced for share in shares) / count if count else None


def table(found: Mapping[str, Mapping[str, Sequence[Share]]]) -> str:
    names = list(next(iter(found.values())))
    lines = [["white space", "calls", "bytes", *(f"{name}, %" for name in names)]]
    for kind, shares in found.items():
        one = shares[names[0]]
        figures = [percent(shares[name]) for name in names]
        cells = ["-" if figure is None else f"{figure:.1f}" for figure in figures]
        lines.append([kind, f"{len(one)}", f"{sum(s.bytes for s in one):,}", *cells])
    return markdown(lines)


def token_table(found: Mapping[tuple[str, str], Sequence[Walk]]) -> str:
    """``found``: by vocabulary and kind."""
    head = ["vocabulary", "white space", "calls", "as the tokenizer, %"]
    lines = [[*head, "tokens", "forced, %", "tokens a pass"]]
    for names, walks in found.items():
        count = sum(len(walk.ids) for walk in walks)
        same = sum(walk.ids == walk.own for walk in walks)
        share = 100 * sum(walk.forced for walk in walks) / max(1, count)
        rate = count / max(1, sum(walk.passes for walk in walks))
        figures = [f"{100 * same / max(1, len(walks)):.1f}", f"{count:,}", f"{share:.1f}"]
        lines.append([*names, f"{len(walks):,}", *figures, f"{rate:.2f}"])
    return markdown(lines)


def example(found: Mapping[str, Mapping[str, Sequence[Share]]]) -> str:
    """Return the first call with the text that each engine forces."""
    lines = [
        f"{kind:8} {name:10} {shares[0].shown}"
        for kind, by_engine in found.items()
        for name, shares in by_engine.items()
        if shares
    ]
    return "\n".join(f"    {line}" for line in lines)
