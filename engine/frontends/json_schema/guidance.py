"""``x-guidance`` at the root of a schema: options of llguidance.

This front end supports options that it has a counterpart of, and ignores options that weaken oneOf
(``coerce_one_of``) or drop keywords (``lenient``), because it enforces or refuses all keywords. Any
other option is refused by name.

Source   llguidance, docs/json_schema.md.
"""

from typing import Any

from ...errors import SpecError, UnsupportedSchema

WORD = "x-guidance"
#: options without effect here
_DEFAULTS = {"item_separator": ",", "key_separator": ":", "json_allowed_escapes": 'nrbtf\\"u'}
_SWITCHES = ("whitespace_flexible", "coerce_one_of", "lenient")


def is_compact(options: Any, pointer: str) -> bool:
    """Whether white space between JSON tokens is forbidden.

    Raises:
        SpecError: a malformed value. UnsupportedSchema: an option that cannot be enforced.
    """
    place = f"{pointer}/{WORD}"
    if not isinstance(options, dict):
        raise SpecError(f"{WORD} must be an object", place)
    for name, value in options.items():
        if name in _SWITCHES:
            if not isinstance(value, bool):
                raise SpecError(f"{name} must be true or false, got {value!r}", f"{place}/{name}")
        elif value is not None and _DEFAULTS.get(name) != value:
            raise UnsupportedSchema(place, WORD, f"{WORD}: {name} can't be enforced")
    return options.get("whitespace_flexible") is False
