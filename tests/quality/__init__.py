"""End to end: from Specs by every way to machine code, against independent oracles."""
