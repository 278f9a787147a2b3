"""Requests of Anthropic's Messages API in the common form."""
