"""JSON values as IR: the grammar of objects, arrays, strings and numbers from their constraints."""
