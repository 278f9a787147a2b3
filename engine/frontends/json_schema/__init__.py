"""JSON Schema -> IR. What can't be enforced is refused by name and JSON pointer, never dropped.

document     whether it is JSON at all, and not too deep
dialects     which keywords the document's draft knows
keywords     which keywords exist, what they constrain, and the forms of their values
references   $ref, URIs and anchors inside the document
shapes       what a schema says, by type, and the exact intersection of two of them
facets       a schema's own keywords -> a shape
contents     what schemas have in common at first sight, unread
evaluate     whether a value fits, and whether two shapes exclude one another
complements  what does not fit a shape
absorption   alternatives that add nothing beside another one
intersections     alternatives that meet, or are taken from one another
composition  allOf, anyOf, oneOf, not, if, dependent... and unevaluated... worked into alternatives
opposites    what is left without a schema that is made of others
reader       schemas -> alternatives, remembered; references and enum
builder      places of values -> rules
places       what one kind of value asks of the builder
objects      arrays    strings    numbers    values    formats    one kind of value each
members      members by their keys, and counted ones
items        items that are counted, or must differ
cardinality  how many values fit a place
graphs       graphs whose states are told apart by what was written
decimals     plain decimals within bounds: multiples, and numbers left out
productive   whether recursion has a way out
text         white space, literals and the shared rules that all of them use
"""

from .builder import build_json_schema

__all__ = ["build_json_schema"]
