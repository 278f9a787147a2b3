"""What grammars and replicas share, and the names under which they do."""
