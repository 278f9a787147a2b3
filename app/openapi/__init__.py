"""The OpenAPI document of the routes. ``document`` is imported late."""

from .operation import OwnErrors, operation, query, schema
