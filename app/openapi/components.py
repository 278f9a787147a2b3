"""Parts of the document that operations refer to: answers of errors, headers, keys, tags."""

from typing import Any

from ..errors import ErrorResponse
from .operation import LIMITS, headers, schema

#: what an error's status means, and the codes of its objects
_ERRORS: dict[int, tuple[str, tuple[str, ...]]] = {
    400: (
        "The request is invalid; `param` names the field.",
        (
            *("invalid_json", "invalid_type", "invalid_value", "missing_required_parameter"),
            *("unknown_parameter", "unsupported_parameter", "unsupported_value"),
            *("invalid_json_schema", "invalid_grammar", "context_length_exceeded"),
            "previous_response_not_found",
        ),
    ),
    401: ("There is no API key or token, or it is unknown or has expired.", ("invalid_api_key",)),
    403: (
        "The token lacks a scope, or the gateway has no keys of operators.",
        ("insufficient_scope", "admin_keys_not_set"),
    ),
    404: (
        "There is no such path, model, response, item or worker, or the key may not use it.",
        ("unknown_url", "model_not_found", "worker_not_found"),
    ),
    405: ("The path does not have this method.", ("method_not_supported",)),
    408: ("The request did not arrive in time.", ("request_timeout",)),
    409: (
        "The change needs another worker that is available, or a gateway with one process.",
        ("last_worker", "several_processes"),
    ),
    413: ("The body is too large.", ("request_too_large", "worker_refused")),
    415: (
        "The content type is not JSON, or the content encoding is not supported.",
        ("unsupported_content_type", "unsupported_content_encoding"),
    ),
    429: (
        "A limit of the key is reached, or other work of the same kind is not done yet.",
        ("rate_limit_exceeded", "warmup_running"),
    ),
    431: ("The headers are too large.", ("headers_too_large",)),
    500: ("A fault of the server; its log has the request's id.", ("internal_error",)),
    502: ("A worker failed.", ("worker_error",)),
    503: (
        "The server cannot take the request now.",
        ("overloaded", "limits_unavailable", "keys_unavailable", "state_unavailable"),
    ),
    504: ("The request or a worker took too long.", ("timeout",)),
}
#: headers of the answers of errors, besides the request's id
_ERROR_HEADERS: dict[int, tuple[str, ...]] = {
    **dict.fromkeys((400, 404, 408, 413, 415, 500, 502, 504), LIMITS),
    401: ("WWW-Authenticate",),
    405: ("Allow",),
    429: ("Retry-After", "retry-after-ms", *LIMITS),
    503: ("Retry-After", *LIMITS),
}

_TEXT, _WHOLE = {"type": "string"}, {"type": "integer", "minimum": 0}
_HEADERS: dict[str, tuple[dict[str, Any], str]] = {
    "x-request-id": (
        _TEXT,
        "The request's own `x-request-id`, if it has 1 to 200 printable characters, else a new id.",
    ),
    "request-id": (_TEXT, "The same as `x-request-id`."),
    "openai-processing-ms": (_WHOLE, "Milliseconds until the first byte of the answer."),
    "x-switchyard-backend": (_TEXT, "The grammar engine that enforced the answer."),
    "x-switchyard-constraints": (
        {"type": "string", "enum": ["shadow", "off"]},
        "The mode of a model whose constraints are not enforced; absent otherwise.",
    ),
    "x-switchyard-relaxed": (
        _TEXT,
        "Keywords of schemas that the answer need not satisfy, as JSON pointers.",
    ),
    "x-switchyard-taught": (
        _TEXT,
        "The format whose syntax of calls the prompt teaches, because the model's own is unknown; "
        "absent otherwise.",
    ),
    "x-switchyard-ignored": (
        _TEXT,
        "Parts of the request that were left out: the place and the kind of each.",
    ),
    "Retry-After": (_WHOLE, "Seconds after which the request may be repeated."),
    "retry-after-ms": (_WHOLE, "The same in milliseconds."),
    "WWW-Authenticate": (_TEXT, "`Bearer`."),
    "Allow": (_TEXT, "The methods of the path."),
}
for _what in ("requests", "tokens"):
    _HEADERS |= {
        f"x-ratelimit-limit-{_what}": (_WHOLE, f"The limit of {_what} per minute of the key."),
        f"x-ratelimit-remaining-{_what}": (_WHOLE, f"The {_what} that are left."),
        f"x-ratelimit-reset-{_what}": (
            _TEXT,
            f"The time until all {_what} are available again, such as `1m30s`.",
        ),
    }

TAGS = [
    {"name": "Chat", "description": "Chat completions and text completions."},
    {"name": "Responses", "description": "The Responses API and its stored responses."},
    {"name": "Messages", "description": "Anthropic's Messages API."},
    {"name": "Models", "description": "The served models."},
    {"name": "Tokens", "description": "The tokenizers of the models."},
    {"name": "Grammars", "description": "Schemas: what is enforced, and compiling ahead."},
    {"name": "Operation", "description": "Health, metrics, version, workers and the cache."},
]


def responses() -> dict[str, Any]:
    """Return the answers of errors by name."""
    return {f"Error{status}": _response(status) for status in _ERRORS}


def _response(status: int) -> dict[str, Any]:
    meaning, codes = _ERRORS[status]
    listed = ", ".join(f"`{code}`" for code in codes)
    return {
        "description": f"{meaning} Codes: {listed}{', and others' if status == 400 else ''}.",
        "headers": headers(
            ("x-request-id", "openai-processing-ms", *_ERROR_HEADERS.get(status, ()))
        ),
        "content": {"application/json": {"schema": schema(ErrorResponse)}},
    }


def response_headers() -> dict[str, Any]:
    """Return the headers by name."""
    return {
        name: {"schema": dict(kind), "description": description}
        for name, (kind, description) in _HEADERS.items()
    }


def security_schemes() -> dict[str, Any]:
    """Return the kinds of keys by name."""
    bearer = {"type": "http", "scheme": "bearer"}
    return {
        "ClientKey": {**bearer, "description": "An API key or a JSON Web Token of a client."},
        "OperatorKey": {
            **bearer,
            "description": "A key of an operator, or a token with their scope.",
        },
    }
