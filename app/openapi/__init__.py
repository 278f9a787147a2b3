"""The OpenAPI document of the routes. ``document`` is imported late."""

from .operation import operation, query, schema
