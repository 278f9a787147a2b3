"""The campaign of one request in three APIs: chat completions, responses, messages."""
