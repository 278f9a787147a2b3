"""Use cases, one class per route: the only modules that know the order of the steps."""
