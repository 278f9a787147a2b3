"""A gateway whose shared cache fails in every way: no client hears of it, and no mask is wrong."""
