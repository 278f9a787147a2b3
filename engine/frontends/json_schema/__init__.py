"""JSON Schema -> IR. What can't be enforced is refused by name and JSON pointer, never dropped.

document     whether it is JSON at all, and not too deep
keywords     which keywords exist, what they constrain, and the forms of their values
references   $ref inside the document
shapes       what a schema says, by type, and the exact meeting of two of them
facets       a schema's own keywords -> a shape
reader       schemas -> shapes: $ref, allOf, anyOf, oneOf, enum are worked in
evaluate     whether a value fits, and whether two shapes exclude one another
builder      places of values -> rules
places       what one kind of value asks of the builder
objects      arrays    strings    numbers    values    formats    one kind of value each
productive   whether recursion has a way out
text         white space, literals and the shared rules that all of them use
"""

from .builder import build_json_schema

__all__ = ["build_json_schema"]
