"""The grammar that front ends emit (IR), and its lowered form, which everything else reads."""
