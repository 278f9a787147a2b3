"""The engine's measuring suite: our engine alone, or beside its peers in one run."""
