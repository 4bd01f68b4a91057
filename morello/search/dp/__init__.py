"""The dynamic program: solves all Specs of a key at once, each key once."""
