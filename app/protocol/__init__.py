"""OpenAI's APIs as types: requests as validated, answers as written."""
