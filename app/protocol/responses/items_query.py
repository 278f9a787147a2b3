"""The queries of stored responses: GET /v1/responses/{response_id}, and its input_items."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from ..validation import Lenient


class ItemsQuery(Lenient):
    """The query of a page of items."""

    limit: int = Field(20, ge=1, le=100)
    order: Literal["asc", "desc"] = "desc"
    after: str | None = None


class RetrieveQuery(Lenient):
    """The query of a stored response."""

    stream: Annotated[Literal["true", "false"], BeforeValidator(str.lower)] = "false"
    starting_after: int | None = Field(None, ge=0)
