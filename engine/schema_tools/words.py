"""The keywords of JSON Schema by kind: 2020-12, and older ones that are still in use.

Not here   which keywords can be enforced (frontends.json_schema).
"""

#: applicators by the form of their value: a schema, a list of schemas, schemas by name
OF_ONE = frozenset(
    (
        *("items", "additionalItems", "unevaluatedItems", "contains", "additionalProperties"),
        *("unevaluatedProperties", "propertyNames", "not", "if", "then", "else"),
    )
)
OF_LIST = frozenset(("allOf", "anyOf", "oneOf", "prefixItems", "items"))
OF_NAMES = frozenset(("properties", "patternProperties", "dependentSchemas", "dependencies"))
REFERENCES = frozenset(("$ref", "$dynamicRef", "$recursiveRef"))
#: definitions, which are applied only by reference
DEFINITIONS = frozenset(("$defs", "definitions"))
#: applicators to the same value, whose evaluated properties and items count for the schema itself
IN_PLACE = REFERENCES | {
    *("allOf", "anyOf", "oneOf", "if", "then", "else", "dependentSchemas", "dependencies"),
}
#: other constraints
ASSERTIONS = frozenset(
    (
        *("type", "enum", "const", "pattern", "format", "minLength", "maxLength", "multipleOf"),
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems"),
        *("uniqueItems", "minContains", "maxContains", "required", "minProperties"),
        *("maxProperties", "dependentRequired", "x-guidance"),
    )
)
#: keywords that describe a value without constraining it
ANNOTATIONS = frozenset(
    (
        *("$comment", "title", "description", "default", "examples", "deprecated", "readOnly"),
        *("writeOnly", "contentEncoding", "contentMediaType", "contentSchema"),
    )
)
#: keywords about the schema itself
IDENTIFIERS = frozenset(
    (*("$schema", "$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$vocabulary"),)
)
CONSTRAINTS = OF_ONE | OF_LIST | OF_NAMES | REFERENCES | ASSERTIONS
KNOWN = CONSTRAINTS | DEFINITIONS | ANNOTATIONS | IDENTIFIERS

_PROPERTIES = frozenset(("unevaluatedProperties",))
_ITEMS = frozenset(("unevaluatedItems",))
#: the unevaluated... keywords that depend on the properties or items that a keyword evaluates
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

#: constraints on one type; other constraints apply to all types
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
#: keyword -> the neighbour without which it has no effect
NEEDS = {"then": "if", "else": "if", "minContains": "contains", "maxContains": "contains"}
