"""State that outlives a request: stored responses, in Redis or in memory."""
