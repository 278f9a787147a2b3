"""Schemas of request bodies: pydantic's, completed by what validators check by hand.

Pydantic knows the fields and bounds. It does not see the values that a validator drops or refuses
before it (``mode="before"``), so ``_amend`` adds those of OpenAI. Fields of other servers that are
accepted without effect are left out. Rules that span several messages or items,
and those of schemas and grammars, are beyond JSON Schema: such requests get a 400.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any, get_args

from .. import protocol

Schema = dict[str, Any]

_NULL: Schema = {"type": "null"}
_GIVEN: Schema = {"not": _NULL}
_TEXT: Schema = {"type": "string"}
_TYPES: dict[type, str] = {bool: "boolean", int: "integer", str: "string"}


def amend(schemas: dict[str, Schema], bodies: Collection[str]) -> None:
    """Complete pydantic's schemas of the bodies and of their parts, by name. The docstrings of
    parts are no descriptions for clients.
    """
    for name, found in schemas.items():
        if name not in bodies:
            found.pop("description", None)
        _without_null_defaults(found)
        if name in _AMENDMENTS:
            _AMENDMENTS[name](found)
        if found.get("additionalProperties") is False:
            # null stands for an absent field, also of an unknown name
            found["additionalProperties"] = _NULL


def _without_null_defaults(schema: Schema) -> None:
    """Drop "default: null": null and a field's absence mean the same in every request."""
    for field in schema.get("properties", {}).values():
        if field.get("default", 0) is None:
            del field["default"]


def _only(values: tuple[Any, ...], description: str) -> Schema:
    """Return the schema of these values. Generators of clients know no enum of several types."""
    return {"anyOf": [_exactly(each) for each in values], "description": description}


def _exactly(value: Any) -> Schema:
    """Return the schema of one value; lists have one item at most."""
    if value is None:
        return _NULL
    if isinstance(value, list):
        items: Schema = _exactly(value[0]) if value else {}
        return {"type": "array", "items": items, "minItems": len(value), "maxItems": len(value)}
    return {"type": _TYPES[type(value)], "const": value}


def _off(table: Mapping[str, tuple[Any, ...]]) -> Schema:
    """Return fields that are not served, with null and the values that mean "off"."""
    return {
        name: _only(
            (None, *(each for each in off if each is not None)), "Not served but for these."
        )
        for name, off in table.items()
    }


def _without(fields: Schema, schema: Schema) -> Schema:
    """Return the fields that an object does not serve."""
    return {name: each for name, each in fields.items() if name not in schema["properties"]}


def _ignored(*names: str) -> Schema:
    return {name: {"description": "Accepted without effect."} for name in names}


# -- fields that validators drop or refuse ---------------------------------------------------------
def _adding(*more: Schema) -> Callable[[Schema], None]:
    """Return an amendment that adds fields."""

    def amend(schema: Schema) -> None:
        for fields in more:
            schema["properties"] |= fields

    return amend


def _chat(schema: Schema) -> None:
    off = _off(protocol.OPENAI_UNSUPPORTED)
    ignored = _without(_ignored(*protocol.OPENAI_IGNORED), schema)
    _adding(ignored, _without(off, schema))(schema)
    _biases(schema)
    _bare_schemas(schema)


def _completion(schema: Schema) -> None:
    _adding(_ignored("user"), {"suffix": _only((None, ""), "Not served.")})(schema)
    _biases(schema)
    _bare_schemas(schema)
    for kind in schema["properties"]["prompt"]["anyOf"][0]["oneOf"]:
        if kind.get("items", {}).get("type") == "array":
            kind["items"]["minItems"] = 1


def _response(schema: Schema) -> None:
    off = _off(protocol.RESPONSES_UNSUPPORTED)
    _adding(_ignored(*protocol.RESPONSES_IGNORED), _without(off, schema))(schema)
    _biases(schema)
    given: Schema = {"input": {"type": ["string", "array"], "minItems": 1}}
    earlier = [_needs({name: _GIVEN}) for name in ("previous_response_id", "conversation")]
    _choose(schema, {"not": {"anyOf": earlier}}, _needs(given))


def _biases(schema: Schema) -> None:
    """Bound the number of biases, and spell their keys."""
    biases = schema["properties"]["logit_bias"]["anyOf"][0]
    biases["propertyNames"] = {"pattern": r"^(0|[1-9][0-9]{0,9})$"}
    biases["maxProperties"] = protocol.MAX_BIASES


def _bare_schemas(schema: Schema) -> None:
    """Allow a schema directly beside the type of a response format."""
    bare: Schema = {
        "type": "object",
        "properties": {
            "type": {"enum": ["json_object", "json_schema"]},
            "schema": {"type": "object", "description": "A JSON Schema."},
        },
        "required": ["type", "schema"],
        "additionalProperties": False,
    }
    wanted = schema["properties"]["response_format"]["anyOf"]
    wanted.insert(1, bare)


# -- objects whose fields depend on each other -----------------------------------------------------
def _part(kind: str, field: str, text: Schema) -> Schema:
    return {
        "type": "object",
        "properties": {"type": {"const": kind}, field: text},
        "required": ["type", field],
    }


def _other_types(*known: str) -> Schema:
    """Return the schema of objects of other types, of which a text is shown, or none."""
    kind = {"type": "string", "not": {"enum": sorted(known)}}
    return {"type": "object", "properties": {"type": kind}, "required": ["type"]}


def _content_part(schema: Schema) -> None:
    thoughts = schema["properties"]["thinking"]
    thoughts.pop("default", None)
    parts = [
        _part("text", "text", _TEXT),
        _part("refusal", "refusal", _TEXT),
        _part("thinking", "thinking", thoughts),
    ]
    _replace(schema, oneOf=[*parts, _other_types(*protocol.PARTS)])


def _item_part(schema: Schema) -> None:
    # null counts as an empty text
    text: Schema = {"anyOf": [_TEXT, _NULL]}
    kinds = [_part(kind, "text", text) for kind in ("input_text", "output_text")]
    for kind in (*kinds, refusal := _part("refusal", "refusal", text)):
        kind["properties"] |= {"text": text, "refusal": text}
    others = _other_types("input_text", "output_text", "refusal")
    _replace(schema, oneOf=[*kinds, refusal, others])


def _of_user(amend: Callable[[Schema], None]) -> Callable[[Schema], None]:
    """Return the amendment of a part of a user, whose images need a URL, or else a file's id."""

    def amended(schema: Schema) -> None:
        image = schema["properties"]["image_url"]["anyOf"][0]
        amend(schema)
        details = {"type": "string", "enum": [*get_args(protocol.Detail)]}
        fields: Schema = {
            "type": {"enum": [*protocol.IMAGES]},
            "image_url": {"anyOf": [_TEXT, image, _NULL]},
            "file_id": {},
            "detail": {},
        }
        given = [_needs({"image_url": _GIVEN}), _needs({"file_id": _TEXT})]
        part: Schema = {
            "type": "object",
            "properties": fields,
            "required": ["type"],
            "anyOf": given,
        }
        # a detail is that of a URL, unless the URL's object has one
        url: Schema = {"anyOf": [_TEXT, {"type": "object", "not": {"required": ["detail"]}}]}
        detail: Schema = {"anyOf": [details, _NULL]}
        _choose(part, _needs({"image_url": url}), {"properties": {"detail": detail}})
        schema["oneOf"][-1]["properties"]["type"]["not"]["enum"] += protocol.IMAGES
        schema["oneOf"].append(part)

    return amended


def _left_out(*known: str) -> Callable[[Schema], None]:
    """Return the amendment of an object of any other type."""
    return lambda schema: _replace(schema, **_other_types(*known))


def _left_out_item(schema: Schema) -> None:
    """An item of another type, or one that brings no tools."""
    loaded = protocol.LOADED_TOOLS
    _replace(schema, **_other_types(*(set(protocol.KINDS) - {*loaded})))
    tools = {"type": {"enum": [*loaded]}, "tools": {"type": "array"}}
    schema["not"] = {"properties": tools, "required": ["type", "tools"]}


def _past_item(schema: Schema) -> None:
    """Fields may have any value: an item that cannot be read is left out."""
    fields = schema["properties"]
    fields.update(dict.fromkeys(fields.keys() - {"type", "tools"}, {}))


def _media_of_result(schema: Schema) -> None:
    """Fields may have any value: media that cannot be read are left out."""
    fields = schema["properties"]
    fields.update(dict.fromkeys(fields.keys() - {"type"}, {}))


def _options(schema: Schema) -> None:
    """Unknown names are ignored."""
    del schema["additionalProperties"]


def _reference(schema: Schema) -> None:
    """Without its type, a reference has nothing but an id; other items are messages then."""
    _choose(schema, {"not": {"required": ["type"]}}, {"maxProperties": 1})
    del schema["properties"]["type"]["default"]


def _message_item(schema: Schema) -> None:
    """The content of an answer may be null. UserMessageItem has the role of users."""
    schema["properties"]["role"]["enum"].remove("user")
    content = schema["properties"]["content"]
    schema["properties"]["content"] = {"anyOf": [content, _NULL]}
    answer: Schema = {"properties": {"role": {"const": "assistant"}}}
    _choose(schema, answer, {}, {"properties": {"content": _GIVEN}})


def _structural_tag(schema: Schema) -> None:
    parts = ("structures", "triggers")
    _choose(
        schema,
        _needs({"format": _GIVEN}),
        {"properties": dict.fromkeys(parts, _NULL)},
        _needs(dict.fromkeys(parts, _GIVEN)),
    )


def _needs(given: Schema) -> Schema:
    return {"required": list(given), "properties": given}


def _choose(schema: Schema, when: Schema, then: Schema, otherwise: Schema | None = None) -> None:
    """Add a rule. Generators of clients ignore it, but take ``anyOf`` for several types."""
    schema |= {"if": when, "then": then}
    if otherwise is not None:
        schema["else"] = otherwise


def _tokenize(schema: Schema) -> None:
    """A text or a chat; other fields of a chat need messages."""
    _biases(schema)
    _bare_schemas(schema)
    fields = schema["properties"]
    fields["add_generation_prompt"] = _only((None, True), "A chat ends where its answer begins.")
    fields["continue_final_message"] = _only((None, False), "Not served.")
    fields["chat_template"] = _only((None,), "Not served.")
    _choose(
        schema,
        _needs({"messages": _GIVEN}),
        {"properties": {"prompt": _NULL, "add_special_tokens": {"enum": [None, False]}}},
        {**_needs({"prompt": _GIVEN}), "properties": dict.fromkeys(protocol.CHAT_ONLY, _NULL)},
    )


def _warmup(schema: Schema) -> None:
    lists = {"type": "array", "minItems": 1}
    several, tools = _needs({"requests": lists}), _needs({"tools": lists})
    _choose(schema, {"not": {"anyOf": [several, tools]}}, _needs({"response_format": _GIVEN}))
    _bare_schemas(schema)


def _replace(schema: Schema, **new: Any) -> None:
    schema.clear()
    schema.update(new)


_AMENDMENTS: dict[str, Callable[[Schema], None]] = {
    "ChatRequest": _chat,
    "CompletionRequest": _completion,
    "ResponseRequest": _response,
    "InputTokensRequest": _response,
    "CompactRequest": _response,
    "MessagesRequest": _adding(_ignored(*protocol.MESSAGES_IGNORED)),
    "CountRequest": _adding(_ignored(*protocol.MESSAGES_IGNORED)),
    "TokenizeRequest": _tokenize,
    "WarmupRequest": _warmup,
    "GrammarRequest": _bare_schemas,
    "StreamOptions": _adding(_off({"continuous_usage_stats": (None, False)})),
    "StructuralTagFormat": _structural_tag,
    "ContentPart": _content_part,
    "UserPart": _of_user(_content_part),
    "OtherCall": _left_out("function", "custom"),
    "ItemPart": _item_part,
    "UserItemPart": _of_user(_item_part),
    "LeftOutItem": _left_out_item,
    "LeftOutBlock": _left_out(*protocol.BLOCKS),
    "LeftOutOfResult": _left_out(*protocol.RESULT_BLOCKS),
    "ChangedTool": _options,
    "ShownThinking": _options,
    "Thinking": _options,
    "ReasoningOptions": _options,
    "MediaOfResult": _media_of_result,
    "LeftOutOfSystem": _left_out(*protocol.SYSTEM_BLOCKS),
    "ClientCallItem": _past_item,
    "ClientResultItem": _past_item,
    "LoadedToolsItem": _past_item,
    "ItemReference": _reference,
    "ToolDefinition": _adding(_ignored(*protocol.TOOL_HINTS)),
    "CustomToolDefinition": _adding(_ignored(*protocol.TOOL_HINTS)),
    "FunctionDefinition": _adding(_ignored(*protocol.TOOL_HINTS)),
    "FunctionName": _adding(_ignored("description", "parameters", "strict")),
    "CustomName": _adding(_ignored("description", "format")),
    "ResponseNamedTool": _adding(_ignored("description", "format", "parameters", "strict")),
    "MessageItem": _message_item,
    "FunctionTool": _adding(_off(protocol.RESPONSES_TOOL_OFF)),
    "CustomTool": _adding(_off(protocol.RESPONSES_TOOL_OFF)),
}
