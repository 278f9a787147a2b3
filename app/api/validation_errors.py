"""Pydantic's validation errors in OpenAI's words, with the place in the body."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from ..errors import ApiError, bad_request, missing_parameter, unsupported_parameter
from ..protocol import UnknownFields

#: characters of a client's value that an error repeats
_SHOWN_CHARS = 100

_EXPECTED = {
    "string_type": "a string",
    "int_type": "an integer",
    "int_from_float": "an integer",
    "float_type": "a number",
    "bool_type": "a boolean",
    "list_type": "an array",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
}
_BOUNDS = {
    "greater_than_equal": ("below minimum value", "below_min_value", ">=", "ge"),
    "greater_than": ("below minimum value", "below_min_value", ">", "gt"),
    "less_than_equal": ("above maximum value", "above_max_value", "<=", "le"),
    "less_than": ("above maximum value", "above_max_value", "<", "lt"),
}
_LENGTHS = {
    "too_short": ("array", "too short", "minimum", "min_length", "array_below_min_length"),
    "too_long": ("array", "too long", "maximum", "max_length", "array_above_max_length"),
    "string_too_short": ("string", "too short", "minimum", "min_length", "string_below_min_length"),
    "string_too_long": ("string", "too long", "maximum", "max_length", "string_above_max_length"),
}


def from_validation(error: ValidationError, body: object, unknown: UnknownFields) -> ApiError:
    """Return the first validation error in OpenAI's words, with its place in the body.

    ``unknown``: the context of the validation.
    """
    problem = error.errors(include_url=False)[0]
    lacking = problem["input"] if problem["type"] == "missing" else None
    param = param_of(problem["loc"], body, lacking=lacking)
    if problem["type"] == "extra_forbidden":
        return _unknown(param, unknown.nearest(str(problem["loc"][-1])))
    return _worded(problem, param or None)


def _unknown(param: str, nearest: str | None) -> ApiError:
    meant = f" Did you mean '{nearest}'?" if nearest else ""
    return bad_request(f"Unknown parameter: '{param}'.{meant}", param, "unknown_parameter")


def param_of(loc: Sequence[int | str], body: object, *, lacking: object = None) -> str:
    """Return ``tools[0].function.name`` for ``("tools", 0, "function", "name")``.

    The place is followed through the body itself, so that names which only pydantic knows (the tags
    of unions) drop out. ``lacking``: the object that lacks the last part; None: it is in the body.
    """
    found, place = _followed(loc, body, lacking)
    if not found and isinstance(lacking, Mapping):
        # a validator has changed the object
        _, place = _followed(loc, body, _ANY)
    return place.removeprefix(".")


#: any object may lack the last part
_ANY = object()


def _followed(loc: Sequence[int | str], here: object, lacking: object) -> tuple[bool, str]:
    """Whether the last part was found, and the place. A tag that is a key as well (``json_schema``)
    counts as a tag if the last part is found that way only.
    """
    if not loc:
        return False, ""
    part, rest = loc[0], loc[1:]
    below: object
    if isinstance(part, int) and isinstance(here, list) and part < len(here):
        step, below = f"[{part}]", here[part]
    elif (
        isinstance(part, str)
        and isinstance(here, Mapping)
        and (part in here or (not rest and (lacking is _ANY or here == lacking)))
    ):
        step, below = f".{part}", here.get(part)
    else:
        return _followed(rest, here, lacking)
    if not rest:
        return True, step
    found, place = _followed(rest, below, lacking)
    if not found and (other := _followed(rest, here, lacking))[0]:
        return other
    return found, step + place


def _worded(problem: ErrorDetails, param: str | None) -> ApiError:
    kind, context, value = problem["type"], problem.get("ctx", {}), problem["input"]
    match kind:
        case "missing":
            return missing_parameter(param or "")
        case "unsupported_parameter":
            return bad_request(problem["msg"], context["name"], kind)
        case "unsupported_field":
            reason = f"is not supported by this server.{context['instead']}"
            return unsupported_parameter(_below(param, context["name"]), reason)
        case "unsupported_here":
            return bad_request(problem["msg"], param, "unsupported_value")
        case "unsupported_value":
            return bad_request(problem["msg"], _below(param, "type"), kind)
        case "missing_text":
            return missing_parameter(_below(param, context["kind"]))
        case "union_tag_not_found":
            return missing_parameter(_below(param, str(context["discriminator"]).strip("'")))
    if kind in _EXPECTED or kind == "unexpected_type":
        return _wrong_type(param, _EXPECTED.get(kind, problem["msg"]), value)
    return _out_of_bounds(kind, context, value, param) or _other(problem, param)


def _below(param: str | None, field: str) -> str:
    return f"{param}.{field}" if param else field


def _wrong_type(param: str | None, expected: str, value: Any) -> ApiError:
    what = f"expected {expected}, but got {_named(value)} instead"
    return bad_request(f"Invalid type for '{param or 'body'}': {what}.", param, "invalid_type")


def _out_of_bounds(
    kind: str, context: Mapping[str, Any], value: Any, param: str | None
) -> ApiError | None:
    if kind in _BOUNDS:
        words, suffix, sign, key = _BOUNDS[kind]
        sort = "integer" if isinstance(value, int) else "decimal"
        what = (
            f"{sort} {words}. Expected a value {sign} {_number(context[key])}, "
            f"but got {_shown(value)} instead"
        )
        return bad_request(f"Invalid '{param}': {what}.", param, f"{sort}_{suffix}")
    if kind in _LENGTHS:
        sort, words, bound, key, code = _LENGTHS[kind]
        one = f"an {sort}" if sort == "array" else f"a {sort}"
        expected = f"Expected {one} with {bound} length {context[key]}"
        if value:
            what = f"{sort} {words}. {expected}, but got {one} with length {len(value)} instead"
        else:
            code = f"empty_{sort}"
            what = f"empty {sort}. {expected}, but got an empty {sort} instead"
        return bad_request(f"Invalid '{param}': {what}.", param, code)
    return None


def _other(problem: ErrorDetails, param: str | None) -> ApiError:
    kind, context, value = problem["type"], problem.get("ctx", {}), problem["input"]
    if kind == "literal_error":
        what = f"Supported values are: {_listed(context['expected'])}"
        return bad_request(f"Invalid value: {_shown(value)}. {what}.", param, "invalid_value")
    if kind == "union_tag_invalid":
        field = str(context["discriminator"]).strip("'")
        place = _below(param, field)
        tag = value.get(field) if isinstance(value, Mapping) else None
        if tag is None:
            return missing_parameter(place)
        if not isinstance(tag, str):
            return _wrong_type(place, "a string", tag)
        what = f"Supported values are: {_listed(context['expected_tags'])}"
        return bad_request(
            f"Invalid value: '{_cut(context['tag'])}'. {what}.", place, "invalid_value"
        )
    if kind == "string_pattern_mismatch":
        what = f"Expected a string that matches the pattern '{context['pattern']}'"
        return bad_request(
            f"Invalid '{param}': string does not match pattern. {what}.", param, "invalid_value"
        )
    return bad_request(f"Invalid '{param or 'body'}': {problem['msg']}.", param, "invalid_value")


def _listed(values: Any) -> str:
    """Return pydantic's "'a', 'b' or 'c'" as OpenAI writes it: "'a', 'b', and 'c'"."""
    found = re.findall(r"'(?:[^'\\]|\\.)*'|[^\s,']+", str(values))
    names = [name for name in found if name != "or"]
    if len(names) < 3:
        return " and ".join(names)
    return f"{', '.join(names[:-1])}, and {names[-1]}"


def _number(bound: float) -> float:
    """Return a bound as JSON writes it: 2, not 2.0."""
    return int(bound) if isinstance(bound, float) and bound.is_integer() else bound


def _named(value: Any) -> str:
    """Return a JSON type's name with its article."""
    names = {bool: "a boolean", int: "an integer", float: "a decimal", str: "a string"}
    names |= {list: "an array", dict: "an object", type(None): "null"}
    return names.get(type(value), "something else")


def _shown(value: Any) -> str:
    value = _shortened(value)
    return _cut(f"'{value}'" if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _shortened(value: Any) -> Any:
    """Return a value whose texts are not longer than what is shown: they may have megabytes."""
    if isinstance(value, str):
        return value[: _SHOWN_CHARS + 1]
    if isinstance(value, list):
        return list(map(_shortened, value))
    if isinstance(value, dict):
        return {_shortened(name): _shortened(each) for name, each in value.items()}
    return value


def _cut(text: Any) -> str:
    text = str(text)
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}..."
