"""The words of JSON Schema: what applies schemas to what, and what the rest does.

2020-12 and the older words that are still written. Which of them can be enforced is the front end's
business (frontends/json_schema), not this table's.
"""

#: applicators by what their value is: a schema, a list of schemas, schemas by name
OF_ONE = frozenset(
    (
        *("items", "additionalItems", "unevaluatedItems", "contains", "additionalProperties"),
        *("unevaluatedProperties", "propertyNames", "not", "if", "then", "else"),
    )
)
OF_LIST = frozenset(("allOf", "anyOf", "oneOf", "prefixItems", "items"))
OF_NAMES = frozenset(("properties", "patternProperties", "dependentSchemas", "dependencies"))
REFERENCES = frozenset(("$ref", "$dynamicRef", "$recursiveRef"))
#: where schemas only lie, for references
DEFINITIONS = frozenset(("$defs", "definitions"))
#: those whose schemas judge the same value, so that what they list counts for the schema itself
IN_PLACE = REFERENCES | {
    *("allOf", "anyOf", "oneOf", "if", "then", "else", "dependentSchemas", "dependencies"),
}
#: the rest of what constrains
ASSERTIONS = frozenset(
    (
        *("type", "enum", "const", "pattern", "format", "minLength", "maxLength", "multipleOf"),
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems"),
        *("uniqueItems", "minContains", "maxContains", "required", "minProperties"),
        *("maxProperties", "dependentRequired", "x-guidance"),
    )
)
#: what says something about a value and constrains nothing
ANNOTATIONS = frozenset(
    (
        *("$comment", "title", "description", "default", "examples", "deprecated", "readOnly"),
        *("writeOnly", "contentEncoding", "contentMediaType", "contentSchema"),
    )
)
#: what says something about the schema itself
IDENTIFIERS = frozenset(
    (*("$schema", "$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$vocabulary"),)
)
CONSTRAINTS = OF_ONE | OF_LIST | OF_NAMES | REFERENCES | ASSERTIONS
KNOWN = CONSTRAINTS | DEFINITIONS | ANNOTATIONS | IDENTIFIERS

_PROPERTIES = frozenset(("unevaluatedProperties",))
_ITEMS = frozenset(("unevaluatedItems",))
#: what sees the properties or items that a keyword lists ("evaluates")
SEEN_BY: dict[str, frozenset[str]] = {
    **dict.fromkeys(IN_PLACE, _PROPERTIES | _ITEMS),
    **dict.fromkeys(
        ("properties", "patternProperties", "additionalProperties", "unevaluatedProperties"),
        _PROPERTIES,
    ),
    **dict.fromkeys(
        ("prefixItems", "items", "additionalItems", "contains", "minContains", "unevaluatedItems"),
        _ITEMS,
    ),
}

#: what each type's values can be asked; a keyword that stands in none of these asks all of them
OF_TYPE: dict[str, frozenset[str]] = {
    "string": frozenset(("pattern", "format", "minLength", "maxLength")),
    "number": frozenset(
        ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
    ),
    "array": frozenset(
        (
            *("items", "prefixItems", "additionalItems", "unevaluatedItems", "minItems"),
            *("maxItems", "uniqueItems", "contains", "minContains", "maxContains"),
        )
    ),
    "object": frozenset(
        (
            *("properties", "patternProperties", "additionalProperties", "propertyNames"),
            *("unevaluatedProperties", "required", "minProperties", "maxProperties"),
            *("dependentRequired", "dependentSchemas", "dependencies"),
        )
    ),
}
#: keyword -> the one beside it without which it says nothing
NEEDS = {"then": "if", "else": "if", "minContains": "contains", "maxContains": "contains"}
