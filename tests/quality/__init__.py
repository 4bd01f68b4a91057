"""End to end: Specs to machine code by every way, against independent oracles."""
