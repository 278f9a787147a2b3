"""Conversations over replicas that share one Redis, which is killed and started again."""
