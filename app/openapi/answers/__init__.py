"""Answers as types. Only the document uses them: routes write answers as plain dictionaries."""
