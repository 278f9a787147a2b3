"""Campaigns: long runs that look for holes; `make campaign` runs them whole, the tests a slice."""
