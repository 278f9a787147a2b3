"""JSON Schema -> IR. What can't be enforced is refused by name and JSON pointer; nothing is dropped.

    builder    places of a schema -> rules: types, references, anyOf, enum
    objects    arrays    strings    numbers    formats    one kind of value each
    values     enum and const: writing values, and checking them against sibling keywords
    merge      a schema and its siblings as one schema, where that is exact
    keywords   which keywords exist, what they apply to, and which are only annotations
    text       white space, literals and the shared rules that all of them use
"""

from .builder import build_json_schema

__all__ = ["build_json_schema"]
