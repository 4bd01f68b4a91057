"""NumPy's functions, written for `Tracer`; `array_functions` fills all the tables."""
