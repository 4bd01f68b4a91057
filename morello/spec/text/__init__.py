"""Text of Specs: `specs.py` reads and prints one, `open_specs.py` one whose layouts are
open, `spellings.py` the names and options of a kind, and `graphs.py` graphs."""
