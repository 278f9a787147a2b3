"""Workers of one model as one: policies, slots, retries, ejection, health checks, discovery."""
