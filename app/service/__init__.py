"""The use case: from a valid request to an answer. Only here the order of steps is known."""
