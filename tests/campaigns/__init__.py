"""Campaigns: long runs that look for holes. `make campaign` runs them all whole, the tests a slice."""
