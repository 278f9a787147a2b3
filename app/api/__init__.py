"""HTTP routes, keys, request bodies, error answers, request ids."""
