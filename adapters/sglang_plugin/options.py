"""The server's options that grammars depend on: thinking, white space.

Invariants   for an option that cannot be applied as SGLang means it, a sentence in the log and in
             the worker's status says so (``warnings``).
"""

from dataclasses import dataclass
from typing import Any, Final

from ..whitespace_pattern import READ_PATTERNS, read_whitespace_pattern
from .grammar_specs import FLEXIBLE, Whitespace
from .versions import SGLangApi

#: the engine's default has at most so many characters: a line feed and 20 spaces
_MOST_DEFAULT: Final = 21


@dataclass(frozen=True, slots=True)
class Options:
    """The server's options, as the backend applies them.

    ``thinking_end``: ends the thinking of requests that think first; None: there is no parser.
    ``most_thinking``: tokens; None: no bound. ``excludes``: texts that thinking must not contain.
    ``filters``: SGLang's maker of filters for the thinking of requests without a grammar takes this
    parser; None: there are none.
    """

    thinking_end: str | None = None
    most_thinking: int | None = None
    excludes: tuple[str, ...] = ()
    filters: Any = None
    whitespace: Whitespace = FLEXIBLE
    warnings: tuple[str, ...] = ()


def read_options(api: SGLangApi, tokenizer: Any) -> Options:
    """Return the server's options."""
    whitespace, warnings = _whitespace(*api.json_whitespace())
    parser = api.reasoning_parser(tokenizer)
    if parser is None:
        if api.strict_thinking():
            warnings.append("--enable-strict-thinking has no effect without --reasoning-parser")
        return Options(whitespace=whitespace, warnings=tuple(warnings))
    excluded = tuple(parser.detector.think_excluded_tokens or ()) if api.strict_thinking() else ()
    # a word as a text would also be excluded inside other words and tokens
    words = [text for text in excluded if text.isalnum()]
    if words:
        warnings.append(
            f"--enable-strict-thinking: {', '.join(map(repr, words))} cannot be excluded from the "
            "thinking of requests with a grammar"
        )
    return Options(
        parser.detector.think_end_token,
        api.most_thinking(),
        tuple(text for text in excluded if text not in words),
        parser if api.strict_thinking() else None,
        whitespace,
        tuple(warnings),
    )


def _whitespace(most: int | None, pattern: str | None) -> tuple[Whitespace, list[str]]:
    """Return the white space that SGLang's options allow, and warnings."""
    if pattern is None or most == 0:
        return Whitespace(most), []
    found = whitespace_of(pattern)
    if found is None:
        return Whitespace(most), [
            f"--constrained-json-whitespace-pattern {pattern[:100]!r} is not applied: it must be "
            f"{READ_PATTERNS}"
        ]
    if most is not None and not found.is_spaced and (found.most is None or most < found.most):
        return Whitespace(most), []
    return found, []


def whitespace_of(pattern: str) -> Whitespace | None:
    """Return white space of which all matches a pattern, the widest that the engine has; None: it
    has none for this pattern.
    """
    found = read_whitespace_pattern(pattern)
    if found is None:
        return None
    if not found.has_spaces:
        return Whitespace(0)
    if not found.has_line_feeds:
        return Whitespace(is_spaced=True)
    return FLEXIBLE if found.most is None or found.most >= _MOST_DEFAULT else Whitespace(found.most)
