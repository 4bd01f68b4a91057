"""The tests. A package of `morello/` has its tests in the folder of its name."""
