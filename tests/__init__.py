"""The tests; those of a part of `morello/` are in the folder of its name."""
