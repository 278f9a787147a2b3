"""OpenAI's chat completion API as types: requests as validated, answers as written."""
