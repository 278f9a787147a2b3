"""Campaigns: long runs that look for holes; `make campaign` runs all, the tests a slice of each."""
