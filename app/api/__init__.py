"""HTTP: routes, request models, errors, keys, request ids."""
