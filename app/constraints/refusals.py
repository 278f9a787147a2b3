"""Refusals: errors of the engine as errors for the client, which name the field and the place."""

from collections.abc import Mapping

from adapters.formats import FieldKind, Location
from engine import LimitExceeded, SpecError, UnsupportedSchema

from ..errors import ApiError, bad_request

#: codes of errors by what the field contains
_CODES: Mapping[FieldKind, str] = {
    "schema": "invalid_json_schema",
    "grammar": "invalid_grammar",
    "structural tag": "invalid_structural_tag",
}


def refusal_label(error: SpecError | LimitExceeded) -> str:
    """Return the label under which metrics count a refusal."""
    if isinstance(error, UnsupportedSchema):
        return error.keyword
    return error.limit if isinstance(error, LimitExceeded) else "invalid"


def message_of(error: SpecError | LimitExceeded) -> str:
    """Return the engine's message without its pointer, which leads into the spec."""
    if isinstance(error, LimitExceeded):
        return f"{error.limit}: at most {error.maximum:,} allowed, got {error.got:,}"
    return error.message


def refusal(location: Location, message: str) -> ApiError:
    """Return a 400 that names the field, and the place inside it."""
    what = location.param or "the request"
    place = f"at {location.pointer}: " if location.pointer else ""
    return bad_request(
        f"Invalid {location.what} for {what}: {place}{message}.",
        location.param,
        _CODES[location.what],
    )
