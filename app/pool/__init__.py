"""Workers of one model as one: picking, retries, health checks, a circuit breaker per worker."""
