"""The campaign of histories as agents send them back."""
