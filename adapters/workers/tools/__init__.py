"""Scripts that create shipped data; never imported at run time."""
