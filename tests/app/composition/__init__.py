"""Tests of the composition."""
