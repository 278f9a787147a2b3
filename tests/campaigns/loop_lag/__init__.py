"""Loop lag: a real gateway under hostile bodies, schemas and connections, beside plain requests."""
