"""``x-guidance`` at the root of a schema: options of llguidance's.

Read are those that this front end has a counterpart of, and those that say nothing here: what makes
oneOf weaker (``coerce_one_of``) or drops keywords (``lenient``) is not needed where all is enforced
or refused. All others are refused by name, so that none is dropped silently.

Source   llguidance, docs/json_schema.md.
"""

from typing import Any

from ...errors import SpecError, UnsupportedSchema

WORD = "x-guidance"
#: what says no more than this front end does by itself
_DEFAULTS = {"item_separator": ",", "key_separator": ":", "json_allowed_escapes": 'nrbtf\\"u'}
_SWITCHES = ("whitespace_flexible", "coerce_one_of", "lenient")


def is_compact(options: Any, pointer: str) -> bool:
    """Whether no white space may stand between JSON's tokens.

    Raises:
        SpecError: an ill-formed value; UnsupportedSchema: an option that can't be enforced.
    """
    place = f"{pointer}/{WORD}"
    if not isinstance(options, dict):
        raise SpecError(f"{WORD} must be an object", place)
    for name, value in options.items():
        if name in _SWITCHES:
            if not isinstance(value, bool):
                raise SpecError(f"{name} must be true or false, not {value!r}", f"{place}/{name}")
        elif value is not None and _DEFAULTS.get(name) != value:
            raise UnsupportedSchema(place, WORD, f"{WORD}: {name} can't be enforced")
    return options.get("whitespace_flexible") is False
