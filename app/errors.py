"""Errors of the API: OpenAI's error object, always with all four keys.

    {"error": {"message": str, "type": str, "param": str | null, "code": str | null}}

``ApiError`` is raised wherever a request cannot be served; api.error_responses makes an answer of
it. The type follows from the status; the functions below make the usual errors.

Steps that serve several APIs know a field by its path in the common form, such as
("messages", 3, "content"). Their messages have a slot in place of its name, and ``named`` says what
the client's API calls it.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Self

from pydantic import Field
from typing_extensions import TypedDict


class ErrorObject(TypedDict):
    message: Annotated[
        str, Field(description="The problem, with the value and those that are allowed.")
    ]
    type: Annotated[
        str, Field(examples=["invalid_request_error", "rate_limit_error", "server_error"])
    ]
    param: Annotated[
        str | None, Field(description="The field of the request, such as `tools[0].type`.")
    ]
    code: Annotated[str | None, Field(description="The reason for programs.")]


class ErrorResponse(TypedDict):
    """The answer of every error."""

    error: ErrorObject


_TYPES = {
    400: "invalid_request_error",
    401: "invalid_request_error",
    403: "permission_error",
    404: "invalid_request_error",
    405: "invalid_request_error",
    408: "timeout",
    413: "invalid_request_error",
    429: "rate_limit_error",
    499: "client_closed_request",
    503: "service_unavailable",
    504: "timeout",
}


#: seconds after which a client may retry a request that the server refused for now
RETRY_AFTER = 1


#: keys and indices that lead to a field of a request
FieldPath = tuple[str | int, ...]
#: returns the name that a client's API has for a field
FieldNames = Callable[[FieldPath], str]


def dotted(path: FieldPath) -> str:
    """Return ``messages[3].content``, the name of a field in chat completions."""
    steps = [f"[{step}]" if isinstance(step, int) else f".{step}" for step in path]
    return "".join(steps).removeprefix(".")


class ApiError(Exception):
    """An error answer.

    Args:
        message: for the client. With ``values`` it has slots as ``str.format`` has them: ``{at}``
            for the name of ``param``, and those of the values.
        param: the field at fault: its name, or its path in the common form.
        values: of slots, by name; a path is shown by the name of its field. None: no slots.
    """

    def __init__(
        self,
        status: int,
        message: str,
        *,
        param: str | FieldPath | None = None,
        code: str | None = None,
        headers: dict[str, str] | None = None,
        values: Mapping[str, FieldPath | object] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.at = (param,) if isinstance(param, str) else param
        self.code = code
        self.headers = headers or {}
        self._sentence, self._values = message, values
        self._names: FieldNames = dotted

    def named(self, names: FieldNames) -> Self:
        """Return this error with the names that a client's API has for fields."""
        return self._with(_names=names)

    def moved(self, move: Callable[[FieldPath], FieldPath]) -> Self:
        """Return this error with another path of its field."""
        return self if self.at is None else self._with(at=move(self.at))

    def again(self) -> Self:
        """Return this error without its traceback, whose frames hold the request."""
        return self._with()

    def _with(self, **changes: Any) -> Self:
        # requests that wait for one compile may get the same error
        error = type(self).__new__(type(self), *self.args)
        error.__dict__.update(self.__dict__ | changes)
        return error

    @property
    def param(self) -> str | None:
        """The name of the field at fault."""
        return None if self.at is None else self._names(self.at)

    @property
    def message(self) -> str:
        """The message with the names of fields."""
        if self._values is None:
            return self._sentence
        values = {
            name: self._names(value) if isinstance(value, tuple) else value
            for name, value in self._values.items()
        }
        return self._sentence.format(at=self.param, **values)

    def __str__(self) -> str:
        return self.message

    @property
    def type(self) -> str:
        return _TYPES.get(
            self.status, "server_error" if self.status >= 500 else "invalid_request_error"
        )

    def body(self) -> ErrorResponse:
        """Return the error object."""
        return {
            "error": {
                "message": self.message,
                "type": self.type,
                "param": self.param,
                "code": self.code,
            }
        }


def bad_request(
    message: str, param: str | FieldPath | None = None, code: str | None = None
) -> ApiError:
    """Return a 400: the request is wrong."""
    return ApiError(400, message, param=param, code=code)


def bad_field(
    message: str, at: str | FieldPath, code: str | None = None, **values: FieldPath | object
) -> ApiError:
    """Return a 400 whose message has slots, see ApiError."""
    return ApiError(400, message, param=at, code=code, values=values)


_UNSERVED = "is not supported by this server."


def unsupported_parameter(param: str, reason: str = _UNSERVED) -> ApiError:
    """Return a 400: the parameter would change the output and is not served."""
    return bad_request(f"Unsupported parameter: '{param}' {reason}", param, "unsupported_parameter")


def missing_parameter(param: str) -> ApiError:
    """Return a 400: the request needs the parameter."""
    return bad_request(
        f"Missing required parameter: '{param}'.", param, "missing_required_parameter"
    )


def unavailable(message: str, code: str) -> ApiError:
    """Return a 503: the server cannot serve the request now."""
    return ApiError(503, message, code=code, headers={"Retry-After": str(RETRY_AFTER)})


def model_not_found(model: str, known: Sequence[str] = ()) -> ApiError:
    """Return a 404: the server has no such model. ``known``: ids that the client may mean."""
    shown = model if len(model) <= 200 else model[:200] + "..."
    others = f" Its known adapters are: {', '.join(known)}." if known else ""
    return ApiError(
        404,
        f"The model '{shown}' does not exist or you do not have access to it.{others}",
        param="model",
        code="model_not_found",
    )


def client_left() -> ApiError:
    """Return a 499, for the log: the client has left."""
    return ApiError(499, "The client closed the connection.", code="client_disconnect")


def internal_error(request_id: str) -> ApiError:
    """Return a 500 without details; the log has them under the same id."""
    return ApiError(
        500,
        "The server had an error while processing your request. "
        f"Please include the request ID {request_id} if you report it.",
        code="internal_error",
    )
