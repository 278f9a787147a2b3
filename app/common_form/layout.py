"""The white space of JSON in the common form: the gateway's own field, and those of vLLM.

    json_layout                                  a name
    structured_outputs.disable_any_whitespace    true: "compact"
    structured_outputs.whitespace_pattern, guided_whitespace_pattern
                                                 what may stand between two JSON tokens

A pattern of the white space that clients send is a class of characters with a quantifier. The
answer has white space that the pattern allows, though not all of it.
"""

from collections.abc import Iterator

from adapters.whitespace_pattern import READ_PATTERNS, read_whitespace_pattern

from ..errors import bad_field
from ..generation import AskedLayout
from ..protocol import CompletionRequest, ConstraintFields, GenerationFields, GrammarRequest

#: the options of structured_outputs that are no constraint of their own
LAYOUT_OPTIONS = ("disable_any_whitespace", "whitespace_pattern")
_Request = GenerationFields | CompletionRequest | GrammarRequest


def common_layout(request: _Request) -> AskedLayout | None:
    """Return the layout that a request asks for. Raises ApiError 400."""
    asked = [*_asked(request)]
    for each in asked[1:]:
        if each.name != asked[0].name:
            raise bad_field(
                "Invalid request: '{at}' and '{second}' ask for different white space: "
                "{one} and {other}.",
                asked[0].param,
                "invalid_value",
                second=(each.param,),
                one=asked[0].name,
                other=each.name,
            )
    return asked[0] if asked else None


def _asked(request: _Request) -> Iterator[AskedLayout]:
    if request.json_layout is not None:
        yield AskedLayout("json_layout", request.json_layout)
    if not isinstance(request, ConstraintFields):
        return
    wanted = request.structured_outputs
    if wanted is not None:
        if wanted.disable_any_whitespace:
            yield AskedLayout("structured_outputs.disable_any_whitespace", "compact")
        if wanted.whitespace_pattern is not None:
            yield _of_pattern(wanted.whitespace_pattern, "structured_outputs.whitespace_pattern")
    if request.guided_whitespace_pattern is not None:
        yield _of_pattern(request.guided_whitespace_pattern, "guided_whitespace_pattern")


def _of_pattern(pattern: str, param: str) -> AskedLayout:
    """Return the widest layout of which all white space matches a pattern."""
    found = read_whitespace_pattern(pattern)
    if found is None:
        raise bad_field(
            "Invalid value for '{at}': must be {allowed}; got {pattern}.",
            param,
            "invalid_value",
            allowed=READ_PATTERNS,
            pattern=repr(pattern[:100]),
        )
    if not found.has_spaces:
        return AskedLayout(param, "compact")
    has_every_layout = found.has_line_feeds and found.most is None
    return AskedLayout(param, "flexible" if has_every_layout else "spaced")
