"""Schemathesis against a running gateway: requests made from the OpenAPI document."""
