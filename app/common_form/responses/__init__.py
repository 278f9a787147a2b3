"""Requests of the Responses API in the common form."""
