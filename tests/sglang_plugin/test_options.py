"""The server's options for thinking and white space are applied, or a warning says that not."""

import re
import types
from typing import Any

import pytest

from adapters.sglang_plugin.grammar_specs import Whitespace
from adapters.sglang_plugin.options import Options, read_options, whitespace_of

SPACED = Whitespace(is_spaced=True)


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("", Whitespace(0)),
        (" ?", SPACED),
        ("[ ]?", SPACED),
        ("[ \\t]*", SPACED),
        (" {0,8}", SPACED),
        ("\n?", Whitespace(0)),
        ("[\\n\\t]*", Whitespace(0)),
        ("[\n ]?", Whitespace(1)),
        ("[\\n ]{0,1}", Whitespace(1)),
        ("[\\n ]{0,5}", Whitespace(5)),
        ("[\\n ]{0,20}", Whitespace(20)),
        ("[\\n ]{0,21}", Whitespace()),
        ("[\n\t ]*", Whitespace()),
        ("\\s*", Whitespace()),
        ("\\s+", None),
        (" {1,2}", None),
        ("( |\\n)?", None),
        ("x*", None),
        ("[", None),
    ],
)
def test_a_pattern_of_white_space_is_the_widest_that_it_allows(
    pattern: str, found: Whitespace | None
) -> None:
    assert whitespace_of(pattern) == found
    if found is not None:
        whole = re.compile(pattern)
        written = [" "] if found.is_spaced else ["", "\n" + " " * ((found.most or 21) - 1)]
        assert all(whole.fullmatch(each) for each in (written if found.most != 0 else [""]))


def options(
    *,
    whitespace: tuple[int | None, str | None] = (None, None),
    strict: bool = False,
    excluded: list[str] | None = None,
    has_parser: bool = True,
) -> Options:
    detector = types.SimpleNamespace(think_end_token="</think>", think_excluded_tokens=excluded)
    parser = types.SimpleNamespace(detector=detector) if has_parser else None
    api: Any = types.SimpleNamespace(
        json_whitespace=lambda: whitespace,
        strict_thinking=lambda: strict,
        reasoning_parser=lambda tokenizer: parser,
        most_thinking=lambda: 7,
    )
    return read_options(api, None)


@pytest.mark.parametrize(
    ("given", "found", "warned"),
    [
        ((None, None), Whitespace(), False),
        ((0, None), Whitespace(0), False),
        ((3, None), Whitespace(3), False),
        ((0, "x"), Whitespace(0), False),
        ((3, "\\s*"), Whitespace(3), False),
        ((3, "[\\n ]{0,2}"), Whitespace(2), False),
        ((3, " ?"), SPACED, False),
        ((3, ""), Whitespace(0), False),
        ((3, "x"), Whitespace(3), True),
        ((None, "x"), Whitespace(), True),
    ],
)
def test_the_tighter_option_for_white_space_wins(
    given: tuple[int | None, str | None], found: Whitespace, warned: bool
) -> None:
    made = options(whitespace=given)
    assert made.whitespace == found
    assert [each for each in made.warnings if "'x' is not applied" in each] == [*made.warnings]
    assert bool(made.warnings) is warned


def test_thinking_is_bounded_and_filtered_where_the_server_says_so() -> None:
    plain = options(excluded=["<call>"])
    assert (plain.thinking_end, plain.most_thinking, plain.excludes) == ("</think>", 7, ())
    assert plain.filters is None and plain.warnings == ()
    strict = options(strict=True, excluded=["<call>", "word"])
    assert strict.excludes == ("<call>",) and strict.filters is not None
    (warning,) = strict.warnings
    assert "'word' cannot be excluded" in warning
    assert options(strict=True).excludes == ()


def test_strict_thinking_without_a_parser_warns() -> None:
    assert options(has_parser=False) == Options()
    made = options(has_parser=False, strict=True)
    assert made.thinking_end is None and "--reasoning-parser" in made.warnings[0]
