"""Code that templates share: element functions, casts, loops, shuffles, prefetch."""
