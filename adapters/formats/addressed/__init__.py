"""Families that address each message to a recipient: the user, a tool, or the model itself."""
