"""The code of calls in C, and the LLVM IR that `build` makes of it."""
