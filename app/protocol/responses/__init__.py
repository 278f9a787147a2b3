"""OpenAI's Responses API as types: requests, items, and the events of a response."""
