"""JSON Schema -> IR. Unenforceable keywords are refused by name and JSON pointer, never dropped.

document      keywords, dialects, validity as JSON, references
schema_types  the normal form: alternatives with types and constraints
intersection  intersections of alternatives
evaluator     whether a value fits, and whether alternatives are disjoint
type_algebra  the algebra of alternatives: complement, subtraction, subsumption, emptiness
reader        schemas -> alternatives, with references and applicators
builder       places of values -> rules; ``build_json_schema``
values        objects, arrays, strings and numbers -> IR
json_text     white space, literals and shared rules
arguments     arguments of calls in the styles of model families; ``build_arguments``
styled_text   strings, objects and arrays without JSON's punctuation
constants     where a schema lists a string, for errors
formats       ``format`` as patterns
excludes      strings without some texts
layout        the white space of ``json.dumps``, and llguidance's ``x-guidance``
"""

from .builder import build_json_schema

__all__ = ["build_json_schema"]
