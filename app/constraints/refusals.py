"""Refusals: errors of the engine as errors for the client, which name the field and the place."""

from collections.abc import Mapping

from adapters.formats import FieldKind, Location
from engine import LimitExceeded, SpecError, UnsupportedSchema

from ..errors import ApiError

#: codes of errors by what the field contains
_CODES: Mapping[FieldKind, str] = {
    "schema": "invalid_json_schema",
    "grammar": "invalid_grammar",
    "structural tag": "invalid_structural_tag",
}


def _label(error: SpecError | LimitExceeded) -> str:
    """Return the label under which metrics count a refusal."""
    if isinstance(error, UnsupportedSchema):
        return error.keyword
    return error.limit if isinstance(error, LimitExceeded) else "invalid"


def _message(error: SpecError | LimitExceeded) -> str:
    """Return the engine's message without its pointer, which leads into the spec."""
    if isinstance(error, LimitExceeded):
        return f"{error.limit}: at most {error.maximum:,} allowed, got {error.got:,}"
    return error.message


class ConstraintRefused(ApiError):
    """A 400 that names the field, and the place inside it. ``label``: in metrics."""

    def __init__(self, location: Location, message: str, label: str) -> None:
        super().__init__(
            400,
            "Invalid {what} for {field}: {place}{message}.",
            param=location.param,
            code=_CODES[location.what],
            values={
                "what": location.what,
                "field": (location.param,) if location.param else "the request",
                "place": f"at {location.pointer}: " if location.pointer else "",
                "message": message,
            },
        )
        self.location = location
        self.label = label


class BeyondBackend(ApiError):
    """A 400 for a constraint that the workers' grammar engine cannot enforce at all.

    ``message`` may have the slot ``{tools}``.
    """

    label = "backend"

    def __init__(self, message: str, param: str | None) -> None:
        values = {"tools": ("tools",)}
        super().__init__(400, message, param=param, code="unsupported_by_backend", values=values)


def refusal(location: Location, error: SpecError | LimitExceeded) -> ConstraintRefused:
    """Return an error of the engine as one of a constraint."""
    return ConstraintRefused(location, _message(error), _label(error))
