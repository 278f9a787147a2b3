"""Patterns become pieces of text, with which they match; other patterns are refused by name."""

import re
from collections.abc import Sequence

import pytest

from app.conversation.response_templates.patterns import (
    MAX_ALTERNATIVES,
    MAX_DEPTH,
    MAX_PATTERN,
    Gap,
    Group,
    Piece,
    Run,
    Text,
    UnreadablePattern,
    read_literal,
    read_pattern,
)

#: patterns of real response templates, and the texts of their alternatives: <> is a gap, {} a group
READ = {
    r"\s*<tool_call>": ["<tool_call>"],
    r"</tool_call>\s*": ["</tool_call>"],
    r"<tool_call>\s*<function=(?P<name>\w+)>": ["<tool_call><><function={name}>"],
    r"</function>\s*</tool_call>": ["</function><></tool_call>"],
    r"\s*(?:<\|im_end\|>|<\|endoftext\|>)": ["<|im_end|>", "<|endoftext|>"],
    r"(?:^|<think>\s*)": ["", "<think>"],
    r"\n?</response>": ["</response>"],
    r"<\|user\|>\s*|$": ["<|user|>", ""],
    r"(?=\[TOOL_CALLS\]|</s>)": [""],
    r"(?=[\s\S]*?</think>)": [""],
    r"\[TOOL_CALLS\](?P<name>[A-Za-z0-9_.:-]+)\[ARGS\]": ["[TOOL_CALLS]{name}[ARGS]"],
    r'\{"name":\s*"(?P<name>[^"]+)",\s*"parameters":\s*': [
        '{"name":<>"{name}",<>"parameters":',
    ],
    r"\}<\|eot_id\|>\s*": ["}<|eot_id|>"],
    r"<arg_key>(?P<key>[^<]+)</arg_key>\s*\n<arg_value>(?P<value>.*?)</arg_value>": [
        "<arg_key>{key}</arg_key><><arg_value>{value}</arg_value>",
    ],
    r"(?:<\|turn\|>bot)?<\|tool\|>": ["<|tool|>", "<|turn|>bot<|tool|>"],
    r"\n(?P<value>.*?)\n(?:</p>|(?=<p n=))": ["\n{value}\n</p>", "\n{value}\n"],
    r"commentary\s+json": ["commentary<>json"],
    r"(a|b)\x41\u00e9\.": ["aAé.", "bAé."],
    r"[<][[][]][-][^\S]": ["<[]-"],
    r"[xy]{3}[ab]{2,3}[^a]?": None,
    r"[a-c\d_]+": None,
}


def shown(pieces: Sequence[Piece]) -> str:
    parts = []
    for piece in pieces:
        if isinstance(piece, Text):
            parts.append(piece.text)
        elif isinstance(piece, Gap):
            parts.append("<>")
        else:
            assert isinstance(piece, Group)
            parts.append(f"{{{piece.name}}}")
    return "".join(parts)


@pytest.mark.parametrize(("pattern", "texts"), [(p, t) for p, t in READ.items() if t])
def test_the_alternatives_of_a_pattern(pattern: str, texts: list[str]) -> None:
    assert [shown(pieces) for pieces in read_pattern(pattern)] == texts


def _written(pieces: Sequence[Piece], space: str, length: int) -> str:
    """Return a text of the pieces, with this white space and about so many characters in groups."""
    text = ""
    for piece in pieces:
        if isinstance(piece, Text):
            text += piece.text
        elif isinstance(piece, Gap):
            text += piece.usual or space
        else:
            runs = [piece] if isinstance(piece, Run) else piece.runs
            for run in runs:
                text += min(run.characters - {"\n"}) * max(run.least, min(run.most, length))
    return text


@pytest.mark.filterwarnings("ignore:Possible nested set")
@pytest.mark.parametrize("pattern", [pattern for pattern in READ if "(?=" not in pattern])
@pytest.mark.parametrize(("space", "length"), [("", 1), ("\n", 1), ("", 3)])
def test_the_pattern_matches_the_texts(pattern: str, space: str, length: int) -> None:
    for pieces in read_pattern(pattern):
        text = _written(pieces, space, length)
        # white space at the ends was left out
        around = (text, f" {text}", f"{text} ", f" {text} ")
        assert any(re.fullmatch(pattern, each, re.DOTALL) for each in around), text


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("(a+)+$", "repeats 'a+'"),
        ("([ab]+)+$", "repeats '([ab]+)+'"),
        ("(?:ab)*", "repeats '(?:ab)*'"),
        ("a+", "repeats 'a+'"),
        ("(?P<n>a|b)*", "repeats"),
        ("(?!x)y", "has (?!...)"),
        ("(?<=x)y", "has a group without a name, or a look-behind"),
        ("(?i)x", "has (?i...)"),
        ("(?P=name)", "has (?P...)"),
        (r"\1", r"has the escape \1"),
        (r"\b", r"has the escape \b"),
        (r"\p{L}", r"has the escape \p"),
        (r"\x4", r"has the escape \x4"),
        (r"\ud800", "has half a surrogate pair"),
        ("\ud800", "has half a surrogate pair"),
        ("(", "has an opening parenthesis without a closing one"),
        ("a)", "has a closing parenthesis without an opening one"),
        ("[a", "ends too early"),
        ("\\", "ends too early"),
        ("[b-a]", "has a range without an end"),
        ("[[:alpha:]]", "has a named class"),
        ("*", "has '*' without anything to repeat"),
        ("a{x}", "has an opening brace that is no count"),
        (r"(?P<n>\s*)", "has a group or white space in the group 'n'"),
        ("(?P<n>é)", "has text beyond ASCII in the group 'n'"),
    ],
)
def test_other_patterns_are_refused(pattern: str, why: str) -> None:
    with pytest.raises(UnreadablePattern, match=re.escape(why)):
        read_pattern(pattern)


def test_bounds() -> None:
    assert read_pattern("x" * MAX_PATTERN) == [(Text("x" * MAX_PATTERN),)]
    assert read_literal("x" * MAX_PATTERN) == (Text("x" * MAX_PATTERN),)
    assert len(read_pattern("|".join(map(chr, range(97, 97 + MAX_ALTERNATIVES))))) == 16
    assert read_pattern("(" * MAX_DEPTH + "x" + ")" * MAX_DEPTH) == [(Text("x"),)]
    beyond = {
        "x" * (MAX_PATTERN + 1): "has 1001 characters",
        "|".join("x" * (MAX_ALTERNATIVES + 1)): "has more than 16 alternatives",
        "(a|b)" * 5: "has more than 16 alternatives",
        "(" * (MAX_DEPTH + 1) + "x" + ")" * (MAX_DEPTH + 1): "has more than 16 groups inside",
    }
    for pattern, why in beyond.items():
        with pytest.raises(UnreadablePattern, match=why):
            read_pattern(pattern)
    for literal in ("", "x" * (MAX_PATTERN + 1)):
        with pytest.raises(UnreadablePattern, match="allowed are 1 to 1000"):
            read_literal(literal)
