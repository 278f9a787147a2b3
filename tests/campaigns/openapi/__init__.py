"""Schemathesis against a running gateway: what the OpenAPI document says, and what it leaves out."""
