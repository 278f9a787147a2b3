"""Schemas with `uniqueItems` as people write them."""

from typing import Any

from tests.app.examples import closed

WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
ROLES = ["admin", "member"]


def unique(items: Any, **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, "uniqueItems": True, **more}


def text(**more: Any) -> dict[str, Any]:
    return {"type": "string", **more}


def number(kind: str = "integer", **more: Any) -> dict[str, Any]:
    return {"type": kind, **more}


def listed(*values: Any) -> dict[str, Any]:
    return {"enum": list(values)}


_TAG = text(pattern="^[a-z][a-z0-9-]{0,15}$")
_POINT = closed(x=number("number"), y=number("number"))
UNIQUE_SCHEMAS: dict[str, dict[str, Any]] = {
    "all weekdays": unique(listed(*WEEKDAYS), minItems=7, maxItems=7),
    "weekday objects": unique(closed(day=listed(*WEEKDAYS)), minItems=7, maxItems=7),
    "some weekdays": unique(listed(*WEEKDAYS), minItems=1),
    "optional weekdays": unique(text(enum=WEEKDAYS), maxItems=3),
    "roles": unique(listed(*ROLES)),
    "role objects": unique(closed(role=listed(*ROLES))),
    "role objects, two of them": unique(closed(role=listed(*ROLES)), minItems=2),
    "role and state": unique(closed(role=listed(*ROLES), active={"type": "boolean"}), minItems=4),
    "UUIDs": unique(text(format="uuid"), minItems=2),
    "e-mail addresses": unique(text(format="email"), minItems=1, maxItems=5),
    "dates": unique(text(format="date"), minItems=2),
    "times": unique(text(format="time"), maxItems=4),
    "URIs": unique(text(format="uri")),
    "addresses": unique(text(format="ipv4"), minItems=3),
    "tags": unique(_TAG, maxItems=10),
    "free tags": unique(text(minLength=1), minItems=1),
    "one-letter tags": unique(text(maxLength=1), minItems=3),
    "country codes": unique(text(pattern="^[A-Z]{2}$"), minItems=2, maxItems=5),
    "grades": unique(text(pattern="^[A-F]$"), minItems=6),
    "yes or no": unique(text(pattern="^(yes|no)$")),
    "ids": unique(number(minimum=1), minItems=3),
    "lottery": unique(number(minimum=1, maximum=49), minItems=6, maxItems=6),
    "dice": unique(number(minimum=1, maximum=6), minItems=6, maxItems=6),
    "bits": unique(number(minimum=0, maximum=1), minItems=2),
    "even numbers": unique(number(multipleOf=2, minimum=0, maximum=8), minItems=5),
    "numbers from 0 to 5": unique(number("number", minimum=0, maximum=5)),
    "numbers between 0 and 5": unique(number("number", exclusiveMinimum=0, exclusiveMaximum=5)),
    "any numbers": unique(number("number"), minItems=3),
    "steps of a half": unique(number("number", minimum=0, maximum=2, multipleOf=0.5), minItems=5),
    "prices": unique(number("number", minimum=0, multipleOf=0.01), minItems=2),
    "booleans": unique({"type": "boolean"}, minItems=2),
    "boolean or null": unique({"type": ["boolean", "null"]}, minItems=3),
    "null": unique({"type": "null"}),
    "texts or integers": unique({"type": ["string", "integer"]}, minItems=2),
    "anything": unique(True, minItems=2),
    "coordinates": unique(_POINT, minItems=2),
    "pairs": unique({"type": "array", "items": number("number"), "minItems": 2, "maxItems": 2}),
    "small pairs": unique({"prefixItems": [listed(0, 1), listed(0, 1)], "minItems": 2,
                           "items": False, "type": "array"}, minItems=4),
    "records": unique(closed(id=number(), name=text()), minItems=1, maxItems=10),
    "open records": unique({"type": "object", "properties": {"id": number()}, "required": ["id"]}),
    "optional members": unique({"type": "object", "properties": {"a": listed(1), "b": listed(2)},
                                "additionalProperties": False}),
    "enum of objects": unique(listed({"x": 1, "y": 2}, {"x": 2, "y": 1}, {"x": 0, "y": 0})),
    "enum of all kinds": unique(listed("a", 1, None, True, [1], {"a": 1}), minItems=6),
    "nested unique arrays": unique(unique(listed("a", "b", "c"), minItems=1), minItems=3),
    "nested unique pairs": unique(unique(number(minimum=0, maximum=2), minItems=2, maxItems=2)),
    "prefix and tags": unique(_TAG, prefixItems=[listed("v1", "v2")], minItems=2),
    "prefix of one set": unique(False, prefixItems=[listed(*ROLES), listed(*ROLES)], minItems=2),
    "contains": unique(text(), contains={"const": "x"}),
    "contains twice": unique(number(minimum=0, maximum=9), contains=number(maximum=3),
                             minContains=2, minItems=4),
    "one of two records": unique({"oneOf": [closed(kind=listed("a")), closed(kind=listed("b"))]}),
    "user with roles": closed(name=text(), roles=unique(listed(*ROLES, "guest"), minItems=1)),
}  # fmt: skip
