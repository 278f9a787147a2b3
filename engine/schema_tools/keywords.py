"""Tables of the keywords of JSON Schema: applicators, assertions, annotations, identifiers.

They contain the keywords of 2020-12 and older ones that are still in use. The front end
(frontends/json_schema) decides which of them are enforceable.
"""

#: applicators by the kind of their value: a schema, a list of schemas, schemas by name
OF_ONE = frozenset(
    (
        *("items", "additionalItems", "unevaluatedItems", "contains", "additionalProperties"),
        *("unevaluatedProperties", "propertyNames", "not", "if", "then", "else"),
    )
)
OF_LIST = frozenset(("allOf", "anyOf", "oneOf", "prefixItems", "items"))
OF_NAMES = frozenset(("properties", "patternProperties", "dependentSchemas", "dependencies"))
REFERENCES = frozenset(("$ref", "$dynamicRef", "$recursiveRef"))
#: containers of schemas for references
DEFINITIONS = frozenset(("$defs", "definitions"))
#: in-place applicators: their schemas judge the same value and evaluate for the schema itself
IN_PLACE = REFERENCES | {
    *("allOf", "anyOf", "oneOf", "if", "then", "else", "dependentSchemas", "dependencies"),
}
#: all other constraining keywords
ASSERTIONS = frozenset(
    (
        *("type", "enum", "const", "pattern", "format", "minLength", "maxLength", "multipleOf"),
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems"),
        *("uniqueItems", "minContains", "maxContains", "required", "minProperties"),
        *("maxProperties", "dependentRequired", "x-guidance"),
    )
)
#: annotations of values
ANNOTATIONS = frozenset(
    (
        *("$comment", "title", "description", "default", "examples", "deprecated", "readOnly"),
        *("writeOnly", "contentEncoding", "contentMediaType", "contentSchema"),
    )
)
#: identifiers of schemas
IDENTIFIERS = frozenset(
    (*("$schema", "$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$vocabulary"),)
)
CONSTRAINTS = OF_ONE | OF_LIST | OF_NAMES | REFERENCES | ASSERTIONS
KNOWN = CONSTRAINTS | DEFINITIONS | ANNOTATIONS | IDENTIFIERS

_PROPERTIES = frozenset(("unevaluatedProperties",))
_ITEMS = frozenset(("unevaluatedItems",))
#: keyword -> the unevaluated keywords that depend on what it evaluates
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

#: type -> the keywords that constrain only its values; other keywords constrain all types
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
#: keyword -> the keyword of the same schema without which it has no effect
NEEDS = {"then": "if", "else": "if", "minContains": "contains", "maxContains": "contains"}
