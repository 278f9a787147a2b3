"""The OpenAPI document of the routes. ``document`` is imported late: answers take 0.1 s."""

from .operation import operation, query, schema
