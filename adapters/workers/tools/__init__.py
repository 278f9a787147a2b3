"""Scripts that make shipped data; nothing here is imported at run time."""
