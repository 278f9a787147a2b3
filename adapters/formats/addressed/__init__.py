"""Families whose messages have headers: to the user, to a tool, or to the model itself."""
